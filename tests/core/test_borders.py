"""What a model of unsigned bytes takes and gives: uint8 in every dialect, engine and file, though TOSA holds it in `i8`."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.borders import note_borders
from transload.errors import RunError, TransloadError
from transload.ir import F32, I8, IntAttr, IntegerType, Module, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.text import parse_module, print_module
from transload.verification.inputs import random_inputs
from transload_converters.tflite.writer import ModelWriter

from tests.support.tflite_models import write_operator

UNSIGNED = ([0.05], [100])
HIGH = np.array([[0, 127, 128, 255]], np.uint8)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model of uint8: `out0 = in0 + in0`, saturated."""
    file = tmp_path / "unsigned.tflite"
    shape = (1, 4)
    file.write_bytes(write_operator(
        "ADD", [(shape, "uint8", None, UNSIGNED), (shape, "uint8", None, UNSIGNED)], [(shape, "uint8", None, UNSIGNED)]))
    return file


@pytest.fixture
def inputs() -> dict[str, np.ndarray]:
    return {"in0": HIGH, "in1": np.full((1, 4), 100, np.uint8)}


def elements(module: Module) -> set[str]:
    return {str(type_.element) for type_ in (*module.inputs.values(), *module.outputs.values())}  # type: ignore[attr-defined]


@pytest.mark.parametrize("dialect", ["tfl", "top", "tosa", "stablehlo"])
@pytest.mark.parametrize("engine", ["reference", "xla"])
def test_modules_take_and_give_the_types_of_the_model(model: Path, inputs: Any, dialect: str, engine: str) -> None:
    source = transload.load(model)
    module = source if dialect == "tfl" else transload.lower(source, dialect)
    random = random_inputs(module)
    assert all(array.dtype == np.uint8 for array in random.values())
    (result,) = transload.run(module, inputs, engine=engine).values()
    np.testing.assert_array_equal(result, HIGH)
    assert result.dtype == np.uint8
    with pytest.raises(RunError, match="is int8, and must be uint8"):
        transload.run(module, {**inputs, "in1": inputs["in1"].view(np.int8)}, engine=engine)


def test_the_types_stay_in_text_and_in_stablehlo_made_of_it(model: Path, inputs: Any) -> None:
    text = print_module(transload.lower(transload.load(model)))
    assert text.count("transload.element = ui8") == 3
    read = parse_module(text)
    assert elements(read) == {"ui8"}
    again = transload.lower(read, "stablehlo")
    assert str(again.main.attributes["function_type"]) == "(tensor<1x4xui8>, tensor<1x4xui8>) -> tensor<1x4xui8>"
    assert "transload.element" not in print_module(again)
    np.testing.assert_array_equal(transload.run(again, inputs)["out0"], HIGH)


@pytest.mark.parametrize("suffix", [".tosa", ".mlir"])
def test_artifacts_take_and_give_the_types_of_the_model(model: Path, inputs: Any, tmp_path: Path, suffix: str) -> None:
    made = transload.convert(model, "tosa", tmp_path / "out", options={"mlir": True})
    assert made.verified
    assert {tensor.type for tensor in (*made.report.inputs, *made.report.outputs)} == {"tensor<1x4xui8>"}
    (file,) = [file for file in made.files if file.suffix == suffix]
    np.testing.assert_array_equal(transload.run(file, inputs)["out0"], HIGH)
    comparison = transload.compare(model, file)
    assert comparison.worst("max_abs") == 0
    assert {tensor.dtype for tensor in comparison.tensors} == {"uint8"}


def test_a_file_alone_says_it_by_its_rescales(model: Path, tmp_path: Path) -> None:
    transload.save(transload.lower(transload.load(model)), tmp_path / "alone" / "x.tosa")
    read = transload.load(tmp_path / "alone" / "x.tosa")
    assert elements(read) == {"ui8"}
    assert not read.notes


def moving(element: Any = I8) -> Module:
    """A function of TOSA that only moves bytes."""
    return parse_module(f"""
        "builtin.module"() ({{
          "func.func"() ({{
          ^bb0(%x: tensor<1x4x{element}>):
            %y = "tosa.reverse"(%x) {{axis = 1 : i32}} : (tensor<1x4x{element}>) -> tensor<1x4x{element}>
            "func.return"(%y) : (tensor<1x4x{element}>) -> ()
          }}) {{sym_name = "main", function_type = (tensor<1x4x{element}>) -> tensor<1x4x{element}>}} : () -> ()
        }}) : () -> ()""")


