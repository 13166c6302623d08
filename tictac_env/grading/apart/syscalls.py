"""A filter of system calls (seccomp): no network, no processes, no messages or signals to others, no marks on files.

The kernel runs the filter at each system call, and nothing takes it away again: see "Seccomp BPF" in the kernel's own
documentation (https://docs.kernel.org/userspace-api/seccomp_filter.html). It is a list of what is allowed.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

PR_SET_SECCOMP, MODE_FILTER = 22, 2
ALLOW, ERRNO, KILL = 0x7FFF0000, 0x00050000, 0x80000000
LOAD, EQUAL, AT_LEAST, HAS_BITS, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
"""Where the filter finds the number of the call, the machine's kind, and the arguments, 8 bytes each."""
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""The column of the numbers below, and what the kernel calls the machine."""
LATEST = 450
"""Calls of higher numbers are not there, so that the C library uses older ones."""

ALLOWED = """
read 0 63, write 1 64, close 3 57, lseek 8 62, pread64 17 67, pwrite64 18 68, readv 19 65, writev 20 66, preadv 295
69, pwritev 296 70, preadv2 327 286, pwritev2 328 287, sendfile 40 71, copy_file_range 326 285, stat 4 -, fstat 5 80,
lstat 6 -, newfstatat 262 79, statx 332 291, statfs 137 43, fstatfs 138 44, access 21 -, faccessat 269 48, faccessat2
439 439, readlink 89 -, readlinkat 267 78, getdents 78 -, getdents64 217 61, getcwd 79 17, chdir 80 49, fchdir 81 50,
umask 95 166, getxattr 191 8, lgetxattr 192 9, fgetxattr 193 10, listxattr 194 11, llistxattr 195 12, flistxattr 196
13, ftruncate 77 46, fallocate 285 47, fsync 74 82, fdatasync 75 83, fadvise64 221 223, flock 73 32, dup 32 23, dup2
33 -, dup3 292 24, pipe 22 -, pipe2 293 59, close_range 436 436, select 23 -, pselect6 270 72, poll 7 -, ppoll 271 73,
mmap 9 222, mprotect 10 226, munmap 11 215, mremap 25 216, brk 12 214, madvise 28 233, msync 26 227, mincore 27 232,
membarrier 324 283, mlock 149 228, munlock 150 229, getpid 39 172, gettid 186 178, getppid 110 173, getuid 102 174,
geteuid 107 175, getgid 104 176, getegid 108 177, getgroups 115 158, getresuid 118 148, getresgid 120 150, getpgid 121
155, getpgrp 111 -, getsid 124 156, getpriority 140 141, sched_getaffinity 204 123, sched_getparam 143 121,
sched_getscheduler 145 120, sched_get_priority_max 146 125, sched_get_priority_min 147 126, sched_yield 24 124, getcpu
309 168, getrusage 98 165, times 100 153, sysinfo 99 179, uname 63 160, getrlimit 97 163, setrlimit 160 164, exit 60
93, exit_group 231 94, wait4 61 260, waitid 247 95, rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigpending 127 136,
rt_sigsuspend 130 133, rt_sigtimedwait 128 137, rt_sigreturn 15 139, sigaltstack 131 132, pause 34 -, alarm 37 -,
setitimer 38 103, getitimer 36 102, timer_create 222 107, timer_settime 223 110, timer_gettime 224 108,
timer_getoverrun 225 109, timer_delete 226 111, nanosleep 35 101, clock_nanosleep 230 115, clock_gettime 228 113,
clock_getres 229 114, gettimeofday 96 169, time 201 -, restart_syscall 219 128, futex 202 98, set_robust_list 273 99,
get_robust_list 274 100, set_tid_address 218 96, rseq 334 293, arch_prctl 158 -, getrandom 318 278
"""
"""The calls allowed whatever their arguments, with their numbers on x86_64 and on aarch64."""

WRITING = """
creat 85 -, truncate 76 45, mkdir 83 -, mkdirat 258 34, rmdir 84 -, link 86 -, linkat 265 37, symlink 88 -, symlinkat
266 36
"""
"""The calls allowed, too, where files may be written at all."""

REMOVING = """
unlink 87 -, unlinkat 263 35, rename 82 -, renameat 264 38, renameat2 316 276
"""
"""The calls allowed, too, if the scratch folder has a size. Otherwise the grader counts the files by their names, and
would count a file without one no more.
"""

BY_ARGUMENTS = """
clone 56 220, clone3 435 435, kill 62 129, tgkill 234 131, prlimit64 302 261, fcntl 72 25, ioctl 16 29, open 2 -,
openat 257 56, openat2 437 437, prctl 157 167
"""
"""The calls that are allowed with some arguments."""

CLONE_THREAD = 0x00010000
FCNTL = (*range(8), 36, 37, 38, 1030, 1032)
"""Commands of `fcntl` that are allowed: flags, copies and locks of files, the size of a pipe."""
IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""Commands of `ioctl` that are allowed: TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX."""
PRCTL = (3, 15, 16, 23, 39, 0x53564D41)
"""Commands of `prctl` that are allowed: to ask for privileges, and to name threads and memory."""
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
"""The flags of a file that is opened to be written or changed."""
NAMELESS = 0x400000
"""The bit of the flag O_TMPFILE that no other flag has."""


