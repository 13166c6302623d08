"""The program that runs a submission, confined, and answers questions about its functions, a line of JSON each.

It is run by its path, `python -P -s -S -B sandbox.py FD`: questions come on the standard input, answers go to the
descriptor FD. It uses the standard library alone: importing `tictac_env` takes longer than most submissions play.

The first line is the plan (see `Process` in `tictac_apps.grading.process`), each further one a question:
`{"function": "choose", "calls": [[[0, 0, ...], [0, 1, ...]], ...], "seconds": 1.0}`.

The answer to the plan is `{"layers": [...]}`. At the next line it loads the file, and answers `{"n": 0, "answer":
null}` or `{"n": 0, "error": "..."}`. To each call of a question it answers `{"n": 0, "answer": 4}`, `{"n": 0, "error":
"..."}` or `{"n": 0, "late": true}`, n counting from 0.

The grader trusts nothing here: what runs in this process may change all of it, and so its own answers, no more.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import importlib.util
import json
import os
import platform
import random
import resource
import shutil
import signal
import struct
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

MODULE = "submission"
LONGEST_ERROR = 300
LONGEST_ANSWER = 2000
DEEPEST = 4
"""Levels of lists that an answer may have."""
CLOCKS = ((signal.SIGPROF, signal.ITIMER_PROF, False), (signal.SIGALRM, signal.ITIMER_REAL, True))
"""The signals and timers of processor time, and of wall-clock time."""


class OutOfTime(BaseException):
    """Raised within a call that takes too long; no `Exception`, so that few catch it."""


def answer_all(answers: int) -> None:
    """Reads the plan and the questions from the standard input, and writes to the descriptor `answers`."""
    questions = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    def tell(**fields: Any) -> None:
        line = json.dumps(fields).encode() + b"\n"
        while line:
            line = line[os.write(answers, line) :]

    plan = json.loads(questions.readline())
    sys.path[:0] = [plan["scratch"], *plan["path"]]
    tempfile.tempdir = plan["scratch"]  # which it would try by removing a file
    uncopied: Exception | None = None
    if plan["handed_in"]:
        try:
            shutil.copytree(plan["handed_in"], plan["scratch"], dirs_exist_ok=True)
        except Exception as error:  # a full disk, or folders a thousand deep
            uncopied = error
    tell(layers=confine(plan))
    if not questions.readline():
        return  # what confines this process does not suffice
    random.seed(0)
    loaded: list[Any] = []

    def begin() -> None:
        if uncopied is not None:
            raise uncopied
        loaded.append(load(plan["source"]))

    tell(n=0, **called(begin, plan["seconds"], plan))
    for line in questions:
        question = json.loads(line)
        function = getattr(loaded[0] if loaded else None, question["function"], None)
        for number, arguments in enumerate(question["calls"]):
            if not callable(function):
                tell(n=number, error=f"there is no function {question['function']}")
                continue
            given = [as_array(one) if plan["arrays"] and isinstance(one, list) else one for one in arguments]
            tell(n=number, **called(functools.partial(function, *given), question["seconds"], plan))


def load(path: str) -> Any:
    """The module that a file holds."""
    spec = importlib.util.spec_from_file_location(MODULE, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{os.path.basename(path)} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    vars(module).update(get_ipython=lambda: Notebook(vars(module)), display=print)
    spec.loader.exec_module(module)
    return module


class Notebook:
    """Answers what cells of a notebook ask of IPython: `%time` runs its code, all else does nothing."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names

    def run_line_magic(self, name: str, line: str, *_: Any) -> None:
        """Runs the code behind `%time`."""
        if name == "time":
            exec(line, self._names)

    def __getattr__(self, name: str) -> Callable[..., list[str]]:
        return lambda *given, **named: []


def as_array(value: list[Any]) -> Any:
    """A list as environments give it: an array of int8."""
    import numpy as np

    return np.array(value, np.int8)


def called(call: Callable[[], Any], seconds: float, plan: dict[str, Any]) -> dict[str, Any]:
    """Calls a function: its answer, its error, or that it took too long."""
    try:
        for number, timer, wall_clock in CLOCKS:
            signal.signal(number, _interrupt)
            signal.setitimer(timer, seconds * (plan["patience"] if wall_clock else 1))
        try:
            answer = plain(call())
        finally:
            for _, timer, _ in CLOCKS:
                signal.setitimer(timer, 0)
        if len(json.dumps(answer)) > LONGEST_ANSWER:
            raise ValueError("the answer is too long")
    except OutOfTime:
        return {"late": True}
    except BaseException as error:
        return {"error": described(error, plan)}
    return {"answer": answer}


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise OutOfTime


