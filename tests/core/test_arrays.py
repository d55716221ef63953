"""`.npz` files: known by their headers, read when it comes to that; written whatever the arrays are called."""

from __future__ import annotations

import io
import os
import resource
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import transload
from transload.arrays import as_array, open_array, read_arrays, write_arrays
from transload.budget import allowed
from transload.cli import run as command
from transload.errors import ReadError, RunError, TransloadError
from transload.ir import BF16, F32, TensorType
from transload.testing import build_module


@pytest.fixture
def bomb(tmp_path: Path) -> Path:
    """An array `x` of a gigabyte of zeros in a megabyte, and an honest `y`."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (1 << 28,)})
    path = tmp_path / "bomb.npz"
    zeros = bytes(1 << 24)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("x.npy", "w", force_zip64=True) as member:
            member.write(header.getvalue())
            for _ in range(64):
                member.write(zeros)
        archive.writestr("y.npy", _npy(np.arange(3)))
    return path


def _npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_what_does_not_fit_is_refused_unread(bomb: Path, monkeypatch: Any) -> None:
    def forbidden(*arguments: Any, **named: Any) -> Any:
        raise AssertionError("was read")

    arrays = read_arrays(bomb)
    monkeypatch.setattr(np.lib.format, "read_array", forbidden)
    assert arrays["x"].shape == (1 << 28,)
    module = build_module([TensorType((4,), F32)], lambda b, x: b.emit("top.Relu", x), ["x"])
    with pytest.raises(RunError, match=r"has shape .*268435456") as caught:
        transload.run(module, arrays)
    assert "'y': is not an input" in str(caught.value)


@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_inputs_are_looked_at_before_they_are_copied(engine: str) -> None:
    """What repeats one number, or lies in a file of holes, took as much memory as it says before its shape was refused."""
    module = build_module([TensorType((4,), F32)], lambda b, x: b.emit("top.Relu", x), ["x"])
    for shape, dtype, says in (((1 << 44,), np.float32, "has shape"), ((4,), np.dtype("V0"), "is .V0, and must be float32")):
        with pytest.raises(RunError, match=says):
            transload.run(module, {"x": np.broadcast_to(np.zeros((), dtype), shape)}, engine=engine)


def test_what_is_of_another_type_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "x.npz", x=np.zeros(4, np.complex64))
    arrays = read_arrays(tmp_path / "x.npz")
    monkeypatch.delattr(np.lib.format, "read_array")
    module = build_module([TensorType((4,), F32)], lambda b, x: b.emit("top.Relu", x), ["x"])
    with pytest.raises(RunError, match="is complex64, and must be float32"):
        transload.run(module, arrays)


@pytest.mark.parametrize("dtype", ["|V0", "|S0", "<U0"])
def test_elements_of_no_bytes_are_refused(dtype: str, tmp_path: Path) -> None:
    """As many of them as one likes are in a file of any size, and who goes through them does not come to an end."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": dtype, "fortran_order": False, "shape": ((1 << 63) - 1,)})
    (tmp_path / "x.npy").write_bytes(header.getvalue() + bytes(64))
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.write(tmp_path / "x.npy", "x.npy")
    for read in (lambda: open_array(tmp_path / "x.npy"), lambda: read_arrays(tmp_path / "x.npz")):
        with pytest.raises(ReadError, match="elements of no bytes"):
            read()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("command", ["run", "compare", "convert"])
def test_commands_refuse_it_in_little_memory(bomb: Path, examples: Path, tmp_path: Path, command: str) -> None:
    model = str(examples / "digits" / "digits_float.onnx")
    more = {"run": ["-i", str(bomb)], "compare": [model, "-i", str(bomb)],
            "convert": ["--input-data", str(bomb), "-o", str(tmp_path / "out")]}[command]
    limit = 700 << 20
    done = subprocess.run(
        [sys.executable, "-m", "transload", command, model, *more], capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)), env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode in (2, 3), done.stderr
    assert "input" in done.stderr
    assert "Traceback" not in done.stderr
    assert "memory" not in done.stderr


