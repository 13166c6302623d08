"""Folders that cannot be written to, and full disks."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

VERSION_3 = 0x20080522
"""Of Linux's capabilities."""
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2

BOUND_BY_MODES = """
import ctypes, os, sys
if os.geteuid() == 0:
    PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
"""Runs Python so that the modes of files bind it even as root (who keeps, on Linux, all other powers)."""


@contextmanager
def bound_by_modes() -> Iterator[None]:
    """The modes of files bind this thread within the block, even as root; skips the test where that cannot be."""
    if os.geteuid() != 0:
        yield
        return
    if not sys.platform.startswith("linux"):
        pytest.skip("modes do not bind root")
    libc, header = ctypes.CDLL(None, use_errno=True), (ctypes.c_uint32 * 2)(VERSION_3, 0)
    kept = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; then the same for the upper 32 capabilities
    if libc.capget(header, kept):
        pytest.skip("the capabilities of this process cannot be read")
    bound = (ctypes.c_uint32 * 6)(*kept)
    bound[0] &= ~(1 << CAP_DAC_OVERRIDE | 1 << CAP_DAC_READ_SEARCH)
    if libc.capset(header, bound):
        pytest.skip("the capabilities of this process cannot be changed")
    try:
        yield
    finally:
        libc.capset(header, kept)


@contextmanager
def full_disk(most: int = 100) -> Iterator[None]:
    """No file may get longer than so many bytes within the block: for a program that is like a disk which is full."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