def refuse_calls(writes: bool, removes: bool) -> bool:
    """Refuses this process and its threads, from now on, whatever reaches beyond them; False where that is impossible.

    The process must have given up new privileges (`give_up_privileges`).

    Args:
        writes: whether it may write files at all; which ones, this filter cannot tell.
        removes: whether files may lose their names, or have none.
    """
    machine = MACHINES.get(platform.machine())
    if machine is None or struct.calcsize("P") != 8:
        return False
    instructions = _program(*machine, writes, removes)
    code = ctypes.create_string_buffer(b"".join(instructions))
    program = struct.pack("HxxxxxxP", len(instructions), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.c_char_p(program), 0, 0) == 0)


def _program(column: int, name: int, writes: bool, removes: bool) -> list[bytes]:
    """The instructions; each jump counts those to leave out if its test holds, and if it does not."""
    code = [_op(LOAD, ARCHITECTURE), _op(EQUAL, name, 1, 0), _op(RETURN, KILL), _op(LOAD, NUMBER)]
    code += [_op(AT_LEAST, LATEST + 1, 0, 1), _refusal(errno.ENOSYS)]
    allowed = [ALLOWED, *([WRITING] if writes else []), *([REMOVING] if writes and removes else [])]
    for number in _numbers(",".join(allowed), column).values():
        code += [_op(EQUAL, number, 0, 1), _op(RETURN, ALLOW)]
    numbers = _numbers(BY_ARGUMENTS, column)

    def when(call: str, argument: int, *tests: bytes) -> None:
        """For one call: loads an argument (its lower half) and runs tests, which return or fall through to `EPERM`."""
        if call in numbers:
            body = [_op(LOAD, ARGUMENTS + 8 * argument), *tests, _refusal(errno.EPERM)]
            code.extend([_op(EQUAL, numbers[call], 0, len(body)), *body])

    def only(test: int, *values: int) -> list[bytes]:
        return [one for value in values for one in (_op(test, value, 0, 1), _op(RETURN, ALLOW))]

    when("clone", 0, *only(HAS_BITS, CLONE_THREAD))
    when("clone3", 0, _refusal(errno.ENOSYS))  # its flags lie in memory, unseen; callers then use clone
    when("openat2", 0, _refusal(errno.ENOSYS))
    for call in ("kill", "tgkill"):
        when(call, 0, *only(EQUAL, os.getpid()))
    when("prlimit64", 0, *only(EQUAL, 0))
    for call, argument, kinds in (("fcntl", 1, FCNTL), ("ioctl", 1, IOCTL), ("prctl", 0, PRCTL)):
        when(call, argument, *only(EQUAL, *kinds))
    refused = 0 if writes and removes else NAMELESS if writes else WRITES
    for call, argument in (("open", 1), ("openat", 2)):
        when(call, argument, _op(HAS_BITS, refused, 1, 0), _op(RETURN, ALLOW))
    return [*code, _refusal(errno.EPERM)]


def _numbers(table: str, column: int) -> dict[str, int]:
    words = [line.split() for line in table.replace("\n", " ").split(",")]
    return {name: int(numbers[column]) for name, *numbers in words if numbers[column] != "-"}


def _op(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, value)


def _refusal(number: int) -> bytes:
    return _op(RETURN, ERRNO | number)