@pytest.mark.parametrize("names", [
    ["file", "allow_pickle", "self", "args", "kwds"], ["a/b:0", "../up", "x.npy", "x", ""], ["naïve ☃", "a" * 300]])
def test_any_name_is_written_and_read_again(tmp_path: Path, names: list[str]) -> None:
    arrays = {name: np.full((2,), number) for number, name in enumerate(names)}
    write_arrays(tmp_path / "out.npz", arrays)
    again = read_arrays(tmp_path / "out.npz")
    assert list(again) == names
    for name, array in arrays.items():
        np.testing.assert_array_equal(as_array(again[name]), array)
    with np.load(tmp_path / "out.npz") as archive:
        assert archive.files == names


@pytest.mark.parametrize("name", ["a\0b", "a" * 70_000])
def test_a_name_that_no_archive_holds_is_said_and_nothing_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(TransloadError, match="cannot write array"):
        write_arrays(tmp_path / "out.npz", {name: np.zeros(2)})
    assert not list(tmp_path.iterdir())


def test_names_that_are_no_text_are_spelt_out(tmp_path: Path) -> None:
    write_arrays(tmp_path / "out.npz", {"a\udcff": np.zeros(2)})
    assert list(read_arrays(tmp_path / "out.npz")) == ["a\\udcff"]


def test_what_was_written_of_inputs_so_named_goes_in_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An archive has the name spelt out, and messages too, from which a user copies it."""
    module = build_module(
        [TensorType((None, 2), F32), TensorType((None, 2), F32)], lambda b, x, y: b.emit("top.Sub", x, y), ["a\udcff", "b"])
    model, all_of_them, one = tmp_path / "model.mlir", tmp_path / "all.npz", tmp_path / "one.npy"
    transload.save(module, model)
    arrays = {"a\udcff": np.ones((3, 2), np.float32), "b": np.zeros((3, 2), np.float32)}
    write_arrays(all_of_them, arrays)
    np.save(one, arrays["b"])
    assert transload.run(model, {**read_arrays(all_of_them)}).popitem()[1].tolist() == [[1, 1]] * 3
    for given in (["-i", str(all_of_them)], ["-i", f"b={one}", "-i", f"a\\udcff={all_of_them}"],
                  ["--shape", "a\\udcff:3x2", "--shape", "b:3x2"]):
        assert command(["run", str(model), *given]) == 0, capsys.readouterr().err
    out = tmp_path / "out"
    assert command(["convert", str(model), "-t", "stablehlo", "-o", str(out), "-i", str(all_of_them)]) == 0
    assert command(["run", str(out), "-i", str(all_of_them)]) == 0
    assert command(["eval", str(model), str(out), "--data", str(all_of_them), "--metric", "equal"]) == 0


def test_numbers_that_numpy_does_not_know_come_back(tmp_path: Path) -> None:
    module = build_module([TensorType((3,), BF16)], lambda b, x: b.emit("top.Relu", x), ["x"])
    x = np.array([-1, 0, 2.5], ml_dtypes.bfloat16)
    write_arrays(tmp_path / "x.npz", {"x": x})
    np.testing.assert_array_equal(transload.run(module, read_arrays(tmp_path / "x.npz"))["y"], np.maximum(x, 0))


def test_damage_is_said(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez_compressed(path, x=np.arange(10_000), y=np.arange(3))
    whole = path.read_bytes()
    for cut in (0, 10, len(whole) // 2, len(whole) - 3):
        path.write_bytes(whole[:cut])
        with pytest.raises(ReadError, match=r"not an \.npz"):
            read_arrays(path)
    spoilt = bytearray(whole)
    spoilt[2000:2100] = bytes(100)
    path.write_bytes(spoilt)
    with pytest.raises(ReadError, match="cannot be read"):
        as_array(read_arrays(path)["x"])
    np.savez(path, x=np.array([{}]))
    with pytest.raises(ReadError, match="Python objects"):
        read_arrays(path)
    with pytest.raises(ReadError, match="no such file"):
        read_arrays(tmp_path / "none.npz")


@pytest.mark.parametrize("header", [
    b"{'shape': (3,), 'fortran_order': False, 'descr': '<f4'", b"{'shape': (3,\n  1\n 2", b"(", b'"""', b"\x00", b"{'shape': 3}",
    b"{'shape': (10**400,), 'fortran_order': False, 'descr': '<f4'}", b"{'shape': ('a',), 'fortran_order': 0, 'descr': []}"])
