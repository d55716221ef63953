"""Files that are none, or have odd names: said in words, never waited for."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import transload
from transload.arrays import write_arrays
from transload.artifact_set import replaced_folder
from transload.cli import run
from transload.context import Context
from transload.dump import Dumped
from transload.errors import ConversionError, ReadError, TransloadError, UsageError
from transload.files import atomic_path, bytes_of, need_directory, need_file, need_place, own_text, text_of
from transload.ir import F32, TensorType
from transload.plugin import Writer
from transload.plugin_host import Host
from transload.reported import files_of_report
from transload.scale.cache import report_in
from transload.testing.models import build_module

from tests.support.small_files import STABLEHLO


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe.tflite"
    os.mkfifo(path)
    return path


@pytest.mark.timeout(60)
@pytest.mark.parametrize("command", [
    "convert {pipe} -o {out}", "inspect {pipe}", "run {pipe}", "run {model} -i {pipe}", "compare {pipe} {model}",
    "compare {model} {pipe}", "convert {model} --input-data {pipe} -o {out}", "compare {model} {model} -i {pipe}",
    "opt {pipe} --passes cse"])
def test_a_pipe_is_not_waited_for(command: str, pipe: Path, examples: Path, tmp_path: Path, capsys: Any) -> None:
    model = examples / "digits" / "digits_int8.tflite"
    assert run(command.format(pipe=pipe, model=model, out=tmp_path / "out").split()) in (2, 3)
    assert "is a pipe, not a file" in " ".join(capsys.readouterr().err.split())


@pytest.mark.timeout(60)
def test_a_pipe_where_a_report_should_be_is_not_waited_for(examples: Path, tmp_path: Path) -> None:
    model = examples / "digits" / "digits_int8.tflite"
    made = transload.convert(model, "tosa", tmp_path, verify=False)
    (tmp_path / "report.json").unlink()
    os.mkfifo(tmp_path / "report.json")
    file = next(file for file in made.files if file.suffix == ".tosa")
    assert transload.load(file).inputs
    with pytest.raises(UsageError, match="is a pipe, where a file is to be written"):
        transload.convert(model, "tosa", tmp_path, verify=False)


@pytest.mark.parametrize("name", ["a" * 300 + ".tflite", "none.tflite", "file/below.tflite"])
def test_names_that_no_file_has(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ReadError, match=r"no such file|cannot be read"):
        transload.load(tmp_path / name)


def test_a_model_whose_name_is_as_long_as_names_can_be(examples: Path, tmp_path: Path, capsys: Any) -> None:
    model = tmp_path / ("a" * 248 + ".tflite")
    model.write_bytes((examples / "digits" / "digits_int8.tflite").read_bytes())
    assert run(["convert", str(model), "-o", str(tmp_path / "out"), "--no-verify"]) == 0
    assert (tmp_path / "out" / ("a" * 248 + ".tosa")).is_file()
    write_arrays(tmp_path / ("b" * 251 + ".npz"), {})
    capsys.readouterr()
    assert run(["convert", str(model), "-o", str(tmp_path / ("c" * 300)), "--no-verify"]) == 2
    assert "File name too long" in capsys.readouterr().err


@pytest.mark.one_in(2)
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_a_name_that_is_not_utf_8(examples: Path, tmp_path: Path, locale: str) -> None:
    model = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xc3 model.tflite"))
    try:
        model.write_bytes((examples / "digits" / "digits_int8.tflite").read_bytes())
    except OSError:
        pytest.skip("the file system has names in UTF-8 alone")
    environment = {**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for arguments in (["convert", model, "-o", tmp_path / "out", "--no-verify"], ["inspect", model], ["inspect", f"{model}x"],
                      ["convert", model, "-o", tmp_path / "out", "--no-verify", "--json"]):
        done = subprocess.run(
            [sys.executable, "-m", "transload", *arguments], capture_output=True, env=environment, check=False)
        assert done.returncode == (3 if str(arguments[1]).endswith("x") else 0), done.stderr
        assert b"Traceback" not in done.stderr
        assert b"defect" not in done.stderr
    assert (tmp_path / "out" / model.with_suffix(".tosa").name).is_file()


# --- what a writer writes


def test_a_writer_is_given_its_own_dialect_alone(tmp_path: Path) -> None:
    module = build_module([TensorType((2,), F32)], lambda b, x: b.emit("top.Relu", x))
    with pytest.raises(ConversionError, match="format 'tosa' holds modules in tosa; this one is in top") as caught:
        transload.save(module, tmp_path / "model.tosa")
    assert [finding.what for finding in caught.value.findings] == ["top.Relu"]
    assert caught.value.hint == "transload.lower(module, to='tosa') gives what it writes"
    transload.save(transload.lower(module, "tosa"), tmp_path / "model.tosa")
    transload.save(module, tmp_path / "model.mlir")  # text holds any
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.mlir", "model.tosa"]


def test_where_no_way_leads_to_what_a_plugins_writer_writes_that_is_said(tmp_path: Path) -> None:
    written: list[str] = []
    there = Host(points=[])
    there.writers["acme"] = Writer("acme", "acme", (".acme",), lambda module, path: (written.append(path.name), path.touch()))
    with Context(there).bind():
        module = build_module([TensorType((2,), F32)], lambda b, x: b.emit("top.Relu", x))
        with pytest.raises(ConversionError, match=r"no conversions lead from 'top' to 'acme'.*\n?.*MLIR text \(.mlir\)"):
            transload.save(module, tmp_path / "model.acme")
        theirs = build_module([TensorType((2,), F32)], lambda b, x: b.emit("acme.Op", x, types=[x.type]))
        transload.save(theirs, tmp_path / "model.acme")
    assert written == ["model.acme"]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
@pytest.mark.parametrize("path", ["/proc/kmsg", "/proc/version"])
def test_what_the_kernel_says_is_no_file(path):
    """Reading /proc/kmsg waits for more, for ever."""
    with pytest.raises(ReadError, match="is what the kernel says"):
        need_file(Path(path))
    with pytest.raises(ReadError, match="is what the kernel says"):
        transload.load(path)


LONG = "a" * 300
UNOPENED = [
    ["convert", "P"], ["inspect", "P"], ["compare", "P", "M"], ["compare", "M", "P"], ["run", "P"],
    ["eval", "P", "--data", "x.npy"], ["quantize", "P", "-o", "q.mlir", "--data", "x.npy"], ["opt", "P"], ["npz", "dump", "P"],
    ["program", "inspect", "P"], ["tosa-requirements", "P"], ["convert", "M", "--data", "P"], ["convert", "M", "-i", "image=P"],
    ["convert", "M", "--quantize", "int8", "--data", "x.npy", "--table", "P"], ["eval", "M", "--data", "x.npy", "--labels", "P"],
    ["eval", "M", "--data", "x.npy", "--classes", "P"]]
UNWRITTEN = [
    ["run", "M", "-o", "P"], ["convert", "M", "-o", "P"], ["gen-input", "M", "-o", "P"], ["new-plugin", "mine", "-o", "P"],
    ["quantize", "M", "-o", "q.mlir", "--data", "x.npy", "--resume", "P"]]


@pytest.mark.parametrize("arguments", [*UNOPENED, *UNWRITTEN], ids=" ".join)
def test_paths_that_cannot_be_opened(
    arguments: list[str], root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Any,
) -> None:
    """As one where nothing is: exit code 3 of what is read, 2 of a place to write to."""
    monkeypatch.chdir(tmp_path)
    Path("loop.onnx").symlink_to("loop.onnx")
    np.save("x.npy", np.zeros((2, 1, 1, 8, 8), np.float32))
    words = {"M": str(root / "examples" / "digits" / "digits_float.onnx"), "P": LONG, "image=P": f"image={LONG}.npy"}
    code, _, said = cli(*(words.get(each, each) for each in arguments))
    assert code == (3 if arguments in UNOPENED else 2) and "File name too long" in said, said
    if arguments in UNOPENED[:6]:
        code, _, said = cli(*(words.get(each, each) if each != "P" else "loop.onnx" for each in arguments))
        assert code == 3 and "symbolic links" in said, said


@pytest.mark.parametrize("arguments", [
    each for each in UNOPENED if each[:2] != ["eval", "P"] and "-i" not in each and "--data" not in each[:3]], ids=" ".join)
def test_files_that_may_not_be_read(
    arguments: list[str], root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Any,
) -> None:
    """Some were a mistake in the command line, and others no file of their kind."""
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.zeros((2, 1, 1, 8, 8), np.float32))
    Path("locked.onnx").write_bytes(b"x")
    locked, real, access = Path("locked.onnx").absolute(), io.open, os.access

    def opened(file: Any, *how: Any, **more: Any) -> Any:
        if isinstance(file, str | Path) and Path(file).absolute() == locked:  # as of another user: tests may be run by root
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))
        return real(file, *how, **more)

    monkeypatch.setattr("io.open", opened)
    monkeypatch.setattr("builtins.open", opened)
    monkeypatch.setattr("os.access", lambda path, mode, **how: Path(path).absolute() != locked and access(path, mode, **how))
    words = {"M": str(root / "examples" / "digits" / "digits_float.onnx"), "P": "locked.onnx"}
    code, _, said = cli(*(words.get(each, each) for each in arguments))
    assert code == 3 and "Permission denied" in said and "is no" not in said, said


@pytest.mark.parametrize("arguments", [*UNWRITTEN, ["convert", "M", "--cache", "P"], ["convert", "M", "--dump", "P"],
                                       ["convert", "M", "M", "-o", "P"], ["convert", "M", "--trace-rewrites", "P"]], ids=" ".join)
@pytest.mark.parametrize("place", ["file/x", "file/x/y", "nowhere/x"])
def test_below_a_file_nothing_can_be_written(
    arguments: list[str], place: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Any,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    Path("nowhere").symlink_to("nothing")
    np.save("x.npy", np.zeros((2, 1, 1, 8, 8), np.float32))
    words = {"M": str(root / "examples" / "digits" / "digits_float.onnx"), "P": place}
    code, _, said = cli(*(words.get(each, each) for each in arguments))
    kind = "file" if place.startswith("file") else "link that leads to no directory"
    assert code == 2 and f"{place.partition('/')[0]} is a {kind}" in " ".join(said.split()), said
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "nowhere", "x.npy"]


@pytest.mark.parametrize("arguments", UNWRITTEN, ids=" ".join)
@pytest.mark.parametrize("end", ["/proc/self/fd/1", "pipe", "/dev/null"])
def test_a_link_to_what_is_no_file_stays(
    arguments: list[str], end: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Any,
) -> None:
    """`-o /dev/stdout`, which is such a link, was replaced by a file, for every program of the system."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    Path("link").symlink_to(end)
    Path("out").symlink_to("link")
    np.save("x.npy", np.zeros((2, 1, 1, 8, 8), np.float32))
    words = {"M": str(root / "examples" / "digits" / "digits_float.onnx"), "P": "out"}
    code, _, said = cli(*(words.get(each, each) for each in arguments))
    assert (code == 2 and "out is a" in " ".join(said.split())) or "out is what the kernel says" in " ".join(said.split()), said
    assert str(Path("out").readlink()) == "link" and str(Path("link").readlink()) == end
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link", "out", "pipe", "x.npy"]


