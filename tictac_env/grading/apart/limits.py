"""Limits of a process that the operating system keeps, and privileges that it gives up."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import struct
import sys
from collections.abc import Mapping

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38
CAPABILITIES_VERSION = 0x20080522


def limit(cpu_seconds: int, memory: int, file_bytes: int, threads: int | None = None, open_files: int = 64) -> None:
    """Limits of processor time, address space, the size of each file and the number of open files; no core dumps.

    The system counts threads by user, in a user namespace of its own those within it; root is exempt.

    A limit that the system does not know, or that is lower already, is left out.
    """
    wanted: Mapping[str, int] = {
        "RLIMIT_CPU": cpu_seconds,
        "RLIMIT_AS": memory,
        "RLIMIT_FSIZE": file_bytes,
        "RLIMIT_NOFILE": open_files,
        "RLIMIT_CORE": 0,
        "RLIMIT_MSGQUEUE": 0,
    }
    if threads is not None:
        wanted = {**wanted, "RLIMIT_NPROC": threads}
    for name, value in wanted.items():
        if (which := getattr(resource, name, None)) is not None:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(which, (value, value))


def refuse_processes() -> None:
    """Has the system refuse new processes of this user, where no filter of system calls does; root is exempt."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))


def give_up_privileges() -> None:
    """On Linux: no new privileges, no capabilities (which root has), and death with the process that began this one."""
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getppid()
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)  # it had ended before
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.capset(struct.pack("Ii", CAPABILITIES_VERSION, 0), bytes(24))