@pytest.mark.parametrize("version", [1, 2])
def test_headers_that_numpy_cannot_make_tokens_of(header: bytes, version: int, tmp_path: Path) -> None:
    """numpy reads what Python 2 wrote once more, token by token, and raises what that raises."""
    size = len(header).to_bytes(2 if version == 1 else 4, "little")
    content = b"\x93NUMPY" + bytes([version, 0]) + size + header + bytes(16)
    (tmp_path / "x.npy").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("x.npy", content)
    with pytest.raises(ReadError, match=r"is not an \.npy"):
        open_array(tmp_path / "x.npy")
    with pytest.raises(ReadError, match=r"is not an \.npz"):
        read_arrays(tmp_path / "x.npz")


def test_a_header_that_holds_code_is_said_without_addresses(tmp_path: Path) -> None:
    """It is never run; numpy's words had the address of what was found."""
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (print(1),)}\n"
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(64))
    with pytest.raises(ReadError, match="its header is not the values of a dictionary"):
        open_array(tmp_path / "x.npy")


@pytest.mark.parametrize("shape", ["(True, 1)", "(-3,)"])
def test_sizes_that_are_no_counts_are_damage(shape: str, tmp_path: Path) -> None:
    """What holds the data asked for a tuple of sizes, in a programmer's words."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(4))
    with pytest.raises(ReadError, match=r"x\.npz"):
        read_arrays(tmp_path / "x.npz")


def test_what_numpy_advises_of_such_files_is_not_repeated(tmp_path: Path) -> None:
    """To trust them, and to have them unpickled."""
    np.save(tmp_path / "objects.npy", np.array([{}], object))
    np.savez(tmp_path / "objects.npz", np.array([{}], object))
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), " + b" " * 20_000 + b"}\n"
    long = b"\x93NUMPY\x02\x00" + len(header).to_bytes(4, "little") + header + bytes(4)
    (tmp_path / "long.npy").write_bytes(long)
    with zipfile.ZipFile(tmp_path / "long.npz", "w") as archive:
        archive.writestr("x.npy", long)
    for name, says in (("objects", "Python objects, which are never read"), ("long", "header is longer than 10,000 characters")):
        for read, end in ((open_array, "npy"), (read_arrays, "npz")):
            with pytest.raises(ReadError, match=says) as caught:
                read(tmp_path / f"{name}.{end}")
            assert "pickle" not in str(caught.value) and "max_header" not in str(caught.value)


def test_a_shape_whose_elements_cannot_be_counted_is_said_alone(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 4), }" % (1 << 62)
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(64))
    with pytest.raises(ReadError, match=r"is not an \.npy of a plain array"):
        open_array(tmp_path / "x.npy")
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.write(tmp_path / "x.npy", "x.npy")
    with pytest.raises(ReadError, match=r"x\.npz"):
        read_arrays(tmp_path / "x.npz")["x"].numpy()
    assert not list(recwarn)


def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    """Which of them is meant nobody can tell; numpy takes the last, and others the first."""
    file = tmp_path / "twice.npz"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("x.npy", _npy(np.arange(3)))
        archive.writestr("x", _npy(np.arange(4)))
    with pytest.raises(ReadError, match="has two members 'x'"):
        read_arrays(file)


def test_what_unpacks_to_a_thousand_times_as_much_is_refused(bomb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of open sizes a model takes it, so the shape alone does not say; the budget allows it."""
    with pytest.raises(ReadError, match="become 1,073,741,824; only zeros and the like pack so") as caught:
        as_array(read_arrays(bomb)["x"])
    assert "TRANSLOAD_BUDGET=grown=1073741824" in caught.value.hint
    zeros = np.broadcast_to(np.float32(0), (1 << 28,))
    monkeypatch.setattr(np.lib.format, "read_array", lambda *arguments, **named: zeros)
    with allowed(grown=1 << 30):
        assert as_array(read_arrays(bomb)["x"]) is zeros