@pytest.mark.parametrize("is_there", [True, False])
def test_what_a_link_leads_to_is_written(is_there: bool, root: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out.mlir").symlink_to("other.mlir")
    (tmp_path / "other.mlir").symlink_to("elsewhere/real.mlir")
    if is_there:
        (tmp_path / "elsewhere" / "real.mlir").write_text("before")
    module = transload.load(root / "examples" / "digits" / "digits_float.onnx")
    transload.save(module, tmp_path / "out.mlir")
    assert str((tmp_path / "out.mlir").readlink()) == "other.mlir" and (tmp_path / "other.mlir").is_symlink()
    assert len(list(transload.load(tmp_path / "elsewhere" / "real.mlir").walk())) == len(list(module.walk()))


def test_a_zero_byte_in_a_path_and_a_disk_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="takes a path as path"):
        transload.load("a\0b.onnx")
    (tmp_path / "x").write_bytes(b"x")

    def fails(*given: Any, **how: Any) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "read_bytes", fails)
    with pytest.raises(ReadError, match="x: cannot be read: Input/output error"):
        bytes_of(tmp_path / "x")


def test_text_without_the_mark_before_it(tmp_path: Path) -> None:
    for encoding in ("utf-8", "utf-8-sig"):
        (tmp_path / "table.txt").write_text("# ä\n1", encoding=encoding)
        assert text_of(tmp_path / "table.txt", "a table") == "# ä\n1"
    (tmp_path / "table.txt").write_text("1", encoding="utf-16")
    with pytest.raises(ReadError, match="cannot be read as a table: it is no text"):
        text_of(tmp_path / "table.txt", "a table")


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _long(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


@pytest.mark.parametrize("odd", [_pipe, _long])
def test_what_lies_where_an_earlier_run_wrote_is_not_waited_at(odd: Callable[[Path], None], tmp_path: Path) -> None:
    odd(tmp_path / "report.json")
    odd(tmp_path / "digests.json")
    odd(tmp_path / "index.json")
    with pytest.raises(OSError, match=r"not a file|too large"):
        own_text(tmp_path / "report.json")
    assert files_of_report(tmp_path) == []
    assert report_in(tmp_path) is None
    with pytest.raises(ReadError, match="does not read"):
        Dumped(tmp_path)


@pytest.mark.parametrize("odd", [_pipe, _long])
def test_a_cache_and_a_list_of_conversions_of_odd_files(odd: Callable[[Path], None], tmp_path: Path) -> None:
    models = tmp_path / "models"
    models.mkdir()
    (models / "m.mlir").write_text(STABLEHLO)
    transload.convert_all(models, "tosa", tmp_path / "first", cache=tmp_path / "cache", verify="no")
    kept = [file for name in ("digests.json", "report.json") for file in (tmp_path / "cache").rglob(name)]
    assert len(kept) == 2
    (tmp_path / "out").mkdir()
    for file in kept:
        file.unlink()
        odd(file)
    odd(tmp_path / "out" / "conversions.json")
    if odd is _pipe:
        with pytest.raises(UsageError, match="is a pipe, where a file is to be written"):
            transload.convert_all(models, "tosa", tmp_path / "out", verify="no")
        (tmp_path / "out" / "conversions.json").unlink()
    made = list(transload.convert_all(models, "tosa", tmp_path / "out", cache=tmp_path / "cache", verify="no"))
    assert [(each.exit_code, each.way) for each in made] == [(0, "converted")]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
@pytest.mark.parametrize("place", ["/proc", "/proc/x", "/proc/x/y", "/sys", "/sys/x", "/sys/fs/x", "/dev", "/dev/x", "/dev/x/y"])
def test_a_folder_of_what_the_kernel_says_is_no_place(place, cli, examples):
    """It was told that there is no such file, of what was to be made; and in `/dev` it was made."""
    model = examples / "digits" / "digits_float.onnx"
    code, _, err = cli("convert", model, "-t", "tosa", "-o", place)
    assert code == 2 and f"error: {place} cannot be written: /{place.split('/')[1]}" in err and "-o out" in err
    assert " is what the kernel says" in err
    assert cli("new-plugin", "mine", "-o", place)[::2] == (2, err)
    with pytest.raises(UsageError, match="is what the kernel says"):
        need_place(Path(place) / "x" / "y")


@pytest.mark.skipif(sys.platform != "linux", reason="they are Linux's")
def test_what_is_just_a_folder_or_a_disk_is_a_place(monkeypatch):
    """As where another root is set up; and a disk may be mounted below `/dev`."""
    with pytest.raises(UsageError, match="/dev/pts is what the kernel says"):
        need_place(Path("/dev/pts/x"))
    with monkeypatch.context() as room:
        room.setattr(os, "statvfs", lambda path: SimpleNamespace(f_blocks=1))
        need_place(Path("/dev/pts/x"))
    monkeypatch.setattr(Path, "is_mount", lambda path: False)
    for place in ("/proc", "/sys", "/dev"):
        need_place(Path(place, "x"))


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="there is no /dev/shm")
def test_shared_memory_is_a_place():
    with TemporaryDirectory(dir="/dev/shm") as folder:
        need_directory(Path(folder) / "x" / "y")
        need_place(Path(folder) / "x")
    need_place(Path("/dev/shm/x"))


