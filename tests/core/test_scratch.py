"""Folders in the making: what a killed process leaves is removed, what is in use stays."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from transload import scratch
from transload.artifact_set import replaced_folder
from transload.errors import TransloadError
from transload.files import atomic_path
from transload.scratch import PREFIX, Hold, ScratchFolder, locked, remove_all, system_folder

KILLED = """
import os, sys
from pathlib import Path
from transload.scratch import ScratchFolder
folder = ScratchFolder(Path(sys.argv[1]))
(folder.path / "half").write_text("half")
os.kill(os.getpid(), 9)
"""


def left_in(place: Path) -> list[str]:
    return [file.name for file in place.iterdir()]


def leave_one(place: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(place)], check=False)
    assert len(left_in(place)) == 1


def test_what_a_killed_process_left_goes(tmp_path: Path) -> None:
    leave_one(tmp_path)
    with ScratchFolder(tmp_path) as folder:
        assert left_in(tmp_path) == [folder.name]
    assert not left_in(tmp_path)


def test_with_the_next_file_too(tmp_path: Path) -> None:
    leave_one(tmp_path)
    with atomic_path(tmp_path / "a.txt") as path:
        path.write_text("all")
    assert left_in(tmp_path) == ["a.txt"]


REPLACED = """
import sys
from pathlib import Path
from transload.artifact_set import replaced_folder
from transload.errors import TransloadError
place = Path(sys.argv[1])
try:
    with replaced_folder(place / "out") as folder:
        (folder / "a").write_text("new")
except TransloadError as error:
    print(error.message)
"""


def as_everybody(*words: str) -> str:
    """What a process prints for which permissions count, as they do not for the superuser."""
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("the superuser writes everywhere, and setpriv is not installed")
        dropped = "-dac_override,-dac_read_search,-fowner"
        words = ("setpriv", f"--bounding-set={dropped}", f"--inh-caps={dropped}", *words)
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def test_a_folder_that_is_protected_is_not_replaced_and_none_is_left(tmp_path: Path) -> None:
    """One that was exchanged could not be emptied: folders of old artifacts would gather."""
    out, old = tmp_path / "out", tmp_path / f"{PREFIX}leftover"
    for folder in (out, old / "inside"):
        folder.mkdir(parents=True)
        (folder / "a").write_text("old")
    for folder in (out, old / "inside", old):
        folder.chmod(0o555)
    assert "may not make files in" in as_everybody(sys.executable, "-c", REPLACED, str(tmp_path))
    assert {*left_in(tmp_path)} == {"out", old.name} and (out / "a").read_text() == "old"  # nothing was begun


def test_a_folder_beside_which_nothing_may_be_made_is_written_to(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "a").write_text("old")
    tmp_path.chmod(0o555)
    try:
        assert as_everybody(sys.executable, "-c", REPLACED, str(tmp_path)) == ""
    finally:
        tmp_path.chmod(0o755)
    assert left_in(out) == ["a"] and (out / "a").read_text() == "new"


def test_no_locks_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(handle: int, how: int) -> None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    monkeypatch.setattr(scratch.fcntl, "flock", refuse)
    for text in ("old", "new"):
        with replaced_folder(tmp_path / "out") as folder:
            (folder / "a").write_text(text)
    assert left_in(tmp_path) == ["out"] and (tmp_path / "out" / "a").read_text() == "new"


def test_a_forked_process_holds_and_removes_nothing(tmp_path: Path) -> None:
    """It waited for ever for a lock of a thread that it has not."""
    with locked(tmp_path), ScratchFolder(tmp_path / "..") as folder:
        child = os.fork()
        if not child:
            remove_all()
            try:
                Hold(tmp_path, patience=0)
            except BlockingIOError:  # the parent holds it still
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7 and folder.exists()
    ready, done = os.pipe(), os.pipe()
    with locked(tmp_path):
        child = os.fork()
        if not child:
            os.read(ready[0], 1)
            Hold(tmp_path, patience=1)
            os.write(done[1], b"x")
            os._exit(0)
    os.write(ready[1], b"x")
    assert os.read(done[0], 1) == b"x" and os.waitpid(child, 0)[1] == 0


def test_what_is_in_use_or_not_ours_stays(tmp_path: Path) -> None:
    (tmp_path / f"{PREFIX}12345678").write_text("a file")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"{PREFIX}of-a-user").mkdir()
    (tmp_path / f"{PREFIX}abcdefgh").symlink_to(tmp_path / "elsewhere")
    with ScratchFolder(tmp_path) as one, ScratchFolder(tmp_path) as other:
        assert one.exists() and other.exists()
    assert sorted(left_in(tmp_path)) == [f"{PREFIX}12345678", f"{PREFIX}abcdefgh", f"{PREFIX}of-a-user", "elsewhere"]


def test_a_folder_that_is_held_for_ever_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a process that was stopped, or by `flock FOLDER transload ..`: the conversion waited without a word."""
    for name in ("_PATIENCE", "_LONGEST"):
        monkeypatch.setattr(scratch, name, 0.01, raising=False)
    held = Hold(tmp_path)
    at_last = threading.Timer(1, held.let_go)
    at_last.start()
    with pytest.raises(TransloadError, match="another process has held"), replaced_folder(tmp_path / "out"):
        pass
    at_last.cancel()
    held.let_go()
    assert not left_in(tmp_path)