def test_a_member_is_packed_in_no_more_than_its_file(bomb: Path) -> None:
    data = bytearray(bomb.read_bytes())
    at = data.rfind(b"PK\x01\x02") + 20  # where the archive says in how many bytes
    data[at:at + 4] = (0x7FFF_FFFF).to_bytes(4, "little")
    bomb.write_bytes(data)
    with pytest.raises(ReadError, match="become 1,073,741,824"):
        as_array(read_arrays(bomb)["x"])


@pytest.mark.parametrize("name", [
    "bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float4_e2m1fn", "float8_e8m0fnu", "int4", "uint4"])
@pytest.mark.parametrize("shape", [(), (2, 3), (0,)])
def test_numbers_that_numpy_lacks_are_read_as_their_bytes(name: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    """Of float8_e5m2 numpy writes a type that it does not read."""
    x = np.resize(np.arange(1, 3), shape).astype(np.dtype(getattr(ml_dtypes, name)))
    write_arrays(tmp_path / "x.npz", {"x": x})
    read = as_array(read_arrays(tmp_path / "x.npz")["x"])
    assert read.shape == shape and read.tobytes() == x.tobytes()


def test_elements_that_are_arrays_are_refused(tmp_path: Path) -> None:
    """They failed as constants of the model do, and as a defect."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": ("<f4", (2,)), "fortran_order": False, "shape": (1, 1)})
    with zipfile.ZipFile(tmp_path / "sub.npz", "w") as archive:
        archive.writestr("x.npy", header.getvalue() + bytes(8))
    with pytest.raises(ReadError, match="member 'x' has elements that are arrays of their own"):
        read_arrays(tmp_path / "sub.npz")


def test_many_small_ones_are_as_much_as_a_large_one(tmp_path: Path) -> None:
    path = tmp_path / "bombs.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in "abcd":
            archive.writestr(f"{name}.npy", _npy(np.zeros(1 << 18, np.uint8)))
        archive.writestr("e.npy", _npy(np.arange(1 << 10)))
    with allowed(grown=3 << 18):
        arrays = read_arrays(path)
        for name in "abca":
            assert arrays[name].numpy().shape == (1 << 18,)
        with pytest.raises(ReadError, match=r"become 262,144 \(1,048,576 with others of its kind\)") as caught:
            arrays["d"].numpy()
        assert "grown=1048576" in caught.value.hint and arrays["e"].numpy()[5] == 5
        with allowed(grown=4 << 18):
            assert not arrays["d"].numpy().any()


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_unpack_to_any_size_at_once(method: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kilobyte of bzip2 took two gigabytes for the header alone."""
    monkeypatch.delattr(zipfile.ZipExtFile, "read")
    for name, member, read in (("a.npz", "x.npy", read_arrays), ("a.keras", "config.json", transload.load)):
        with zipfile.ZipFile(tmp_path / name, "w", method) as archive:
            archive.writestr(member, _npy(np.zeros(1 << 10)))
        with pytest.raises(ReadError, match=r"is compressed by (bzip2|lzma); deflate is what is read"):
            read(tmp_path / name)


@pytest.mark.parametrize("version", [2, 3])
def test_headers_of_gigabytes_are_not_read(version: int, tmp_path: Path) -> None:
    head = b"\x93NUMPY" + bytes([version, 0]) + (2**31 - 2).to_bytes(4, "little")
    with (tmp_path / "a.npy").open("wb") as file:
        file.write(head)
        file.truncate(1 << 33)  # of no bytes on the disk
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", head + bytes(1 << 20))
    for read in (lambda: open_array(tmp_path / "a.npy"), lambda: read_arrays(tmp_path / "a.npz")):
        with pytest.raises(ReadError, match="its header is longer than 10,000 characters"):
            read()
