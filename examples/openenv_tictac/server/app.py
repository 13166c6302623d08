"""The server: `uvicorn server.app:app`, set by the variables TICTAC_GAME, TICTAC_OPPONENT and TICTAC_REWARD."""

import os

import uvicorn

from tictac_apps.language_models.adapters.openenv import make_app

app = make_app(
    os.environ.get("TICTAC_GAME", "TicTacToe-v0"),
    opponent=os.environ.get("TICTAC_OPPONENT", "perfect:0.5"),
    reward=os.environ.get("TICTAC_REWARD", "regret"),
)


def main() -> None:
    """Serves on port 8000."""
    uvicorn.run(app, host="0.0.0.0", port=int(os.environ.get("PORT", "8000")))


if __name__ == "__main__":
    main()
