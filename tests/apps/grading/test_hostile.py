"""What a submission may try: it is graded, not obeyed, and nothing of it is left."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import socket
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
from tictac_apps.grading.process import MOST_THREADS, Unprotected
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

pytestmark = pytest.mark.bubblewrap

WAYS = ["as it is", "as nobody"]
NOBODY = 65534
PLACES = [Path(path) for path in (sys.base_prefix, sys.prefix, process.PROGRAM.parents[1])]
"""What grading needs to read, wherever this tree and its Python lie."""


class Submit:
    """Grades a source as one of `WAYS`; no process and no file may be left that was not there."""

    def __init__(self, folder: Path, user: str = "as it is") -> None:
        if user == "as nobody" and os.geteuid() != 0:
            pytest.skip("this is an ordinary user already")
        self.folder, self.temporary, self.user = folder, folder / "temporary files", user
        folder.chmod(0o755)
        self.temporary.mkdir()
        self.temporary.chmod(0o777)
        (folder / "rubric.toml").write_text(RUBRIC)
        questions_of(get_game("KInARow-v0:2x3-3,gravity=False"))  # which `as_nobody` would compile anew

    def __call__(self, source: str, unconfined: bool = False) -> Grade:
        (self.folder / "pupil.py").write_text(source)
        if self.user == "as it is":
            return self._graded(unconfined)
        try:
            return as_nobody(lambda: self._graded(unconfined), self.folder)
        except NoOtherUser as error:
            pytest.skip(str(error))

    def _graded(self, unconfined: bool) -> Grade:
        tempfile.tempdir = str(self.temporary)
        found = grade(self.folder / "pupil.py", self.folder / "rubric.toml", unconfined=unconfined)
        assert not children()
        return found

    def check(self) -> None:
        assert {one.name for one in self.folder.iterdir()} == {"temporary files", "rubric.toml", "pupil.py"}
        assert not list(self.temporary.iterdir())


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that anybody may read; pytest's own are for its user alone."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


@pytest.fixture
def submit(folder: Path) -> Iterator[Submit]:
    """As this user."""
    made = Submit(folder)
    yield made
    made.check()


@pytest.fixture(params=WAYS)
def submit_each_way(folder: Path, request: pytest.FixtureRequest) -> Iterator[Submit]:
    """As this user and as an ordinary one."""
    made = Submit(folder, request.param)
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
    return [line for line in found if process.PROGRAM.name in line]


def told(found: Grade) -> str:
    return " ".join(f"{result.summary} {result.why}" for result in found.results)


def test_what_is_fair_gets_all_points(submit) -> None:
    found = submit(FAIR)
    assert (found.score, found.trouble) == (3, "")
    assert found.confined and not submit(FAIR, unconfined=True).confined


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="this is an ordinary user already")
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


KEYCTL = 250 if os.uname().machine == "x86_64" else 219
HOLDS, WAIT = "import ctypes, mmap, os, time", "time.sleep(0.5)"
TRICKS = {
    "loops": ("while True: pass", "took more than 0.2 s"),
    "sleeps": ("import time; time.sleep(60)", "took more than 0.2 s"),
    "loops in C, and is deaf to signals": (
        "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32)); sum(range(10**12))",
        "could not be interrupted",
    ),
    "forks": ("import os, time; os.fork(); time.sleep(0.5)", "it began another process"),
    "begins a program": ("import subprocess; subprocess.run(['sleep', '60'])", "FileNotFoundError"),
    "eats memory": ("x = bytearray(1 << 34)", "MemoryError"),
    "writes outside": ("open(HERE + '/stolen', 'w')", "Error: [Errno "),
    "removes what is outside": ("import os; os.remove(HERE + '/rubric.toml')", "Error: [Errno "),
    "makes a folder outside": ("import os; os.mkdir(HERE + '/stolen')", "Error: [Errno "),
    "prints a gigabyte": ("for _ in range(1 << 14): print('x' * (1 << 16))", "OSError: [Errno 27] File too large"),
    "opens a socket": ("import socket; socket.create_connection(('127.0.0.1', PORT))", "ConnectionRefusedError"),
    "leaves": ("import sys; sys.exit(0)", "SystemExit"),
    "ends its process": ("import os; os._exit(0)", "it ended the process, with status 0"),
    "crashes": ("import os; os.abort()", "it was ended by signal SIG"),
    "kills the grader": (f"import os; os.kill({os.getpid()}, 9)", "ProcessLookupError"),
    "begins namespaces": ("import ctypes; 1 / (1 + ctypes.CDLL(None).unshare(0x10000000))", "ZeroDivisionError"),
    "asks for the grader's keys": (
        f"import ctypes; key = ctypes.CDLL(None, use_errno=True).syscall({KEYCTL}, 0, -3, 0)\n"
        "    if key < 0: raise OSError(ctypes.get_errno(), 'no keyring')",
        "PermissionError: [Errno 1]",
    ),
    "keeps memory that is shared": (
        f"{HOLDS}; mapped = mmap.mmap(-1, 1 << 28); mapped.resize(4096); {WAIT}",
        "it took shared memory",
    ),
    "keeps memory in a file": (
        f"{HOLDS}; file = os.memfd_create('x'); os.truncate(file, 4096); mapped = mmap.mmap(file, 4096); {WAIT}",
        "it took shared memory",
    ),
    "keeps memory of System V": (
        f"{HOLDS}; libc = ctypes.CDLL(None); libc.shmat(libc.shmget(0, 4096, 0o600), None, 0); {WAIT}",
        "it took shared memory",
    ),
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


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", TRICKS)
def test_a_trick_costs_the_move_and_no_more(name: str, way: str, folder: Path) -> None:
    trick, what = TRICKS[name]
    submit = Submit(folder, way)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        found = submit(f"HERE, PORT = {str(folder)!r}, {port}\ndef trick():\n    {trick}\n{ONCE}")
    submit.check()
    legal, first, second = found.results
    assert what in legal.why and not legal.passed and legal.share > 0.9
    assert not first.passed and first.moves == "", "the trick is played on the empty board"
    assert second.passed, "which a second player never sees"


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


def test_no_text_steers_the_terminal(submit) -> None:
    source = "print(chr(27) + '[2J')\ndef trick():\n    raise ValueError(chr(27) + '[31m' + chr(0xD800))\n" + ONCE
    found = submit(source)
    assert "ValueError: ?[31m?" in told(found) and found.printed == "?[2J\n"
    assert str(found).encode() and found.to_json().encode()


def test_the_disk_is_not_filled(submit_each_way) -> None:
    write = "    for i in range(20):\n        open(f'f{i}', 'w').write('x' * 900_000)\n    time.sleep(0.5)\n"
    found = submit_each_way("import time\ndef trick():\n" + write + ONCE)
    assert "filled its folder with more than 1000 files or 8 MB" in told(found) or "No space left" in told(found)
    assert found.results[2].passed, told(found)


def test_folders_that_are_hard_to_remove_are_removed(submit) -> None:
    deep = "import os, time\n    for _ in range(1200):\n        os.mkdir('d'); os.chdir('d')\n    os.mkdir('locked', 0)"
    found = submit(f"def trick():\n    {deep}\n    time.sleep(0.5)\n{ONCE}")
    assert "1000 files" in told(found) or "took more than" in told(found)
    assert found.results[2].passed


def test_who_never_ends_is_given_up(submit) -> None:
    found = submit("def choose(cells, legal):\n    while True: pass\n")
    assert found.score == 0 and "took more than 0.2 s" in told(found) and found.seconds < 10
    found = submit("while True: pass")
    assert found.score == 0 and found.seconds < 12


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
kept = []
def trick():
    for way in (removed, unlinked, replaced, nameless):
        size = 0
        try:
            for i in range(20):
                size += way(i)
        except OSError as error:
            print(way.__name__, size, type(error).__name__, error.errno)
        else:
            print(way.__name__, size)
"""


