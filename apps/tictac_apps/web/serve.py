"""Runs the server of the page, for `tictac serve` and for programs."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Iterable, Sequence
from pathlib import Path

from tictac_apps.web.limits import ServerLimits
from tictac_env.lazy import needing

HOST, PORT = "127.0.0.1", 8000


def serve(
    host: str = HOST,
    port: int = PORT,
    checkpoints: Path | None = None,
    store: Path | None = None,
    training: bool = True,
    limits: ServerLimits | None = None,
    allowed_hosts: Iterable[str] = (),
    games: Sequence[str] = (),
    proxies: Iterable[str] = (),
    browser: bool = False,
    league: Path | None = None,
) -> None:
    """Serves the page until it is stopped with Ctrl-C.

    Args:
        host: the address to listen on; 127.0.0.1 is for this machine alone.
        port: the port; 0 for any that is free.
        checkpoints: a folder of agents to play against.
        store: a result store to show, or a folder of them.
        training: True if visitors may train agents.
        limits: of time, strength and size.
        allowed_hosts: host names under which the page may be requested, besides `host`, "localhost" and numeric
            addresses.
        games: further games to offer, such as "KInARow-v0:5x6-4"; of "module:Hex-v0" the module is imported first.
        browser: True to open the page in the browser of this machine.
        proxies: addresses or networks of proxies whose header X-Forwarded-For is believed.
        league: the folder of the agents that visitors keep; None for one that ends with the server.

    Raises:
        DependencyNotInstalled: Starlette or uvicorn is missing.
        ValueError: as of `Server`, or a proxy is neither an address nor a network.
        OSError: the port is taken, or the store cannot be read.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported: its threads would only wait
    with needing("the page needs more packages", "web"):
        import uvicorn

        from tictac_apps.web.app import HERE, Server, qr_code
        from tictac_apps.web.connections import configured
    server = Server(limits, checkpoints, store, training, (host, *allowed_hosts), games, league)
    config = configured(server.app(), server.limits, proxies)
    listener = _listening_to(host, port)
    address, bound_port = listener.getsockname()[:2]
    here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)
    if here != address:  # it listens on all addresses; browsers need one of them
        address = _lan_address() or here
    print(f"{_link(address, bound_port)} (Ctrl-C ends it)", flush=True)
    if browser:
        webbrowser.open(_link(here, bound_port))
    if address not in HERE:
        server.link = _link(address, bound_port)
        if sys.stdout.isatty() and (code := qr_code(server.link)):
            with contextlib.suppress(UnicodeEncodeError):  # a terminal without block characters
                code.terminal(compact=True)
    if host not in HERE:
        print("anyone who reaches this address can use the page; there are no passwords", file=sys.stderr)
    threading.Thread(target=server.warm, daemon=True).start()
    uvicorn.Server(config).run(sockets=[listener])


def _link(address: str, port: int) -> str:
    return f"http://[{address}]:{port}/" if ":" in address else f"http://{address}:{port}/"


def _lan_address() -> str:
    """The IPv4 address of this machine in its network; "" without a network.

    It is the address from which the machine would send to a distant one. Nothing is sent: UDP has no connections.
    """
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # an address for documentation, RFC 5737
        return str(probe.getsockname()[0])
    return ""


def _listening_to(host: str, port: int) -> socket.socket:
    """A socket bound to an address.

    Its protocol is TCP by number: only then does asyncio switch off Nagle's algorithm, which delayed each answer by
    40 ms.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, proto=socket.IPPROTO_TCP)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(512)  # now, so that whoever reads the address below can connect
    except OSError as error:
        listener.close()
        raise OSError(f"cannot listen to {host}, port {port}: {error.strerror}") from error
    return listener