def plain(value: Any, depth: int = 0) -> Any:
    """An answer as JSON has it: numbers, words, True, False, None, and lists of these.

    Raises:
        TypeError: it is something else.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, (bytes, bytearray)) and depth < DEEPEST:
        return [plain(one, depth + 1) for one in (value if isinstance(value, Sequence) else sorted(value))]
    if hasattr(value, "tolist"):  # NumPy's and torch's
        return plain(value.tolist(), depth + 1)
    raise TypeError(f"the answer is {type(value).__name__}, which is neither a number, a word nor a list of these")


def described(error: BaseException, plan: dict[str, Any]) -> str:
    """An error in a line, with the line of the submission it comes from."""
    try:
        home = getattr(sys.modules.get(MODULE), "__file__", None)
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == home]
        told = traceback.format_exception_only(error)
        first = told[-1 if isinstance(error, SyntaxError) else 0].strip().splitlines()[0][:LONGEST_ERROR]
        if isinstance(error, SyntaxError) and error.filename and error.filename.startswith(plan["scratch"]):
            return f"{first} ({os.path.basename(error.filename)}, line {error.lineno})"
        if isinstance(error, ModuleNotFoundError):
            first += f"; allowed here: {', '.join(['the standard library', *plan['packages']])}"
        return first + (f" (line {lines[-1]})" if lines else "")
    except BaseException:
        return f"{type(error).__name__}, which cannot be put in words"[:LONGEST_ERROR]


def confine(plan: dict[str, Any]) -> list[str]:
    """Limits this process, by the system where it can.

    Returns:
        "limits"; of "namespaces", "files" and "calls" those that hold; and "hook" if these do not suffice.
    """
    separate = bool(plan["handed_in"])
    files = (plan["read"], plan["listed"], [plan["scratch"]])
    limit(plan["cpu_seconds"], plan["memory"], plan["file_bytes"], plan["threads"] if separate else None)
    give_up_privileges()
    layers = ["limits", *(["namespaces"] if separate else [])]
    if "files" in plan["guards"] and restrict_files(*files):
        layers.append("files")
    if "calls" in plan["guards"] and refuse_calls(writes=len(layers) > 1, removes=separate):
        layers.append("calls")
    else:  # new processes of this user; root is exempt
        set_limits(RLIMIT_NPROC=0)
    if "calls" not in layers or len(layers) < 3:
        refuse_events(*files)
        layers.append("hook")
    return layers


# Limits that the system keeps, and privileges that are given up.

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
CAPABILITIES_VERSION = 0x20080522


def limit(cpu_seconds: int, memory: int, file_bytes: int, threads: int | None = None, open_files: int = 64) -> None:
    """Limits of processor time, address space, the size of each file and the number of open files; no core dumps.

    The system counts threads by user, in a user namespace of its own those within it; root is exempt.
    """
    set_limits(RLIMIT_CPU=cpu_seconds, RLIMIT_AS=memory, RLIMIT_FSIZE=file_bytes, RLIMIT_NOFILE=open_files)
    set_limits(RLIMIT_CORE=0, RLIMIT_MSGQUEUE=0, **({} if threads is None else {"RLIMIT_NPROC": threads}))


def set_limits(**limits: int) -> None:
    """Sets limits by their names; leaves out those that the system does not know, or that are lower already."""
    for name, value in limits.items():
        if (which := getattr(resource, name, None)) is not None:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(which, (value, value))


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


# Landlock: files that may be read, and folders that may be written, as Linux keeps to it from kernel 6.2 on
# (https://docs.kernel.org/userspace-api/landlock.html). Earlier kernels have it without the right to truncate, which
# then nobody is refused; so there it is not used.

CREATE, ADD_RULE, RESTRICT = 444, 445, 446
"""The numbers of the system calls, the same on all machines."""
ASK_VERSION, PATH_BENEATH, LEAST_VERSION = 1, 1, 3
EXECUTE, READ_FILE, READ_DIR, IOCTL_DEV = 1, 1 << 2, 1 << 3, 1 << 15
EVERY_RIGHT = (1 << 15) - 1
DEVICES = 1 << 6 | 1 << 9 | 1 << 10 | 1 << 11
"""To make devices, sockets and pipes in a folder."""


def restrict_files(read: Sequence[str], listed: Sequence[str], written: Sequence[str]) -> bool:
    """Allows this process, from now on, these files alone; False if the system has nothing of the kind.

    Args:
        read: files and folders that it may read, with all that is in them; missing ones are left out.
        listed: folders of which it may see the names of what is in them.
        written: folders in which it may read and write.
    """
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(ASK_VERSION))
    if version < LEAST_VERSION:
        return False
    handled = struct.pack("Q", EVERY_RIGHT | (IOCTL_DEV if version >= 5 else 0))
    rules = libc.syscall(CREATE, handled, ctypes.c_size_t(len(handled)), ctypes.c_uint32(0))
    if rules < 0:
        return False
    wanted = [(path, READ_FILE | READ_DIR) for path in read] + [(path, READ_DIR) for path in listed]
    wanted += [(path, EVERY_RIGHT & ~DEVICES & ~EXECUTE) for path in written]
    try:
        for path, access in wanted:
            try:
                handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue
            rule = struct.pack("=Qi", access if os.path.isdir(path) else access & READ_FILE, handle)
            failed = libc.syscall(ADD_RULE, rules, PATH_BENEATH, rule, ctypes.c_uint32(0))
            os.close(handle)
            if failed:
                return False
        return bool(libc.syscall(RESTRICT, rules, ctypes.c_uint32(0)) == 0)
    finally:
        os.close(rules)


# seccomp: a filter of system calls that the kernel runs at each of them, and that nothing takes away again
# (https://docs.kernel.org/userspace-api/seccomp_filter.html). No network, no processes, no messages or signals to
# others, no marks on files. It is a list of what is allowed.

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
    """Refuses this process and its threads, from now on, whatever reaches beyond them; False if that is impossible.

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


