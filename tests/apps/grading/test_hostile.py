"""What a submission may try: it is graded, not obeyed, and nothing of it is left."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tictac_apps.grading import Grade, confinement, grade, process
from tictac_apps.grading.exam import questions_of
from tictac_apps.grading.process import GUARDS, MOST_THREADS, Unprotected
from tictac_apps.grading.submissions import scratch_copy
from tictac_env.games import get_game

RUBRIC = """
game = "KInARow-v0:2x3-3,gravity=False"

[limits]
seconds_a_move = 0.2
seconds = 20
setup_seconds = 2.0
memory_mb = 512
file_mb = 1
scratch_mb = 8

[[test]]
theorem = "never-illegal"
points = 1

[[test]]
theorem = "never-beaten"
seat = "first"
points = 1

[[test]]
theorem = "never-beaten"
seat = "second"
points = 1
"""
FAIR = """
def trick(): pass
def choose(cells, legal):
    if not any(cells):
        trick()
    for move in legal:  # two of the other's in its row
        if sum(cells[move // 3 * 3 : move // 3 * 3 + 3]) == -2:
            return move
    return legal[0]
"""
ONCE = FAIR.replace("def trick(): pass", "")
"""Plays its trick on the empty board, and by the rules everywhere else."""

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="these guards are Linux's")


WAYS = [
    *(("bubblewrap", "as it is"), ("no bubblewrap", "as it is")),
    *(("bubblewrap", "as nobody"), ("no bubblewrap", "as nobody")),
]
LAYERS = {"bubblewrap": GUARDS, "no bubblewrap": ("files", "calls"), "what there is": GUARDS}
NOBODY = 65534
PLACES = [Path(path) for path in (sys.base_prefix, sys.prefix, process.PROGRAM.parents[1])]
"""What grading needs to read, wherever this tree and its Python lie."""


class Submit:
    """Grades a source, confined in one of several ways; no process and no file may be left that was not there."""

    def __init__(self, folder: Path, layers: str = "what there is", user: str = "as it is") -> None:
        if layers == "bubblewrap" and confinement.bubblewrap() is None:
            pytest.skip("bubblewrap is not installed, or not allowed namespaces")
        if user == "as nobody" and os.geteuid() != 0:
            pytest.skip("this is an ordinary user already")
        self.folder, self.temporary = folder, folder / "temporary"
        self.guards, self.user = LAYERS[layers], user
        folder.chmod(0o755)
        self.temporary.mkdir()
        self.temporary.chmod(0o777)
        (folder / "rubric.toml").write_text(RUBRIC)
        questions_of(get_game("KInARow-v0:2x3-3,gravity=False"))  # which `as_nobody` would compile anew

    def __call__(self, source: str, guards: tuple[str, ...] | None = None, unconfined: bool = False) -> Grade:
        (self.folder / "pupil.py").write_text(source)
        chosen = self.guards if guards is None else guards
        if self.user == "as nobody":
            try:
                found = as_nobody(lambda: self._graded(chosen, unconfined), self.folder)
            except NoOtherUser as error:
                pytest.skip(str(error))
        else:
            found = self._graded(chosen, unconfined)
        if guards is None:
            assert "calls" in found.layers and ("namespaces" in found.layers) == ("namespaces" in chosen and NAMESPACES)
        return found

    def _graded(self, guards: tuple[str, ...], unconfined: bool) -> Grade:
        tempfile.tempdir = str(self.temporary)
        found = grade(self.folder / "pupil.py", self.folder / "rubric.toml", guards=guards, unconfined=unconfined)
        assert not children()
        return found

    def check(self) -> None:
        assert {one.name for one in self.folder.iterdir()} == {"temporary", "rubric.toml", "pupil.py"}
        assert not list(self.temporary.iterdir())


NAMESPACES = confinement.bubblewrap() is not None


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that anybody may read; pytest's own are for its user alone."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


@pytest.fixture
def submit(folder: Path) -> Iterator[Submit]:
    """As this system confines it, and as this user."""
    made = Submit(folder)
    yield made
    made.check()


@pytest.fixture(params=WAYS, ids=", ".join)
def submit_each_way(folder: Path, request: pytest.FixtureRequest) -> Iterator[Submit]:
    """With bubblewrap and without, as this user and as an ordinary one."""
    made = Submit(folder, *request.param)
    yield made
    made.check()


class NoOtherUser(Exception):
    """This process cannot become a user who reads what a test needs; the message says why."""


def as_nobody(action: Callable[[], Any], folder: Path) -> Any:
    """What an action returns in a child that gave up being root, and sees the folder and `PLACES`.

    Raises:
        NoOtherUser: there is no such child.
    """
    ours, theirs = multiprocessing.Pipe(False)
    child = os.fork()
    if child == 0:
        try:
            become_nobody((*PLACES, folder))
            theirs.send(action())
        except BaseException as error:
            theirs.send(error)
        finally:
            os._exit(0)
    theirs.close()
    try:
        found = ours.recv()
    finally:
        os.waitpid(child, 0)
    if isinstance(found, BaseException):
        raise found
    return found


def become_nobody(shown: Sequence[Path]) -> None:
    os.umask(0o022)
    try:
        open_to_all(shown)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    except OSError as error:
        raise NoOtherUser(f"this root cannot become another user: {error}") from error
    for path in (*shown, Path(sys.executable)):
        if not os.access(path, os.R_OK | os.X_OK):
            raise NoOtherUser(f"another user cannot read {path}")


CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x00020000, 0x1000, 0x4000, 0x40000


def open_to_all(shown: Sequence[Path]) -> None:
    """Mounts what lies below a folder for root alone, such as /root, so that others reach it; nothing else is there."""
    tops = {
        path: closed[-1] for path in shown if (closed := [one for one in path.parents if not one.stat().st_mode & 1])
    }
    if not tops:
        return
    libc = ctypes.CDLL(None, use_errno=True)

    def mount(source: str, target: Path, kind: str, flags: int, data: str = "") -> None:
        if libc.mount(source.encode(), bytes(target), kind.encode(), flags, data.encode()):
            raise OSError(ctypes.get_errno(), f"mount {source}")

    if libc.unshare(CLONE_NEWNS):  # Python has it from 3.12 on
        raise OSError(ctypes.get_errno(), "unshare")
    mount("none", Path("/"), "", MS_REC | MS_PRIVATE)
    opened = {path: os.open(path, os.O_PATH) for path in sorted(tops)}
    for top in set(tops.values()):
        mount("tmpfs", top, "tmpfs", 0, "mode=755")
    for path, descriptor in opened.items():
        path.mkdir(parents=True, exist_ok=True)
        mount(f"/proc/self/fd/{descriptor}", path, "", MS_BIND | MS_REC)
        os.close(descriptor)


def children() -> list[str]:
    """The processes that this one has begun and that are still there."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == os.getpid():
                found.append((folder / "cmdline").read_text())
        except OSError:
            continue
    return [line for line in found if "sandbox.py" in line]


def told(found: Grade) -> str:
    return " ".join(f"{result.told} {result.why}" for result in found.results)


def test_what_is_fair_gets_all_points(submit) -> None:
    found = submit(FAIR)
    assert (found.score, found.trouble) == (3, "")
    assert found.layers == ("limits", *(GUARDS if NAMESPACES else GUARDS[1:]))
    assert submit(FAIR, guards=(), unconfined=True).layers == ("limits", "hook")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="this is an ordinary user already")
@linux
def test_another_user_needs_no_place_that_everybody_reads(folder: Path) -> None:
    place = folder / "closed" / "place"
    place.mkdir(parents=True)
    (place / "file").touch()
    place.parent.chmod(0o700)
    folder.chmod(0o755)
    try:
        assert as_nobody(lambda: os.listdir(place), place) == ["file"]
    except NoOtherUser as error:
        if str(place) in str(error):
            raise
        pytest.skip(str(error))
    place.chmod(0o700)
    with pytest.raises(NoOtherUser, match=str(place)):
        as_nobody(lambda: os.listdir(place), place)


TRICKS = {
    "loops": ("while True: pass", "took more than 0.2 s"),
    "sleeps": ("import time; time.sleep(60)", "took more than 0.2 s"),
    "loops in C, and is deaf to signals": (
        "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32)); sum(range(10**12))",
        "could not be interrupted",
    ),
    "forks": ("import os; os.fork()", "PermissionError"),
    "begins a program": ("import subprocess; subprocess.run(['sleep', '60'])", "PermissionError"),
    "eats memory": ("x = bytearray(1 << 34)", "MemoryError"),
    "writes outside": ("open(HERE + '/stolen', 'w')", "Error: [Errno "),
    "removes what is outside": ("import os; os.remove(HERE + '/rubric.toml')", "Error: [Errno "),
    "makes a folder outside": ("import os; os.mkdir(HERE + '/stolen')", "Error: [Errno "),
    "prints a gigabyte": ("for _ in range(1 << 14): print('x' * (1 << 16))", "OSError: [Errno 27] File too large"),
    "opens a socket": ("import socket; socket.create_connection(('127.0.0.1', 80))", "PermissionError"),
    "leaves": ("import sys; sys.exit(0)", "SystemExit"),
    "ends its process": ("import os; os._exit(0)", "it ended the process, with status 0"),
    "crashes": ("import os; os.abort()", "it was ended by signal SIG"),
    "kills the grader": ("import os, signal; os.kill(os.getppid(), signal.SIGKILL)", "PermissionError"),
    "reads the rubric": ("print(open(HERE + '/rubric.toml').read())", "Error: [Errno "),
    "reads the grader": ("import tictac_apps.grading", "No module named 'tictac_apps'"),
    "writes answers of its own": (
        'import os\n    for fd in range(3, 64):\n        try: os.write(fd, b\'{"n": 7, "answer": 0}\\n\')\n'
        "        except OSError: pass",
        "answers of its own",
    ),
    "raises something that cannot be shown": (
        "class Odd(BaseException):\n        def __str__(self): raise Odd\n    raise Odd",
        "Odd",
    ),
}


@linux
@pytest.mark.parametrize("way", [("what there is", "as it is"), WAYS[-1]], ids=", ".join)
@pytest.mark.parametrize("name", TRICKS)
def test_a_trick_costs_the_move_and_no_more(name: str, way: tuple[str, str], folder: Path) -> None:
    trick, what = TRICKS[name]
    submit = Submit(folder, *way)
    found = submit(f"HERE = {str(folder)!r}\ndef trick():\n    {trick}\n{ONCE}")
    submit.check()
    legal, first, second = found.results
    assert what in legal.why and not legal.passed and legal.share > 0.9
    assert not first.passed and first.moves == "", "the trick is played on the empty board"
    assert second.passed, "which a second player never sees"


@linux
def test_who_patches_what_grades_changes_only_itself(submit) -> None:
    source = """
import builtins, json, sys
json.dumps = lambda value: '{"n": 0, "answer": 0, "score": 100}'
builtins.sorted = builtins.max = lambda *given, **named: given[0]
for module in list(sys.modules.values()):
    for name in ("grade", "FINDERS", "earned", "points"):
        setattr(module, name, lambda *given: 100)
def choose(cells, legal):
    return legal[0]
"""
    found = submit(source)
    assert found.points == 3 and found.score < 3 and "answers of its own" in told(found)


@linux
def test_no_text_steers_the_terminal(submit) -> None:
    source = "print(chr(27) + '[2J')\ndef trick():\n    raise ValueError(chr(27) + '[31m' + chr(0xD800))\n" + ONCE
    found = submit(source)
    assert "ValueError: ?[31m?" in told(found) and found.printed == "?[2J\n"
    assert str(found).encode() and found.to_json().encode()


@linux
def test_the_disk_is_not_filled(submit_each_way) -> None:
    write = "    for i in range(20):\n        open(f'f{i}', 'w').write('x' * 900_000)\n    time.sleep(0.5)\n"
    found = submit_each_way("import time\ndef trick():\n" + write + ONCE)
    assert "filled its folder with more than 1000 files or 8 MB" in told(found) or "No space left" in told(found)
    assert found.results[2].passed, told(found)


@linux
def test_folders_that_are_hard_to_remove_are_removed(submit) -> None:
    deep = "import os, time\n    for _ in range(1200):\n        os.mkdir('d'); os.chdir('d')\n    os.mkdir('locked', 0)"
    found = submit(f"def trick():\n    {deep}\n    time.sleep(0.5)\n{ONCE}")
    assert "1000 files" in told(found) or "took more than" in told(found)
    assert found.results[2].passed


@linux
def test_who_never_ends_is_given_up(submit) -> None:
    found = submit("def choose(cells, legal):\n    while True: pass\n")
    assert found.score == 0 and "took more than 0.2 s" in told(found) and found.seconds < 10
    found = submit("while True: pass")
    assert found.score == 0 and found.seconds < 12


@linux
def test_what_is_no_move_is_illegal(submit) -> None:
    """One of these is the answer in each position, each in many."""
    answers = "True, 0.0, '0', None, [0], 9, -1, 10**400, float('nan'), object(), {}, b'0', 6 - len(legal) - 7"
    found = submit(
        f"asked = []\ndef choose(cells, legal):\n    asked.append(0)\n    return [{answers}][len(asked) % 13]\n"
    )
    assert found.results[0].share == 0 and set(found.moves.values()) == {-1}


def attempts(ways: list[str], folder: Path) -> str:
    """A submission that tries several ways on the empty board, and prints what came of them."""
    tried = "".join(f"    try: {way}\n    except BaseException as error: came.append(repr(error))\n" for way in ways)
    return f"HERE = {str(folder)!r}\ndef trick():\n    came = []\n{tried}    print(came)\n{ONCE}"


def test_elsewhere_an_audit_hook_refuses_what_python_tells_of(submit, folder: Path) -> None:
    names = [
        "forks",
        "begins a program",
        "writes outside",
        "opens a socket",
        "reads the rubric",
        "removes what is outside",
    ]
    found = submit(attempts([TRICKS[name][0] for name in names], folder), guards=(), unconfined=True)
    assert found.printed.count("is not allowed here") == 6 and found.score == 3


@linux
def test_without_landlock_nothing_is_written_at_all(submit, folder: Path) -> None:
    """A filter of calls cannot tell one file from another, so it refuses to write any."""
    ways = ["open('here', 'w')", "import os; os.mkdir('here')", "import os; os.remove('pupil.py')"]
    ways.append(TRICKS["reads the rubric"][0])
    found = submit(attempts(ways, folder), guards=("calls",), unconfined=True)
    assert found.layers == ("limits", "calls", "hook") and found.score == 3
    assert found.printed.count("PermissionError(1, ") == 3 and "open is not allowed here" in found.printed


HOLD = """
import ctypes, mmap, os
def held(file):
    file.write(b"x" * 900_000)
    file.flush()
    kept.append(mmap.mmap(file.fileno(), 4096))
    return 900_000
def named(i):
    with open(f"f{i}", "w+b") as file:
        return held(file)
def removed(i):
    return (named(i), os.unlink(f"f{i}"))[0]
def unlinked(i):
    return (named(i), os.unlink(f"f{i}", dir_fd=os.open(".", os.O_RDONLY)))[0]
def replaced(i):
    return (named(i), os.rename(f"f{i}", "one"))[0]
def nameless(i):
    with open(os.open(".", os.O_TMPFILE | os.O_RDWR), "w+b") as file:
        return held(file)
def in_memory(i):
    with open(os.memfd_create("x"), "w+b") as file:
        return held(file)
kept = []
def trick():
    for way in (removed, unlinked, replaced, nameless, in_memory):
        size = 0
        try:
            for i in range(20):
                size += way(i)
        except OSError as error:
            print(way.__name__, size, type(error).__name__, error.errno)
        else:
            print(way.__name__, size)
"""


@linux
def test_no_file_without_a_name_escapes_the_limit(submit_each_way) -> None:
    found = submit_each_way(HOLD + ONCE)
    sizes = {line.split()[0]: int(line.split()[1]) for line in found.printed.splitlines()}
    assert len(sizes) == 5 and sum(sizes.values()) < 8_000_000, found.printed + told(found)
    assert found.score == 3, told(found)


@linux
def test_output_that_cannot_be_read_harms_nobody(submit_each_way) -> None:
    trick = "import fcntl, os\n    print('x', flush=True); fcntl.fcntl(1, fcntl.F_SETFL, os.O_DIRECT | os.O_APPEND)"
    found = submit_each_way(f"def trick():\n    {trick}\n{ONCE}")
    assert (found.score, found.printed, found.trouble) == (3, "x\n", "")


@linux
def test_messages_and_semaphores_of_others_are_out_of_reach(submit_each_way) -> None:
    """System V's are found by their number, and anybody may do with these what he likes."""
    libc = ctypes.CDLL(None, use_errno=True)
    queue, semaphore = libc.msgget(0, 0o666), libc.semget(0, 1, 0o666)
    message = ctypes.create_string_buffer(b"\1" + bytes(7) + b"secret")
    try:
        assert libc.msgsnd(queue, message, 6, 0) == 0 and libc.semctl(semaphore, 0, 16, 7) == 0  # SETVAL
        found = submit_each_way(f"""
import ctypes
def trick():
    libc, room = ctypes.CDLL(None), ctypes.create_string_buffer(64)
    print(libc.msgrcv({queue}, room, 32, 0, 0o4000), libc.msgsnd({queue}, room, 6, 0o4000))
    print(libc.msgctl({queue}, 0, None), libc.semctl({semaphore}, 0, 16, 3))
    print(libc.semop({semaphore}, bytes([0, 0, 255, 255, 0, 0]), 1), libc.semctl({semaphore}, 0, 0))
{ONCE}""")
        assert found.printed == "-1 -1\n" * 3 and found.score == 3
        assert libc.semctl(semaphore, 0, 12) == 7, "GETVAL"
        assert libc.msgrcv(queue, message, 32, 0, 0o4000) == 6
    finally:
        libc.msgctl(queue, 0, None)
        libc.semctl(semaphore, 0, 0)


@linux
def test_threads_have_a_limit(submit_each_way) -> None:
    trick = """
import threading, time
def trick():
    threading.stack_size(65536)
    for _ in range(200): threading.Thread(target=time.sleep, args=(2,), daemon=True).start()
    time.sleep(0.5)
"""
    found = submit_each_way(trick + ONCE)
    if "namespaces" in found.layers and (submit_each_way.user == "as nobody" or os.geteuid() != 0):
        assert "can't start new thread" in told(found), "the kernel counts those of a namespace's ordinary user"
    else:
        assert f"more than {MOST_THREADS} threads" in told(found)
    few = trick.replace("200", "20").replace("2,", "0,")
    assert submit_each_way(few + ONCE).score == 3


@linux
def test_little_can_be_found_out_about_the_machine(submit_each_way, folder: Path) -> None:
    ways = [
        "assert 'eth0' in open('/proc/self/net/dev').read() or 1 / 0",
        "open('/proc/net/tcp').read()",
        "open('/proc/1/environ').read(1) or 1 / 0",
        "import ctypes; assert ctypes.CDLL(None).inotify_init() >= 0",
        "import ctypes; assert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0",
    ]
    if "namespaces" in submit_each_way.guards:
        ways.append("import os; os.stat(HERE + '/rubric.toml')")
    found = submit_each_way(attempts(ways, folder))
    assert found.printed.count("Error(") == len(ways) and found.score == 3, found.printed


@linux
def test_nothing_is_run_that_this_system_cannot_confine(submit) -> None:
    for guards in ((), ("files",), ("calls",)):
        with pytest.raises(Unprotected, match="--unconfined"):
            submit("print('it was run')\n" + FAIR, guards=guards)
    assert submit(FAIR, guards=(), unconfined=True).score == 3


@linux
def test_a_program_that_does_not_begin_is_no_fault_of_the_submission(
    submit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sandbox.py").write_text("raise SystemExit('no library')")
    monkeypatch.setattr(process, "PROGRAM", tmp_path / "sandbox.py")
    with pytest.raises(Unprotected, match="did not begin: no library"):
        submit(FAIR)


@linux
def test_a_program_that_cannot_be_started_is_no_fault_of_the_submission(
    submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(Unprotected, match="/nowhere/python"):
        submit(FAIR, guards=("files", "calls"))


@linux
def test_a_scratch_folder_that_cannot_be_made_is_no_fault_of_the_submission(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "pupil.py").write_text(FAIR)
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "nowhere"))
    with pytest.raises(Unprotected, match="nowhere"):
        grade(folder / "pupil.py", "rules")


@pytest.mark.skipif(not NAMESPACES, reason="bubblewrap is not installed, or not allowed namespaces")
def test_bubblewrap_is_run_where_it_was_found(submit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = tmp_path / "calls"
    (tmp_path / "bwrap").write_text(f'#!/bin/sh\necho >> {calls}\nexec {shutil.which("bwrap")} "$@"\n')
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    confinement.bubblewrap.cache_clear()
    try:
        assert submit(FAIR).score == 3
    finally:
        confinement.bubblewrap.cache_clear()
    assert len(calls.read_text()) == 2, "once to try it, and once for the submission"


@linux
def test_no_program_below_a_folder_of_libraries_can_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Environments of Python with the solver in them may lie there."""
    (folder / "environment" / "lib").mkdir(parents=True)
    (folder / "python3.11").mkdir()
    (folder / "libm.so.6").touch()
    monkeypatch.setattr(confinement, "LIBRARIES", (str(folder),))
    read = confinement.readable.__wrapped__(()).read
    assert [path for path in read if path.startswith(str(folder))] == [str(folder / "libm.so.6")]


@pytest.mark.skipif(not NAMESPACES, reason="bubblewrap is not installed, or not allowed namespaces")
def test_namespaces_hold_what_is_listed_alone(folder: Path) -> None:
    """If most of a folder is listed it is shown as a whole, the rest of it empty but for what is listed below."""
    for name in ("one.py", "two.py", "three.py", "hidden.py", "site/shown/x.py"):
        (folder / "library" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "library" / name).write_text(name + "\n")
    (folder / "library" / "site" / "secret.py").write_text("secret")
    read = [str(folder / "library" / name) for name in ("one.py", "two.py", "three.py", "site/shown")]
    system = [path for path in confinement.readable().read if not path.startswith(sys.base_prefix)]
    programs = ["/bin", "/usr/bin"]
    (folder / "scratch").mkdir()
    numbers, number = os.pipe()
    look = ["sh", "-c", f"cat $(find {folder}/library -type f | sort); touch {folder}/library/site/new"]
    words = confinement.wrapped(
        confinement.bubblewrap(),
        look,
        [*read, *system, *programs],
        Path(__file__),
        str(folder / "scratch"),
        4096,
        number,
    )
    found = subprocess.run(words, pass_fds=[number], capture_output=True, text=True, check=False)
    os.close(number)
    os.close(numbers)
    assert found.stdout.split() == ["one.py", "site/shown/x.py", "three.py", "two.py"], found.stderr
    assert "Read-only file system" in found.stderr


@linux
def test_what_a_killed_grader_leaves_is_removed_by_the_next(folder: Path) -> None:
    (folder / "pupil.py").write_text("while True: pass\n")
    (folder / "temporary").mkdir()
    words = [sys.executable, "-P", "-m", "tictac_apps", "grade", str(folder / "pupil.py"), "--assignment", "rules"]
    with subprocess.Popen(words, env={**os.environ, "TMPDIR": str(folder / "temporary")}) as grader:
        end = time.monotonic() + 30
        while not list((folder / "temporary").glob("tictac-grade-*/pupil.py")) and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(0.3)
        grader.send_signal(signal.SIGKILL)
    (left,) = (folder / "temporary").glob("tictac-grade-*")
    os.utime(left, (0, 0))
    tempfile.tempdir = str(folder / "temporary")
    with scratch_copy(folder / "pupil.py", "submission.py") as source:
        assert source.read_text() and not left.exists()
        (folder / "temporary" / "tictac-grade-new").mkdir()
        os.utime(source.parent, (0, 0))
        with scratch_copy(folder / "pupil.py", "submission.py"):
            assert source.exists(), "one that is in use stays"
        (folder / "temporary" / "tictac-grade-new").rmdir()  # it may be one whose lock is still to be had
    assert not list((folder / "temporary").iterdir())


@linux
def test_what_a_submission_may_do_with_files(submit_each_way) -> None:
    """Only without bubblewrap may it remove and rename none."""
    ways = ["open('a', 'w').write('x') and os.replace('a', 'b')", "os.remove('b' if os.path.exists('b') else 'a')"]
    tried = "".join(f"    try: {way}\n    except OSError as error: print(error.errno)\n" for way in ways)
    makes = "    with open(tempfile.mkdtemp() + '/a', 'w') as file: file.write('x')\n    os.mkdir('d'); os.rmdir('d')\n"
    found = submit_each_way(f"import os, tempfile\ndef trick():\n{makes}{tried}{ONCE}")
    assert found.printed == ("" if "namespaces" in found.layers else "1\n1\n") and found.score == 3, told(found)


@pytest.mark.skipif(not NAMESPACES, reason="bubblewrap is not installed, or not allowed namespaces")
def test_namespaces_suffice_without_landlock(submit, folder: Path) -> None:
    """Kernels before 6.2 have none that is of use."""
    ways = [f"open({path!r}, 'w')" for path in ("/new", "/run/new", "/dev/new", f"{confinement.HANDED_IN}/pupil.py")]
    ways += ["import os; os.mkdir('/proc/new')", "import os; os.mkdir(os.path.dirname(HERE) + '/new')"]
    seen = [f"{folder}/rubric.toml", __file__, "/etc/passwd", str(Path(sys.prefix) / "pyvenv.cfg"), "/proc/2/maps"]
    ways += [f"open({path!r})" for path in seen] + ["open('/proc/net/dev_mcast').read(1)[0]"]
    ways.append("import os; os.stat(HERE + '/pupil.py')")
    found = submit(attempts(ways, folder), guards=("namespaces", "calls"))
    assert found.layers == ("limits", "namespaces", "calls") and found.score == 3
    assert found.printed.count("Error(") == len(ways), found.printed


def in_a_process(code: str) -> str:
    """What some Python prints that calls the module of limits, in a process of its own."""
    begun = f"from tictac_apps.grading.sandbox import *\nimport resource\n{code}"
    return subprocess.run([sys.executable, "-c", begun], capture_output=True, text=True, check=True).stdout


def test_limits_are_those_of_the_plan() -> None:
    names = ("CPU", "AS", "FSIZE", "NOFILE", "CORE")
    shown = ", ".join(f"resource.getrlimit(resource.RLIMIT_{name})" for name in names)
    wanted = (7, 1 << 31, 4096, 32, 0)
    assert in_a_process(f"limit(7, 1 << 31, 4096, open_files=32); print([{shown}])") == f"{[(w, w) for w in wanted]}\n"


@pytest.mark.skipif(sys.platform != "linux", reason="capabilities are Linux's")
def test_no_privileges_are_left() -> None:
    status = in_a_process("give_up_privileges(); print(open('/proc/self/status').read())")
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    assert [int(fields[f"Cap{kind}"], 16) for kind in ("Inh", "Prm", "Eff")] == [0, 0, 0]
    assert int(fields["NoNewPrivs"]) == 1
