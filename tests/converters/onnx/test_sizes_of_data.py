"""Sizes that a model leaves open are those of the data: of `--data` as of `--input`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import transload
from transload.errors import ReadError, UsageError
from transload.ir import Module, TensorType
from transload.samples.samples import Data
from transload.sizes_of_data import sizes_from

Image = pytest.importorskip("PIL.Image")
CONV, SEQUENCE = ["N", 3, "H", "W"], ["N", "seq", 8]


def model(folder: Path, **inputs: Sequence[Any]) -> Path:
    """The sum of its inputs, of which any size may be open."""
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    node = helper.make_node("Sum", list(inputs), ["s"])
    graph = helper.make_graph([node, helper.make_node("Relu", ["s"], ["y"])], "g", given, [out])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "m.onnx")
    return folder / "m.onnx"


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def shape_in(module: Module) -> Any:
    type_ = module.inputs["x"]
    assert isinstance(type_, TensorType)
    return type_.shape


def generated() -> Iterator[dict[str, np.ndarray]]:
    yield {"x": zeros(6, 8)}


@pytest.mark.parametrize(("shape", "data", "made"), [
    (SEQUENCE, zeros(16, 6, 8), (1, 6, 8)), (SEQUENCE, zeros(1, 6, 8), (1, 6, 8)), (SEQUENCE, [zeros(6, 8)], (1, 6, 8)),
    (SEQUENCE, zeros(16, 1, 6, 8), (1, 6, 8)), (SEQUENCE, {"x": zeros(2, 6, 8)}, (1, 6, 8)), (SEQUENCE, generated(), (1, 6, 8)),
    (CONV, zeros(16, 3, 5, 4), (1, 3, 5, 4)), (["N", 3, 5, "W"], zeros(2, 3, 5, 4), (1, 3, 5, 4)),
    (["height", "width", 3], zeros(6, 5, 4, 3), (5, 4, 3)), (["height", "width", 3], zeros(5, 4, 3), (5, 4, 3)),
    (["N", "N"], zeros(3, 4, 4), (4, 4)), (["N", 1, "seq"], zeros(16, 9), (1, 1, 9)),
])
def test_of_samples(tmp_path: Path, shape: Sequence[Any], data: Any, made: tuple[int, ...]) -> None:
    file = model(tmp_path, x=shape)
    with sizes_from(data=data) as sizes:
        module = transload.load(file)
    assert shape_in(module) == made and sizes.data is not None
    assert any("the model leaves sizes of it open" in note for note in module.notes)
    assert module.reading == ("--shape", f"x:{'x'.join(map(str, made))}")
    assert {sample["x"].shape for sample in sizes.data.open(module)} == {made}


@pytest.mark.parametrize(("inputs", "data", "error", "said"), [
    ({"x": CONV}, zeros(16, 4, 5, 4), UsageError, r"samples of shape \(4, 5, 4\) .* takes 1x3x\?x\?"),
    ({"x": CONV}, [zeros(4, 5, 4)], UsageError, r"sample 1: input 'x' is given .*\(4, 5, 4\), and takes 1x3x\?x\?"),
    ({"x": SEQUENCE}, [zeros(6, 8), zeros(7, 8)], UsageError, r"sample 2: .*\(7, 8\), and takes .*, as sample 1 has it"),
    ({"a": SEQUENCE, "b": SEQUENCE}, {"a": zeros(2, 6, 8), "b": zeros(2, 7, 8)}, UsageError, "'b' cannot be 7: size 'seq'"),
    ({"x": SEQUENCE}, [], ReadError, "no static shape"),
])
def test_refused(tmp_path: Path, inputs: Mapping[str, Any], data: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        transload.convert(model(tmp_path, **inputs), "tosa", tmp_path / "out", data=data, verify="no", quantize="int8")


def test_what_is_said_goes_before(tmp_path: Path) -> None:
    file = model(tmp_path, x=SEQUENCE)
    artifact = transload.convert(file, "tosa", tmp_path / "out", data=zeros(4, 6, 8), verify="no", quantize="int8")
    assert any(note == "input 'x' is made 1x6x8, as the array[0] is: the model leaves sizes of it open"
               for note in artifact.report.notes)
    with sizes_from(data=zeros(4, 6, 8)):
        assert shape_in(transload.load(file, inputs={"x": (1, 5, 8)})) == (1, 5, 8)
    scores = transload.evaluate([file, tmp_path / "out"], zeros(4, 6, 8) + 1, metrics=["sqnr"])
    assert scores.samples == 4


def test_of_images(tmp_path: Path) -> None:
    folder, file = tmp_path / "images", model(tmp_path, x=CONV)
    folder.mkdir()
    for number, size in enumerate([(7, 5), (7, 5), (7, 6)]):
        Image.new("RGB", size).save(folder / f"{number}.png")
    assert transload.run(file, {"x": folder / "0.png"})["y"].shape == (1, 3, 5, 7)
    with sizes_from(data=Data(folder, count=2)):
        assert shape_in(transload.load(file)) == (1, 3, 5, 7)
    with sizes_from(data=folder), pytest.raises(UsageError, match=r"2.png is 1x3x6x7, and .*0.png 1x3x5x7"):
        transload.load(file)
    with sizes_from(data=folder, preprocess=transload.Preprocess(resize_dims=(9, 8))):
        assert shape_in(transload.load(file)) == (1, 3, 9, 8)
    turned = Image.new("RGB", (7, 5))
    turned.getexif()[0x0112] = 6
    turned.save(tmp_path / "turned.png", exif=turned.getexif())
    assert transload.run(file, {"": tmp_path / "turned.png"})["y"].shape == (1, 3, 7, 5)


@pytest.mark.parametrize("shape", [["N", 3, 5, "W"], ["N", "C", "H", "W"], ["N", "seq", 8]])
def test_images_that_say_no_sizes(tmp_path: Path, shape: Sequence[Any]) -> None:
    Image.new("RGB", (7, 5)).save(tmp_path / "a.png")
    with pytest.raises(ReadError, match="no static shape"):
        transload.run(model(tmp_path, x=shape), {"x": tmp_path / "a.png"})
