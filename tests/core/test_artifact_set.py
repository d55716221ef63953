"""Artifacts are replaced as a set: old or new, never a mixture, whatever happens in between."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

import transload
from transload import artifact_set, exchange
from transload.artifact_set import replaced_folder
from transload.child import python_command
from transload.errors import TransloadError, UsageError
from transload.files import atomic_path
from transload.ir import F32, TensorType
from transload.testing import build_module


def write_set(place: Path, word: str, names: tuple[str, ...] = ("a.tosa", "b.npz", "report.json")) -> None:
    with replaced_folder(place) as folder:
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(word)


def contents(place: Path) -> dict[str, str]:
    return {str(file.relative_to(place)): file.read_text() for file in place.rglob("*") if file.is_file()}


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.fixture(params=["exchanged", "moved"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to put files in place: in one step, and one by one where the system cannot do that."""
    if request.param == "moved":
        monkeypatch.setattr(exchange, "exchange", lambda one, other: False)
    return request.param


def test_a_new_folder_is_made_whole(tmp_path: Path) -> None:
    write_set(tmp_path / "x" / "y", "new")
    assert contents(tmp_path) == dict.fromkeys(("x/y/a.tosa", "x/y/b.npz", "x/y/report.json"), "new")


@pytest.mark.usefixtures("way")
def test_files_of_others_stay(tmp_path: Path) -> None:
    place = tmp_path / "out"
    write_set(place, "old")
    (place / "notes").mkdir()
    (place / "notes" / "mine.txt").write_text("mine")
    (place / "link").symlink_to("notes/mine.txt")
    place.chmod(0o750)
    with replaced_folder(place, drop=lambda place: ["b.npz"]) as folder:
        (folder / "a.tosa").write_text("new")
        (folder / "report.json").write_text("new")
    assert contents(place) == {"a.tosa": "new", "report.json": "new", "notes/mine.txt": "mine", "link": "mine"}
    assert (place / "link").is_symlink() and place.stat().st_mode & 0o777 == 0o750
    assert names_in(tmp_path) == ["out"]


def test_what_others_write_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It went with the old folder, without a word: new files and folders, and others in the place of old ones."""
    place, real = tmp_path / "out", exchange.exchange
    write_set(place, "old", ("a.tosa", "report.json", "mine", "sub/removed"))

    def meanwhile(one: Path, other: Path) -> bool:
        (tmp_path / "other").write_text("later")
        (tmp_path / "other").replace(place / "mine")
        (place / "sub" / "removed").unlink()
        (place / "sub" / "new" / "deep").mkdir(parents=True)
        (place / "sub" / "new" / "deep" / "x").write_text("later")
        exchanged = real(one, other)
        (one / "late").write_text("later")  # by who has the old folder open
        return exchanged

    monkeypatch.setattr(exchange, "exchange", meanwhile)
    with replaced_folder(place) as folder:
        (folder / "a.tosa").write_text("new")
        (folder / "report.json").write_text("new")
    assert contents(place) == {
        "a.tosa": "new", "report.json": "new", "mine": "later", "late": "later", "sub/new/deep/x": "later"}
    assert names_in(tmp_path) == ["out"]


def test_what_others_write_at_the_last_moment_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who found the old folder before it went renames into it when what was there has been looked at, or brought over."""
    place, real = tmp_path / "out", exchange.exchange
    write_set(place, "old", ("a.tosa", "report.json", "kept", "mine"))
    late: list[Path] = []

    def write(file: Path, word: str) -> None:
        (tmp_path / "other").write_text(word)
        (tmp_path / "other").rename(file)

    def meanwhile(one: Path, other: Path) -> bool:
        write(place / "mine", "later")
        late.extend((one / "kept", one / "mine"))
        return real(one, other)

    def watched(path: Path, missing_ok: bool = False) -> None:
        if late and (path == late[0] or (path.name == ".transload-taken" and not late[0].exists())):
            write(late.pop(0), "latest")
        unlink(path, missing_ok)

    unlink = Path.unlink
    monkeypatch.setattr(Path, "unlink", watched)
    monkeypatch.setattr(exchange, "exchange", meanwhile)
    write_set(place, "new", ("a.tosa", "report.json"))
    assert not late
    assert contents(place) == {"a.tosa": "new", "report.json": "new", "kept": "latest", "mine": "latest"}
    assert names_in(tmp_path) == ["out"]