# The lesser guard, for systems without filters: an audit hook of Python, which code in C need not heed. Audit hooks are
# no sandbox, as PEP 578 says itself.

REFUSED = (
    *("socket.", "subprocess.", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system"),
    *("os.kill", "os.killpg", "os.startfile", "pty.", "signal.pthread_kill", "os.chmod", "os.chown", "os.utime"),
    *("os.lockf", "os.setxattr", "os.removexattr", "ctypes.", "shutil.chown", "mmap.", "syslog.", "resource."),
)
CHANGES = ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate")
"""Changes of files, of which all paths have to lie in the scratch folder."""


def refuse_events(read: Sequence[str], listed: Sequence[str], written: Sequence[str]) -> None:
    """Refuses what Python reports of such calls; the arguments are those of `restrict_files`."""
    may_write = tuple(os.path.realpath(path) for path in written)
    may_read = (*may_write, *(os.path.realpath(path) for path in read))
    may_list = {os.path.realpath(path) for path in listed}
    real = os.path.realpath
    busy = threading.local()  # what is asked below raises events of its own

    def inside(path: Any, folders: tuple[str, ...]) -> bool:
        if isinstance(path, int):  # a descriptor, which was opened before
            return True
        found = real(os.fsdecode(path))
        return any(found == folder or found.startswith(folder + os.sep) for folder in folders)

    def allowed(event: str, values: tuple[Any, ...]) -> bool:
        if event.startswith(REFUSED):
            return False
        if event == "open":
            path, _, flags = values
            return inside(path, may_write if isinstance(flags, int) and flags & (WRITES | os.O_APPEND) else may_read)
        if event in ("os.listdir", "os.scandir"):
            path = values[0] or "."
            return inside(path, may_read) or real(path) in may_list
        return not event.startswith(CHANGES) or all(
            inside(one, may_write) for one in values if isinstance(one, (str, bytes, os.PathLike))
        )

    def hook(event: str, values: tuple[Any, ...]) -> None:
        if getattr(busy, "now", False):
            return
        busy.now = True
        try:
            refused = not allowed(event, values)
        finally:
            busy.now = False
        if refused:
            raise PermissionError(f"{event} is not allowed here")

    sys.addaudithook(hook)


if __name__ == "__main__":
    answer_all(int(sys.argv[1]))