def test_many_at_one_time(tmp_path: Path) -> None:
    """None takes another's for abandoned."""
    failures: list[BaseException] = []

    def use() -> None:
        try:
            for turn in range(30):
                with ScratchFolder(tmp_path) as folder:
                    (folder / "file").write_text(str(turn))
                    assert (folder / "file").read_text() == str(turn)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and not left_in(tmp_path)


@pytest.mark.parametrize("raises", [False, True])
def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path, raises: bool) -> None:
    try:
        with atomic_path(tmp_path / "a.txt") as path:
            path.write_text("all")
            if raises:
                raise KeyError
    except KeyError:
        pass
    assert left_in(tmp_path) == ([] if raises else ["a.txt"])


def test_no_place_for_temporary_files_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was a defect of the plugin that needed one."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    with pytest.raises(TransloadError, match="no temporary file can be written: No such file") as caught:
        ScratchFolder()
    assert type(caught.value) is TransloadError and "TMPDIR=" in caught.value.hint


def test_of_the_look_for_a_place_nothing_stays_that_nobody_knows_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one process of two hundred that were killed a file of eight letters stayed: Python's own look for a place to write."""
    full, good = tmp_path / "full", tmp_path / "good"
    full.mkdir()
    good.mkdir()
    names, mkdir = [], os.mkdir

    def made(path: str, mode: int = 0o777) -> None:
        if Path(path).parent == full:
            raise OSError(errno.ENOSPC, "No space left on device")
        mkdir(path, mode)
        names.append(Path(path))

    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_get_default_tempdir", lambda: pytest.fail("Python looked"))
    monkeypatch.setattr(os, "mkdir", made)
    monkeypatch.setenv("TMPDIR", str(full))
    monkeypatch.setenv("TEMP", str(tmp_path / "absent"))
    monkeypatch.setenv("TMP", str(good))
    assert system_folder() == good and tempfile.gettempdir() == str(good)
    assert [each.name.startswith(PREFIX) for each in names] == [True] and not [*good.iterdir()]


def test_a_folder_that_never_stays_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin that replaces `Path.exists` had folders made without end."""
    with monkeypatch.context() as patched:
        patched.setattr(Path, "exists", lambda self, **how: False)
        with pytest.raises(TransloadError, match=r"100 times what was made in .* was gone before it could be held"):
            ScratchFolder(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(os.path, "samestat", lambda a, b: False)
        with pytest.raises(TransloadError, match="gone before it could be held"):
            ScratchFolder(tmp_path)
    assert not list(tmp_path.iterdir())


def test_temporary_folders_are_made_by_what_removes_those_of_the_killed() -> None:
    """One of `tempfile`'s stays where a signal ends the process: `view --html` left some."""
    root = Path(__file__).parents[2]
    allowed = {"core/transload/testing/targets.py", "targets/transload_targets/ethosu/target.py"}  # a test's; within our own
    sources = [path for part in ("core", "plugins", "targets", "converters") for path in (root / part).rglob("*.py")]
    found = {str(path.relative_to(root)) for path in sources if "TemporaryDirectory(" in path.read_text("utf-8")}
    assert found == allowed