def test_no_file_without_a_name_escapes_the_limit(submit_each_way) -> None:
    found = submit_each_way(HOLD + ONCE)
    sizes = {line.split()[0]: int(line.split()[1]) for line in found.printed.splitlines()}
    assert len(sizes) == 4 and sum(sizes.values()) < 8_000_000, found.printed + told(found)
    assert found.score == 3, told(found)


def test_output_that_cannot_be_read_harms_nobody(submit_each_way) -> None:
    trick = "import fcntl, os\n    print('x', flush=True); fcntl.fcntl(1, fcntl.F_SETFL, os.O_DIRECT | os.O_APPEND)"
    found = submit_each_way(f"def trick():\n    {trick}\n{ONCE}")
    assert (found.score, found.printed, found.trouble) == (3, "x\n", "")


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


def test_threads_have_a_limit(submit_each_way) -> None:
    trick = """
import threading, time
def trick():
    threading.stack_size(65536)
    for _ in range(200): threading.Thread(target=time.sleep, args=(2,), daemon=True).start()
    time.sleep(0.5)
"""
    found = submit_each_way(trick + ONCE)
    if submit_each_way.user == "as nobody" or os.geteuid() != 0:
        assert "can't start new thread" in told(found), "the kernel counts those of a namespace's ordinary user"
    else:
        assert f"more than {MOST_THREADS} threads" in told(found)
    few = trick.replace("200", "20").replace("2,", "0,")
    assert submit_each_way(few + ONCE).score == 3


def test_little_can_be_found_out_about_the_machine(submit_each_way, folder: Path) -> None:
    ways = [
        "assert 'eth0' in open('/proc/self/net/dev').read() or 1 / 0",
        "assert open('/proc/net/tcp').read().count(chr(10)) > 1",
        "assert b'PYTEST' in open('/proc/1/environ', 'rb').read()",
        f"open('/proc/{os.getpid()}/maps').read()",
        "import os; os.stat(HERE + '/rubric.toml')",
    ]
    found = submit_each_way(attempts(ways, folder))
    assert found.printed.count("Error(") == len(ways) and found.score == 3, found.printed