def test_what_nothing_says_is_taken_as_signed_and_said(tmp_path: Path, capsys: Any) -> None:
    transload.save(moving(), tmp_path / "foreign.tosa")
    read = transload.load(tmp_path / "foreign.tosa")
    assert elements(read) == {"i8"}
    assert len(read.notes) == 2
    assert "'arg0' is i8, and nothing says whether it is signed" in read.notes[0]
    from transload.cli import run

    assert run(["run", str(tmp_path / "foreign.tosa")]) == 0
    assert "nothing says whether it is signed" in " ".join(capsys.readouterr().err.split())


def test_bytes_that_are_computed_with_are_signed(tmp_path: Path) -> None:
    module = moving()
    op = module.body_of_main.first
    op.replace_with([Builder(op.parent, op).emit("tosa.clamp", op.operands[0], min_val=IntAttr(-7, I8), max_val=IntAttr(7, I8))])
    transload.save(module, tmp_path / "foreign.tosa")
    assert not transload.load(tmp_path / "foreign.tosa").notes


def test_the_report_beside_a_file_says_it(tmp_path: Path) -> None:
    file = tmp_path / "x.tosa"
    transload.save(moving(), file)
    names = {"inputs": list(transload.load(file).inputs), "outputs": list(transload.load(file).outputs)}
    report = {"files": {"x.tosa": file.stat().st_size}, **{
        side: [{"name": name, "type": "tensor<1x4xui8>"} for name in each] for side, each in names.items()}}
    (tmp_path / "report.json").write_text(json.dumps(report))
    read = transload.load(file)
    assert elements(read) == {"ui8"}
    assert not read.notes
    digest = {"x.tosa": f"sha256:{sha256(file.read_bytes()).hexdigest()}"}
    (tmp_path / "report.json").write_text(json.dumps({**report, "digests": digest}))
    assert elements(transload.load(file)) == {"ui8"}
    of_another = {**report, "digests": {"x.tosa": f"sha256:{sha256().hexdigest()}"}}
    damaged = ({**report, "files": {"x.tosa": 1}}, {**report, "inputs": [], "outputs": 3}, [], {**report, "files": {}})
    for wrong in (of_another, *damaged):
        (tmp_path / "report.json").write_text(json.dumps(wrong))
        assert elements(transload.load(file)) == {"i8"}


def test_an_output_that_is_an_input_is_what_that_is(tmp_path: Path) -> None:
    """In the file it has another name, as it is there twice; the report knows the one that the model has."""
    for dtype in (np.int8, np.uint8):
        model = ModelWriter()
        x = model.add_tensor("x", (2, 3), dtype.__name__, quantization=([0.05], [3], 0))
        n, z = (model.add_tensor(name, (2,), "int32") for name in "nz")
        model.add_operator("ABS", [n], [z])
        model.inputs, model.outputs = [x, n], [z, x]
        file = tmp_path / f"{dtype.__name__}.tflite"
        file.write_bytes(model.finish())
        made = transload.convert(file, "tosa", tmp_path / dtype.__name__, verify="no")
        read = transload.load(made.files[0])
        assert not read.notes
        given = dict(zip(read.inputs, (np.full((2, 3), 100, dtype), np.array([1, -2], np.int32)), strict=True))
        assert [array.dtype for array in transload.run(read, given).values()] == [np.int32, dtype]


def test_a_comparison_takes_what_nothing_says_from_the_model() -> None:
    module, of_model = moving(), moving("ui8")
    note_borders(module, of_model)
    assert elements(module) == {"ui8"}
    assert not module.notes


def test_stablehlo_has_signs(tmp_path: Path) -> None:
    """There, and in `top`, `i8` is signed: nothing is to be found out."""
    module = parse_module(print_module(moving()).replace('"tosa.reverse"(', '"stablehlo.reverse"(').replace(
        "axis = 1 : i32", "dimensions = array<i64: 1>"))
    (tmp_path / "x.mlir").write_text(print_module(module))
    assert not transload.load(tmp_path / "x.mlir").notes