def test_a_folder_that_takes_no_other_is_named(tmp_path, monkeypatch):
    """As the file systems of some programs answer: there is no such file, of what was to be made."""
    def none(self, *given, **more):
        raise FileNotFoundError(2, "No such file or directory", str(self))

    monkeypatch.setattr(Path, "mkdir", none)
    for write in (atomic_path, replaced_folder):
        with pytest.raises(TransloadError, match=f"no folder can be made in {tmp_path}"), write(tmp_path / "new" / "out"):
            pass


def test_where_proc_is_just_a_folder_every_place_is_one(monkeypatch, tmp_path):
    """In a container without it every place lay on its disk, and was refused."""
    monkeypatch.setattr(Path, "is_mount", lambda self: False)
    monkeypatch.setattr("transload.files.Path", lambda *parts: tmp_path if parts == ("/proc",) else Path(*parts))
    need_directory(tmp_path / "out")


@pytest.mark.parametrize("make", [need_place, need_directory])
@pytest.mark.parametrize("place", ["x", "there", "new/deep/x"])
def test_a_place_that_may_not_be_written_to_is_told_beforehand(
    make: Any, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = tmp_path / "there"
    if make is need_place:
        there.write_text("")
    else:
        there.mkdir()
    make(tmp_path / place)
    monkeypatch.setattr("os.access", lambda path, rights: not Path(path).is_relative_to(tmp_path))
    with pytest.raises(UsageError, match="may not make files in"):
        make(tmp_path / place)