def test_a_program_that_does_not_begin_is_no_fault_of_the_submission(
    submit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "examinee.py").write_text("raise SystemExit('no library')")
    monkeypatch.setattr(process, "PROGRAM", tmp_path / "examinee.py")
    for unconfined in (False, True):
        with pytest.raises(Unprotected, match="no library"):
            submit(FAIR, unconfined)


def test_a_program_that_cannot_be_started_is_no_fault_of_the_submission(
    submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    for unconfined in (False, True):
        with pytest.raises(Unprotected, match="/nowhere/python"):
            submit(FAIR, unconfined)


def test_a_scratch_folder_that_cannot_be_made_is_no_fault_of_the_submission(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "pupil.py").write_text(FAIR)
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "nowhere"))
    with pytest.raises(Unprotected, match="nowhere"):
        grade(folder / "pupil.py", "rules")


def test_no_program_below_a_folder_of_libraries_can_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Environments of Python with the solver in them may lie there."""
    (folder / "environment" / "lib").mkdir(parents=True)
    (folder / "python3.11").mkdir()
    (folder / "libm.so.6").touch()
    monkeypatch.setattr(confinement, "LIBRARIES", (str(folder),))
    read = confinement.view_of.__wrapped__(()).shown
    assert [path for path in read if path.startswith(str(folder))] == [str(folder / "libm.so.6")]


def test_a_hidden_folder_shows_only_what_is_shown_below(folder: Path) -> None:
    for name in ("one.py", "two.py", "site/shown/x.py", "site/secret.py"):
        (folder / "library" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "library" / name).write_text(name + "\n")
    (folder / "scratch").mkdir()
    shown = (str(folder / "library"), str(folder / "library" / "site" / "shown"), "/bin", "/usr/bin")
    view = confinement.View((*confinement.view_of().shown, *shown), (str(folder / "library" / "site"),), ())
    look = ["/bin/sh", "-c", f"cat $(find {folder}/library -type f | sort); touch {folder}/library/site/new"]
    info, (rules, ruling) = os.open(os.devnull, os.O_WRONLY), os.pipe()
    os.write(ruling, confinement.keyless())
    os.close(ruling)
    words = confinement.confined(look, view, Path(__file__), str(folder / "scratch"), 4096, info, rules)
    done = subprocess.run(words, pass_fds=[info, rules], capture_output=True, text=True, check=False)
    os.close(info)
    os.close(rules)
    assert done.stdout.split() == ["one.py", "site/shown/x.py", "two.py"], done.stderr
    assert "Read-only file system" in done.stderr


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


def test_a_submission_may_do_with_its_own_files_what_it_likes(submit_each_way) -> None:
    found = submit_each_way(f"""
import os, tempfile
def trick():
    with open(tempfile.mkdtemp() + '/a', 'w') as file: file.write('x')
    os.mkdir('d'); os.rmdir('d'); os.replace(file.name, 'b'); os.remove('b'); os.remove('pupil.py')
{ONCE}""")
    assert found.score == 3, told(found)


def test_nothing_else_of_this_machine_is_seen_or_written(submit_each_way, folder: Path) -> None:
    ways = [f"open({path!r}, 'w')" for path in ("/new", "/run/new", "/dev/new", f"{confinement.HANDED_IN}/pupil.py")]
    ways += [
        f"open({os.__file__!r}, 'a')",
        "import os; os.mkdir('/proc/new')",
        "import os; os.mkdir(os.path.dirname(HERE) + '/new')",
    ]
    seen = [f"{folder}/rubric.toml", __file__, "/etc/passwd", str(Path(sys.prefix) / "pyvenv.cfg"), "/proc/2/maps"]
    ways += [f"open({path!r})" for path in seen] + ["open('/proc/net/dev_mcast').read(1)[0]"]
    ways.append("import os; os.stat(HERE + '/pupil.py')")
    found = submit_each_way(attempts(ways, folder))
    assert found.printed.count("Error(") == len(ways) and found.score == 3, found.printed


def test_who_hides_from_the_watch_is_watched_all_the_same(submit_each_way) -> None:
    found = submit_each_way(f"""
import ctypes, os, time
def trick():
    ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE
    for number in range(1001): os.mkdir(str(number))
    time.sleep(0.5)
{ONCE}""")
    assert "1000 files" in told(found)


def test_limits_and_privileges_are_those_of_the_rubric(submit_each_way) -> None:
    found = submit_each_way(f"""
import resource
def trick():
    print(*(resource.getrlimit(getattr(resource, "RLIMIT_" + name)) for name in ("CPU", "AS", "FSIZE", "CORE")))
    status = dict(line.split(":") for line in open("/proc/self/status") if line.startswith(("Cap", "NoNewPrivs")))
    print([int(value, 16) for value in status.values()], open("/proc/self/oom_score_adj").read())
{ONCE}""")
    limits = [21, 512_000_000, 1_000_000, 0]
    privileges = [0, 0, 0, 0, 0, 1]
    assert found.printed == f"{' '.join(str((limit, limit)) for limit in limits)}\n{privileges} 1000\n\n"
