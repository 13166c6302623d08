# The page in the browser, served by a user without rights. Its kernels are compiled when the image is made.
#
#   docker build --tag tictac-env .
#   docker run --rm --init --publish 127.0.0.1:8000:8000 --cap-drop all --security-opt no-new-privileges tictac-env
#
# What follows the name of the image are options of `tictac serve`: --allowed-host games.school.example, --no-training.

FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE hatch_build.py tictac_verifiers.py ./
COPY tictac_env tictac_env
COPY agents agents
COPY apps apps
COPY docs/teaching/assignments docs/teaching/assignments
RUN python -m venv /opt/tictac
RUN /opt/tictac/bin/pip install --no-cache-dir --disable-pip-version-check --constraint constraints.txt ".[web]"

FROM python:3.13-slim
# Machine code is kept for the processor that Numba is told of, not for the one on which the image is made: else another
# one would compile everything again. "generic" runs on each of its kind.
ENV PATH=/opt/tictac/bin:$PATH NUMBA_CPU_NAME=generic TICTAC_CACHE_DIR=/var/cache/tictac PYTHONUNBUFFERED=1
RUN useradd --uid 10001 --create-home tictac && install --directory --owner tictac /var/cache/tictac
COPY --from=build /opt/tictac /opt/tictac
USER 10001
RUN tictac warm TicTacToe-v0 ConnectFour-v0
EXPOSE 8000
HEALTHCHECK --start-period=30s CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/', timeout=5)"]
ENTRYPOINT ["tictac", "serve", "--host", "0.0.0.0"]
