"""Sizes that the user says reach a plugin's reader, too, which knows nothing of batches and names: core settles them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.context import Context
from transload.errors import ConversionError, ReadError, UsageError
from transload.input_shapes import SizesMissing, sizes_given, static_inputs, static_shapes
from transload.ir import F32, Module, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.plugin import Reader
from transload.plugin_host import Host


def of_one_op(shape: tuple[int | None, ...], name: str, **attributes: Any) -> Module:
    module = new_module()
    function = module.add_function("main", [TensorType(shape, F32)], ["in"])
    block = function.regions[0].block
    set_results(function, [Builder(block).emit(name, block.arguments[0], **attributes)], ["out"])
    return module


def relu(shape: tuple[int | None, ...]) -> Module:
    return of_one_op(shape, "top.Relu")


def sums(shape: tuple[int | None, ...]) -> Module:
    return of_one_op(shape, "top.CumSum", axis=0)


def read(source: Any, inputs: Mapping[str, TensorType]) -> Module:
    """`open` takes what is asked for, and `sums` is an op of known sizes alone; `deaf` does not."""
    word, *sizes = bytes(source.data).decode().split()
    shape = tuple(None if size == "?" else int(size) for size in sizes)
    asked = inputs["in"].shape if "in" in inputs and word != "deaf" else None
    return (sums if word == "sums" else relu)(shape if asked is None else tuple(asked))


@pytest.fixture(autouse=True)
def reader() -> Iterator[None]:
    class Plugin:
        @transload.hookimpl
        def register_readers(self, register: Callable[[Reader], None]) -> None:
            register(Reader("hut", "top", (".hut",), read))

    own = Host()
    own.register(Plugin(), "huts")
    with Context(own).bind():
        yield


def model(folder: Path, text: str) -> Path:
    (folder / "a.hut").write_text(text)
    return folder / "a.hut"


def shape_of(module: Module) -> Any:
    return module.inputs["in"].shape  # type: ignore[attr-defined]


def test_what_nobody_says_stays_open_or_is_one_batch(tmp_path: Path) -> None:
    file = model(tmp_path, "open ? 12")
    assert shape_of(transload.load(file)) == (None, 12)
    with static_inputs():
        read_ = transload.load(file)
    assert shape_of(read_) == (1, 12) and any("was taken for the batch and made 1" in note for note in read_.notes)
    made = transload.convert(file, "tosa", tmp_path / "out", verify=False)
    assert made.report.inputs[0].type == "tensor<1x12xf32>"
    assert any("was taken for the batch" in note for note in made.report.notes)


def test_the_batch_is_obeyed(tmp_path: Path, cli: Any) -> None:
    file = model(tmp_path, "open ? 12")
    with sizes_given(batch=4):
        assert shape_of(transload.load(file)) == (4, 12)
    code, said, _ = cli("convert", file, "-t", "tosa", "--batch", "4", "--no-verify", "-o", tmp_path / "out")
    assert code == 0 and "tensor<4x12xf32>" in said
    assert shape_of(transload.load(file, inputs={"in": (5, 12)})) == (5, 12)


@pytest.mark.parametrize(("text", "sizes", "said"), [
    ("open 3 12", {"batch": 4}, "no input leaves the size of its batch open, so it cannot be 4"),
    ("open ? 12", {"named": {"n": 3}}, "no input has a dimension called 'n'"),
    ("deaf ? 12", {"batch": 4}, r"input 'in' was to be of shape \(4, 12\), and reader 'hut' made it tensor<\?x12xf32>")])
def test_what_is_of_no_use_is_refused(text: str, sizes: dict[str, Any], said: str, tmp_path: Path) -> None:
    with sizes_given(**sizes), pytest.raises(UsageError, match=said):
        transload.load(model(tmp_path, text))


def test_open_sizes_are_asked_for_with_an_example(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="the model's inputs have no static shape") as raised:
        transload.convert(model(tmp_path, "open ? ? 12"), "tosa", tmp_path / "out")
    assert "--shape in:" in raised.value.hint


def test_a_reader_that_takes_no_sizes_is_left_alone_where_nobody_says_any(tmp_path: Path) -> None:
    with static_inputs():
        assert shape_of(transload.load(model(tmp_path, "deaf ? 12"))) == (None, 12)


def open_model(path: Path, baked: list[int]) -> None:
    """Numbers of an open length that a Reshape takes for one of fixed sizes, which no inference of shapes sees."""
    onnx = pytest.importorskip("onnx")
    helper, numbers = onnx.helper, onnx.numpy_helper
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", "shape"], ["y"])], "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["batch", "sequence", 4])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [numbers.from_array(np.array(baked, np.int64), "shape")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def test_example_for_sizes_that_are_baked_in_is_one_that_converts(tmp_path: Path) -> None:
    open_model(tmp_path / "m.onnx", [1, 6, 2, 2])
    with pytest.raises(ReadError) as raised:
        transload.load(tmp_path / "m.onnx")
    assert raised.value.hint == "say them, for example: --shape x:1x6x4"


def test_example_has_the_shape_that_is_given_of_an_input_declared_alike(tmp_path: Path) -> None:
    """It was likely by itself, 1x1x8, and could not be added to what was given."""
    pytest.importorskip("jaxlib")
    t = "tensor<?x?x8xf32>"
    (tmp_path / "m.mlir").write_text(f"""
        func.func public @main(%a: {t}, %b: {t}) -> {t} {{
          %y = stablehlo.add %a, %b : {t}
          return %y : {t}
        }}""")
    with pytest.raises(ReadError) as raised:
        transload.convert(tmp_path / "m.mlir", "tosa", tmp_path / "out", inputs={"arg0": (3, 5, 8)})
    assert raised.value.hint == "say them, for example: --shape arg1:3x5x8"


def test_where_no_size_fits_those_that_were_tried_are_said(tmp_path: Path) -> None:
    open_model(tmp_path / "m.onnx", [1, 7, 2, 5])
    with pytest.raises(ReadError) as raised:
        transload.load(tmp_path / "m.onnx")
    assert "seems to be for fixed sizes" in raised.value.hint and "sequence=7" in raised.value.hint


def test_batch_is_the_size_that_has_its_name(tmp_path: Path) -> None:
    """Of steps x batch x features the file itself says which size is the batch: the steps are asked for."""
    declared = {"x": ["T", "N", 8]}
    with pytest.raises(SizesMissing) as raised:
        static_shapes(declared, {}, "m")
    assert raised.value.inputs == {"x": ["T", 1, 8]}
    with sizes_given({"T": 5}, 4):
        assert static_shapes(declared, {}, "m").shapes == {"x": (5, 4, 8)}
    assert static_shapes({"x": [None, "N", 3]}, {"x": (None, 7, 3)}, "m").shapes == {"x": (1, 7, 3)}  # N points


def test_what_a_target_takes_of_a_batch_of_one_is_inspected_so(tmp_path: Path, cli: Any) -> None:
    file = model(tmp_path, "sums ? 12")
    assert transload.inspect(file).inputs["in"].shape == (None, 12)  # type: ignore[attr-defined]
    found = transload.inspect(file, "tosa")
    assert found.takes and found.inputs["in"].shape == (1, 12)  # type: ignore[attr-defined]
    assert any("was taken for the batch and made 1" in note for note in found.notes)
    code, said, _ = cli("inspect", file, "-t", "tosa")
    assert code == 0 and "tosa takes all of it" in said


def test_what_only_the_user_knows_is_a_finding_of_inspect(tmp_path: Path) -> None:
    found = transload.inspect(model(tmp_path, "sums ? ? 12"), "tosa")
    assert found.takes is False and found.refusal is not None
    assert found.refusal.hint.endswith("transload.load(..., inputs={'in': (1, SIZE, 12)})")
    assert transload.inspect(model(tmp_path, "sums ? 12"), "tosa", inputs={"in": (7, 12)}).takes


def test_lowering_says_that_sizes_are_open_and_how_they_are_given(tmp_path: Path) -> None:
    file = model(tmp_path, "sums ? 12")
    with pytest.raises(ConversionError, match=r"sizes of its inputs are open \('in' is tensor<\?x12xf32>\)") as raised:
        transload.lower(transload.load(file), "tosa")
    assert raised.value.hint.endswith("transload.load(..., inputs={'in': (1, 12)})")
    assert transload.lower(transload.load(file, inputs={"in": (1, 12)}), "tosa").inputs


def test_models_of_open_sizes_are_scored_on_samples(tmp_path: Path, cli: Any) -> None:
    file = model(tmp_path, "sums ? 12")
    np.save(tmp_path / "s.npy", np.ones((3, 12), np.float32))
    code, said, errors = cli("eval", file, file, "--data", tmp_path / "s.npy", "--metric", "sqnr")
    assert code == 0, said + errors