@pytest.mark.parametrize("below", ["", "sub", "new/deep"])
def test_a_folder_in_which_a_file_is_made_is_not_taken_away(tmp_path: Path, below: str) -> None:
    place = tmp_path / "out"
    write_set(place, "old", ("a.tosa", "sub/x"))
    with atomic_path(place / below / "file") as temporary:
        write_set(place, "new", ("a.tosa",))
        temporary.write_text("mine")
    assert contents(place) == {"a.tosa": "new", "sub/x": "old", str(Path(below, "file")): "mine"}
    assert names_in(tmp_path) == ["out"] and not list(place.rglob(".transload-*"))


def test_other_folders_keep_their_state(tmp_path: Path) -> None:
    place, private = tmp_path / "out", tmp_path / "out" / "private"
    write_set(place, "old", ("a.tosa", "private/key", "private/locked/x"))
    (private / "locked").chmod(0o500)
    private.chmod(0o700)
    number = place.stat().st_ino
    for folder in (private / "locked", private, place):
        if os.geteuid() == 0:
            os.chown(folder, 1234, 1235)
        os.utime(folder, (1000, 2000))

    def states() -> list[tuple[float, ...]]:
        found = [folder.stat() for folder in (place, private, private / "locked")]
        return [(each.st_mode, each.st_uid, each.st_gid, each.st_mtime) for each in found]

    before = states()
    write_set(place, "new", ("a.tosa",))
    assert states() == before and place.stat().st_ino != number
    assert contents(place) == {"a.tosa": "new", "private/key": "old", "private/locked/x": "old"}
    (private / "locked").chmod(0o700)


@pytest.mark.parametrize("name", ["chown", "getxattr"])
def test_a_folder_whose_state_cannot_be_kept_stays(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "out"
    write_set(place, "old", ("a.tosa", "sub/x"))

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, name, refuse)
    monkeypatch.setattr(os, "listxattr", lambda *_, **__: ["user.a"] if name == "getxattr" else [])
    if name == "chown":
        monkeypatch.setattr(exchange, "_owner", lambda found: found.st_ino)
    number = place.stat().st_ino
    write_set(place, "new", ("a.tosa",))
    assert place.stat().st_ino == number and contents(place) == {"a.tosa": "new", "sub/x": "old"}
    assert names_in(tmp_path) == ["out"]