def test_wider_types_of_the_model_are_not_those_of_the_artifact(tmp_path: Path) -> None:
    """64-bit integers become 32-bit ones in TOSA, for its users, too; StableHLO made of that has the model's again."""
    from transload.testing import build_module

    i64 = IntegerType(64)
    module = build_module([TensorType((4,), i64)], lambda b, x: b.emit("top.Relu", x), ["x"])
    tosa = transload.lower(module)
    assert elements(tosa) == {"i32"}
    x = {"x": np.array([-1, 0, 1, 2], np.int64)}
    for engine in ("reference", "xla"):
        assert transload.run(tosa, x, engine=engine)["y"].dtype == np.int32
    assert elements(transload.lower(tosa, "stablehlo")) == {"i64"}
    with pytest.raises(RunError, match="holds numbers that int32 cannot"):
        transload.run(tosa, {"x": x["x"] << 40}, engine="xla")


def test_old_text_with_unsigned_types_keeps_them(model: Path, inputs: Any, tmp_path: Path) -> None:
    made = transload.convert(model, "tosa", tmp_path / "out", options={"tosa_version": "0.30"})
    read = transload.load(next(file for file in made.files if file.suffix == ".mlir"), format="tosa-0.30")
    assert elements(transload.lower(read, "tosa")) == {"ui8"}
    np.testing.assert_array_equal(transload.run(transload.lower(read, "tosa"), inputs)["out0"], HIGH)


@pytest.mark.parametrize("attributes", [
    "arg_attrs = [3 : i32]", "arg_attrs = [{}, {}]", "res_attrs = [{}, {}]", "arg_attrs = [{ml_program.identifier = 3 : i32}]",
    "res_attrs = [unit]"])
def test_attributes_of_borders_that_are_none_are_refused(tmp_path: Path, attributes: str) -> None:
    text = print_module(moving()).replace('sym_name = "main"', f'sym_name = "main", {attributes}')
    (tmp_path / "x.mlir").write_text(text)
    with pytest.raises(TransloadError, match="a dictionary for each argument"):
        transload.load(tmp_path / "x.mlir")


@pytest.mark.parametrize("element", ["3 : i32", "tensor<4xui8>", "f32", "ui16", "unit"])
def test_an_element_type_that_cannot_be_is_passed_over(tmp_path: Path, element: str) -> None:
    noted = f"arg_attrs = [{{transload.element = {element}}}]"
    text = print_module(moving()).replace('sym_name = "main"', f'sym_name = "main", {noted}')
    (tmp_path / "x.mlir").write_text(text)
    assert elements(transload.load(tmp_path / "x.mlir")) == {"i8"}


@pytest.mark.parametrize(("element", "dtype"), [("ui8", np.uint8), ("ui16", np.uint16)])
@pytest.mark.parametrize("name", ["Add", "Reshape", "Where"])
def test_plain_unsigned_numbers_are_told_by_the_file_alone(tmp_path: Path, element: str, dtype: Any, name: str) -> None:
    """Not quantized: computed with in i32, and given out by a RESCALE that says that it is unsigned."""
    from transload.testing import build_module
    from transload.text import parse_type

    def build(b: Any, x: Any) -> Any:
        if name == "Where":
            return b.emit("top.Where", b.emit("top.Compare", x, b.constant(np.full((1, 4), 5, dtype)), mode="Less"), x, x)
        return b.emit("top.Reshape", x, shape=(4, 1)) if name == "Reshape" else b.emit("top.Add", x, x)

    module = build_module([parse_type(f"tensor<1x4x{element}>")], build, ["x"])
    x = {"x": np.array([[0, 1, 200, np.iinfo(dtype).max]], dtype)}
    tosa = transload.lower(module)
    transload.save(tosa, tmp_path / "alone.tosa")
    read = transload.load(tmp_path / "alone.tosa")
    assert not read.notes
    (wanted,) = transload.run(module, x).values()
    for engine in ("reference", "xla"):
        (result,) = transload.run(read, x, engine=engine).values()
        np.testing.assert_array_equal(result, wanted)
        assert result.dtype == dtype


def test_inputs_of_one_name_are_told_apart() -> None:
    module = new_module()
    function = module.add_function("main", [TensorType((2,), F32)] * 3, ["x", "x", "x_1"])
    set_results(function, function.regions[0].block.arguments[:1], ["y"])
    assert list(module.inputs) == ["x", "x_1", "x_1_2"]
