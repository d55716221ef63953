"""Archives of PyTorch 2.2 to 2.7, whose tensors `torch.save` wrote: read as they are, and no pickle in them is run."""

from __future__ import annotations

import io
import json
import pickle
import pickletools
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ReadError
from transload.testing import check_reader

from .conftest import KEPT
from .test_archive import members, written
from tests.networks.journey import assert_near, fitted

OLD = sorted((KEPT / "old").glob("*.pt2"))
PROGRAM, STATE = "serialized_exported_program.json", "serialized_state_dict.pt"
NEWEST = OLD[-1]


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_what_older_versions_wrote_is_what_they_computed(path: Path) -> None:
    with np.load(path.with_suffix(".npz")) as held:
        given, wanted = [held["in0"]], [held["out0"], held["out1"]]
    program = transload.load(path)
    assert {"c.weight", "b.running_var", "c", "relu"} <= {op.origin for op in program.ops()}
    constants = [op.attributes["value"].data.numpy() for op in program.ops() if op.name == "aten.Constant"]
    assert len(constants) == 11 and not any(array.flags.owndata for array in constants)
    hub = transload.legalize(program)
    for what, module in {"the hub": hub, "TOSA": transload.lower(hub, "tosa")}.items():
        inputs = dict(zip(module.inputs, fitted(module, given), strict=True))
        assert_near(list(transload.run(module, inputs, engine="reference").values()), wanted, f"{path.stem}, {what}")


def with_state(path: Path, pickled: bytes) -> Path:
    """The newest archive with another pickle beside its weights."""
    held = members(NEWEST)
    inner = {f"archive/{name}": data for name, data in _inner(held[STATE]).items()} | {"archive/data.pkl": pickled}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in inner.items():
            archive.writestr(name, data)
    return written(path, {**held, STATE: buffer.getvalue()})


def _inner(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name.removeprefix("archive/"): archive.read(name) for name in archive.namelist()}


def own_pickle() -> bytes:
    return _inner(members(NEWEST)[STATE])["data.pkl"]


class Trap:
    """Whoever unpickles this makes a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.mkdir, (self.folder,)


@pytest.mark.parametrize("protocol", [0, 1, 2, 4, 5])
def test_no_pickle_is_run(tmp_path: Path, protocol: int) -> None:
    trap = tmp_path / "trapped"
    with pytest.raises(ReadError, match="pickles are not run"):
        transload.load(with_state(tmp_path / "m.pt2", pickle.dumps({"c.weight": Trap(trap)}, protocol)))
    assert not trap.exists()


@pytest.mark.parametrize(
    "name", ["os.system", "builtins.eval", "torch._utils._rebuild_sparse_tensor", "torch.load", "torch.FloatStorage"])
def test_nothing_is_called_that_makes_no_tensor(tmp_path: Path, name: str) -> None:
    module, _, function = name.rpartition(".")
    code = own_pickle().replace(b"ctorch._utils\n_rebuild_tensor_v2\n", f"c{module}\n{function}\n".encode())
    with pytest.raises(ReadError, match=f"calls {name}"):
        transload.load(with_state(tmp_path / "m.pt2", code))


def _changed(change: str) -> bytes:
    code = own_pickle()
    if change == "cut":
        return code[: len(code) // 2]
    if change == "empty":
        return b""
    if change == "a list":
        return pickle.dumps([1, 2])
    if change == "numbers":
        return pickle.dumps({"c.weight": 7})
    if change == "endless":
        return b"\x80\x02" + b"]q\x00" * 2_000_000 + b"."
    if change == "of itself":
        return b"\x80\x02}q\x00X\x01\x00\x00\x00ah\x00s."
    return b"\x80\x02" + b"(" * 10 + b"t" * 40 + b"."


@pytest.mark.parametrize("change", ["cut", "empty", "a list", "numbers", "endless", "of itself", "tuples of nothing"])
def test_damaged_pickles_are_refused(tmp_path: Path, change: str) -> None:
    with pytest.raises(ReadError, match=r"data\.pkl"):
        transload.load(with_state(tmp_path / "m.pt2", _changed(change)))


@pytest.mark.parametrize(("before", "after"), [
    (b"K\x1bK\tK\x03K\x01", b"M\xff\xffK\tK\x03K\x01"), (b"K\x04K\x03K\x03K\x03", b"K\x40K\x03K\x03K\x03")])
def test_tensors_beyond_their_bytes_are_refused(tmp_path: Path, before: bytes, after: bytes) -> None:
    """Another stride, and more filters, of the convolution's 108 numbers."""
    code = own_pickle()
    assert before in code
    with pytest.raises(ReadError, match="needs"):
        transload.load(with_state(tmp_path / "m.pt2", code.replace(before, after, 1)))


def _of_each_other(levels: int) -> bytes:
    """A tuple of two that are the one before it, and so on: its text and its hash double with each level."""
    return b"K\x01" + b"".join(b"q" + bytes([level]) + b"h" + bytes([level]) + b"\x86" for level in range(levels))


@pytest.mark.parametrize("value", [_of_each_other(200), b"K\x01" + b"\x85" * 200_000], ids=["of each other", "deep"])
@pytest.mark.parametrize(("before", "after"), [
    (b"}", b"K\x01s."), (b"}(", b"K\x01u."), (b"", b")R."), (b"", b"X\x01\0\0\0a\x93)R."), (b"X\x01\0\0\0a", b"\x93)R."),
    (b"(X\x07\0\0\0storage", b"X\x01\0\0\x000X\x03\0\0\0cpuK\x01tQ.")],
    ids=["key", "keys", "call", "module", "name", "storage"])
def test_tuples_without_end_are_no_texts_and_no_keys(tmp_path: Path, before: bytes, after: bytes, value: bytes) -> None:
    with pytest.raises(ReadError, match=r"data\.pkl"):
        transload.load(with_state(tmp_path / "m.pt2", b"\x80\x02" + before + value + after))


def test_the_version_and_the_way_out_are_told(tmp_path: Path) -> None:
    held = members(OLD[0])
    document = json.loads(held[PROGRAM])
    document["schema_version"] = 1
    with pytest.raises(ReadError, match=r"version 1 of torch.export's schema, of PyTorch 2.1, and 2 to 8 are read") as caught:
        transload.load(written(tmp_path / "m.pt2", {**held, PROGRAM: json.dumps(document).encode()}))
    assert caught.value.hint == "export the network again, with PyTorch 2.8 or later"


def test_instructions_that_are_followed_are_those_that_are_there() -> None:
    assert {"BINPERSID", "REDUCE", "SETITEMS"} <= {code.name for code, _, _ in pickletools.genops(own_pickle())}


def test_mutated_archives_end_in_one_error() -> None:
    assert check_reader(NEWEST.read_bytes(), "pytorch", count=300)["refused"] > 100