@pytest.mark.parametrize("mounted", ["out", "out/sub"])
def test_mount_points_stay_where_they_are(tmp_path: Path, mounted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One as -o was refused, for what is made beside it is on another file system; one below it was carried off."""
    place, real = tmp_path / "out", artifact_set.ScratchFolder
    write_set(place, "old", ("a.tosa", "sub/x"))
    monkeypatch.setattr(exchange, "_mounted_in", lambda _: {(tmp_path / mounted).resolve()})
    beside: list[Path] = []

    def noted(folder: Path) -> artifact_set.ScratchFolder:
        beside.append(folder)
        return real(folder)

    monkeypatch.setattr(artifact_set, "ScratchFolder", noted)
    number = place.stat().st_ino
    write_set(place, "new", ("a.tosa",))
    assert beside == ([place] if mounted == "out" else []) and place.stat().st_ino == number
    assert contents(place) == {"a.tosa": "new", "sub/x": "old"} and names_in(place) == ["a.tosa", "sub"]


@pytest.mark.parametrize("mounted", ["a.tosa", "b.npz", "report.json", "sub"])
def test_a_mount_in_the_place_of_a_file_is_told_before_anything_is_written(
        tmp_path: Path, mounted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the others, some were new then, and the report was gone."""
    place, names = tmp_path / "out", ("a.tosa", "b.npz", "report.json", "sub/x")
    write_set(place, "old", names)
    monkeypatch.setattr(exchange, "_mounted_in", lambda _: {(place / mounted).resolve()})
    with pytest.raises(UsageError, match=rf"{mounted} is a mount point"):
        write_set(place, "new", names)
    assert contents(place) == dict.fromkeys(names, "old") and names_in(tmp_path) == ["out"]


@pytest.mark.usefixtures("way")
def test_a_file_in_the_place_of_a_folder_stays(tmp_path: Path) -> None:
    write_set(tmp_path / "out", "old", ("a.tosa", "parts"))
    with pytest.raises(UsageError, match="parts is a file"):
        write_set(tmp_path / "out", "new", ("a.tosa", "parts/x"))
    assert contents(tmp_path / "out") == {"a.tosa": "old", "parts": "old"} and names_in(tmp_path) == ["out"]


def test_files_get_the_group_that_a_folder_gives_them(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    place = tmp_path / "shared" / "out"
    (tmp_path / "shared").chmod(0o2755)
    write_set(place, "old")
    assert place.stat().st_mode & 0o2000
    (tmp_path / "shared").chmod(0o755)
    if os.geteuid() == 0:
        os.chown(place, -1, 1235)
        place.chmod(0o2755)
    write_set(place, "new")
    assert (place / "a.tosa").stat().st_gid == place.stat().st_gid and place.stat().st_mode & 0o2000


def test_a_link_that_leads_to_itself(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("out")
    with pytest.raises(UsageError, match="symbolic links"):
        write_set(tmp_path / "out", "new")


def test_an_error_leaves_the_old_ones(tmp_path: Path) -> None:
    write_set(tmp_path / "out", "old")
    with pytest.raises(ZeroDivisionError), replaced_folder(tmp_path / "out") as folder:
        (folder / "a.tosa").write_text("new")
        raise ZeroDivisionError
    assert set(contents(tmp_path / "out").values()) == {"old"} and names_in(tmp_path) == ["out"]


@pytest.mark.parametrize("stuck", ["a.tosa", "b.npz", "sub/c", "report.json"])
@pytest.mark.parametrize("links", [True, False])
def test_files_that_are_moved_one_by_one_are_put_back(
    tmp_path: Path, stuck: str, links: bool, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where one was another user's in a folder that is sticky, the report was gone, and those before it were the new ones."""
    place = tmp_path / "out"
    write_set(place, "old", ("a.tosa", "b.npz", "gone/d", "report.json", "sub/c"))
    before, replace = contents(place), Path.replace

    def refused(self: Path, target: Path) -> Path:
        if self.name == Path(stuck).name and Path(target) == place / stuck:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(target))
        return replace(self, target)

    monkeypatch.setattr(exchange, "exchange", lambda one, other: False)
    monkeypatch.setattr(Path, "replace", refused)
    if not links:
        monkeypatch.setattr(os, "link", refused_link)
    refusal = pytest.raises(TransloadError, match="Operation not permitted")
    with refusal, replaced_folder(place, lambda place: ["gone/d"]) as folder:
        for name in ("a.tosa", "b.npz", "new/deep/e", "report.json", "sub/c"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("new")
    assert contents(place) == before and names_in(place) == ["a.tosa", "b.npz", "gone", "report.json", "sub"]
    assert names_in(tmp_path) == ["out"]


def refused_link(*given: object, **more: object) -> None:
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


def test_errors_name_the_folder_that_is_given(tmp_path: Path) -> None:
    """They named one that is not there any more."""
    with pytest.raises(TransloadError) as caught, replaced_folder(tmp_path / "out") as folder, atomic_path(folder / "a.tosa"):
        raise OSError(27, "File too large")
    assert str(caught.value) == f"cannot write {tmp_path / 'out' / 'a.tosa'}: File too large"


def test_an_error_leaves_no_folders_that_were_made(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), replaced_folder(tmp_path / "x" / "y" / "out"):
        raise ZeroDivisionError
    assert not names_in(tmp_path)


@pytest.mark.parametrize("is_exchanged", [True, False])
def test_folders_of_what_is_gone_go_too(tmp_path: Path, is_exchanged: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a conversion in parts, `1-target` stayed, empty, beside what took its place. What was empty before is somebody's own."""
    place = tmp_path / "out"
    write_set(place, "old", ("a.tosa",))
    for name in ("1-target/deep/a", "2-host/b", "2-host/own", "mine/c"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(name)
    (place / "empty").mkdir()
    if not is_exchanged:
        monkeypatch.setattr(exchange, "exchange", lambda one, other: False)
    with replaced_folder(place, lambda place: ["1-target/deep/a", "2-host/b", "a.tosa"]) as folder:
        (folder / "new").write_text("")
    assert sorted(each.name for each in place.iterdir()) == ["2-host", "empty", "mine", "new"]
    assert [each.name for each in (place / "2-host").iterdir()] == ["own"]


def test_a_file_that_is_refused_leaves_no_folders_that_were_made(tmp_path: Path) -> None:
    module = build_module([TensorType((4,), F32)], lambda b, x: b.emit("top.Relu", x))
    (tmp_path / "there").mkdir()
    with pytest.raises(TransloadError):
        transload.save(module, tmp_path / "there" / "new" / "deep" / "model.onnx")
    assert list(tmp_path.rglob("*")) == [tmp_path / "there"]
    transload.save(module, tmp_path / "there" / "new" / "deep" / "model.mlir")
    assert (tmp_path / "there" / "new" / "deep" / "model.mlir").is_file()


def test_a_folder_with_much_else_in_it_stays_the_same_one(tmp_path: Path) -> None:
    place = tmp_path / "project"
    for number in range(200):
        (place / "src").mkdir(parents=True, exist_ok=True)
        (place / "src" / f"{number}.py").write_text("mine")
    number = place.stat().st_ino
    write_set(place, "new")
    assert place.stat().st_ino == number and len(contents(place)) == 203 and names_in(tmp_path) == ["project"]


@pytest.mark.usefixtures("way")
def test_a_folder_where_a_file_is_to_be(tmp_path: Path) -> None:
    write_set(tmp_path / "out", "old", ("a.tosa",))
    (tmp_path / "out" / "report.json").mkdir()
    with pytest.raises(UsageError, match=r"report\.json is a directory"):
        write_set(tmp_path / "out", "new")
    assert contents(tmp_path / "out") == {"a.tosa": "old"} and names_in(tmp_path) == ["out"]


def test_a_file_where_the_folder_is_to_be(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("file")
    with pytest.raises(UsageError, match="is a file"):
        write_set(tmp_path / "out", "new")


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(TransloadError, match="cannot be written: /proc is what the kernel says"):
        write_set(Path("/proc/nothing/out"), "new")


def test_the_current_directory_is_not_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    number = tmp_path.stat().st_ino
    write_set(Path(), "new")
    assert tmp_path.stat().st_ino == number and contents(Path()) == contents(tmp_path)
    assert len(contents(tmp_path)) == 3


def test_a_link_to_a_folder_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")
    write_set(tmp_path / "out", "new")
    assert (tmp_path / "out").is_symlink() and set(contents(tmp_path / "real").values()) == {"new"}


def test_many_writers_never_mix(tmp_path: Path) -> None:
    place = tmp_path / "out"
    write_set(place, "start")
    failures: list[str] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            handle = os.open(place, os.O_RDONLY)
            try:
                words = set()
                for name in ("a.tosa", "b.npz", "report.json"):
                    file = os.open(name, os.O_RDONLY, dir_fd=handle)
                    words.add(os.read(file, 100))
                    os.close(file)
                if len(words) != 1:
                    failures.append(str(words))
            except FileNotFoundError:
                pass  # the folder that was opened has been replaced, and is being removed
            finally:
                os.close(handle)

    watcher = threading.Thread(target=look)
    watcher.start()

    def write(number: int) -> None:
        for turn in range(20):
            write_set(place, f"writer {number} turn {turn}")

    writers = [threading.Thread(target=write, args=[number]) for number in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    done.set()
    watcher.join()
    assert not failures and len(set(contents(place).values())) == 1 and names_in(tmp_path) == ["out"]


KILLED = """

from pathlib import Path
from transload.artifact_set import replaced_folder
print("go", flush=True)
for number in range(100000):
    with replaced_folder(sys.argv[1]) as folder:
        for name in ("a.tosa", "b.npz", "report.json"):
            (folder / name).write_text(f"round {number}")
"""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_killed_at_any_moment(tmp_path: Path, number: int) -> None:
    place = tmp_path / "out"
    write_set(place, "start")
    for delay in range(12):
        process = subprocess.Popen(
            python_command(KILLED, str(place), needs=("transload",)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        process.stdout.readline()
        time.sleep(0.0007 * delay)
        process.send_signal(number)
        process.wait()
        process.stdout.close()
        assert len(set(contents(place).values())) == 1, contents(place)
        assert len(contents(place)) == 3
    write_set(place, "end")
    assert names_in(tmp_path) == ["out"] and set(contents(place).values()) == {"end"}


# --- conversions

def test_a_directory_holds_one_conversion(tmp_path: Path, examples: Path) -> None:
    """A second model's files take the place of the first one's; what is not ours stays."""
    first, second = tmp_path / "first.tflite", tmp_path / "second.tflite"
    for copy in (first, second):
        copy.write_bytes((examples / "digits" / "digits_int8.tflite").read_bytes())
    out = tmp_path / "out"
    made = transload.convert(first, "tosa", out, verify=False)
    (out / "notes.txt").write_text("mine")
    again = transload.convert(second, "tosa", out, verify=False)
    assert all(file.exists() for file in again.files)
    assert not [file for file in made.files if file.exists() and file not in again.files]
    assert {*names_in(out)} == {"notes.txt", *(file.name for file in again.files)}
    assert json.loads((out / "report.json").read_text())["model"] == str(second)


@pytest.mark.parametrize(
    "files", ["3", '["../kept"]', '{"../kept": 4}', r'{"a\u0000b": 1}', r'["\ud800"]', '[".", "' + "x" * 5000 + '"]'])
def test_an_odd_report_removes_nothing_outside(tmp_path: Path, examples: Path, files: str) -> None:
    (tmp_path / "kept").write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.json").write_text(f'{{"files": {files}, "target": "tosa", "target_report": {{}}}}')
    transload.convert(examples / "digits" / "digits_int8.tflite", "tosa", tmp_path / "out", verify=False)
    assert (tmp_path / "kept").read_text() == "mine"


def test_files_that_a_report_names_and_no_conversion_wrote_stay(tmp_path: Path, examples: Path) -> None:
    """Whatever a report named went: what is another file by now, or is behind a link, is somebody's."""
    model, out = examples / "digits" / "digits_int8.tflite", tmp_path / "out"
    transload.convert(model, "tosa", out, verify=False)
    for name in ("src/net.py", "linked"):
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text("mine")
    (out / "here").symlink_to("src")
    (out / "link").symlink_to("linked")
    report = json.loads((out / "report.json").read_text())
    named = {"src/net.py": 9, "here/net.py": 4, "link": 4, "./linked": 4, "src/../linked": 4, str(out / "linked"): 4}
    (out / "report.json").write_text(json.dumps({**report, "files": {**report["files"], **named}}))
    transload.convert(model, "stablehlo", out, verify=False)
    assert {name: (out / name).read_text() for name in ("src/net.py", "here/net.py", "link")} == dict.fromkeys(
        ("src/net.py", "here/net.py", "link"), "mine")
    assert not {*report["files"]} & {*names_in(out)}


@pytest.mark.parametrize("report", [
    '{"meta": {}, "files": {"src/net.py": {}, "data.csv": {}}, "totals": {}}', '[{"filePath": "a.js"}]',
    '{"Action": "start"}\n{"Action": "pass"}\n', "<html>"])
@pytest.mark.parametrize("model", ["digits_int8.tflite", "broken.onnx"])
def test_the_report_of_another_program_stays(tmp_path: Path, examples: Path, report: str, model: str) -> None:
    """A coverage report has `files`, too: all of them were removed, and the report was written over."""
    (tmp_path / "broken.onnx").write_bytes(b"\x08\x01")
    (tmp_path / "digits_int8.tflite").write_bytes((examples / "digits" / "digits_int8.tflite").read_bytes())
    out = tmp_path / "out"
    (out / "src").mkdir(parents=True)
    for name, text in (("report.json", report), ("src/net.py", "mine"), ("data.csv", "mine")):
        (out / name).write_text(text)
    with pytest.raises(UsageError if model != "broken.onnx" else TransloadError) as raised:
        transload.convert(tmp_path / model, "tosa", out, verify=False)
    assert model == "broken.onnx" or "choose another folder" in raised.value.hint
    assert contents(out) == {"report.json": report, "src/net.py": "mine", "data.csv": "mine"}


@pytest.mark.parametrize("left", ["", "{}", "[]", "null", "\0" * 99, '{\n  "sch', '{\n  "schema": 1,\n  "stat'])
def test_what_is_left_of_a_report_is_replaced(tmp_path: Path, examples: Path, left: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.json").write_text(left)
    transload.convert(examples / "digits" / "digits_int8.tflite", "tosa", tmp_path / "out", verify=False)
    assert json.loads((tmp_path / "out" / "report.json").read_text())["status"] == "converted"


@pytest.mark.parametrize(("name", "made"), [(".tflite", "tflite.tosa"), ("..tflite", "model.tosa"), (".a.tflite", "a.tosa")])
def test_no_artifact_is_hidden(tmp_path: Path, examples: Path, name: str, made: str) -> None:
    (tmp_path / name).write_bytes((examples / "digits" / "digits_int8.tflite").read_bytes())
    artifact = transload.convert(tmp_path / name, "tosa", tmp_path / "out", verify=False)
    assert made in [file.name for file in artifact.files] and not list((tmp_path / "out").glob(".*"))


def test_a_folder_called_as_the_report(tmp_path: Path, examples: Path) -> None:
    (tmp_path / "out" / "report.json").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"report\.json is a directory"):
        transload.convert(examples / "digits" / "digits_int8.tflite", "tosa", tmp_path / "out", verify=False)
    assert names_in(tmp_path / "out") == ["report.json"] and names_in(tmp_path) == ["out"]
