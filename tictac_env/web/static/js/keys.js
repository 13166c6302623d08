// The keys of the board: moves by their names, and a letter for each button.

const NAMES = "123456789abcdefghijklmnopqrstuvwxyz";

// actions: by key, what to do; they come before the letters of moves, of which boards of up to 9 actions have none.
export function startKeys(table, actions) {
  document.addEventListener("keydown", (event) => {
    const at = event.target;
    const typing = at.matches("select, textarea, input:not([type=checkbox]):not([type=range])");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || !table.visible()) return;
    const key = event.key.toLowerCase();
    const position = table.shown;
    const action = key.length === 1 ? NAMES.indexOf(key) : -1;
    if (action >= 0 && position && action < position.actions && (action < 9 || !actions[key])) {
      event.preventDefault();
      table.board.choose(action);
    } else if (actions[key]) {
      event.preventDefault();
      actions[key]();
    }
  });
}
