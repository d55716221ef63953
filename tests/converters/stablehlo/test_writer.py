"""Portable artifacts with large constants, which are put into what the bindings write: the same programs, without the memory."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import transload
from transload.ir import BF16, F16, F32, F64, I8, I16, I32, I64, FloatType, IntegerType, Module, TensorType
from transload.ir.build import Builder
from transload.ir.constants import Dense, SplatData
from transload.ir.types import Type
from transload.testing import build_module
from transload_converters.stablehlo.bytecode.cursor import Cursor
from transload_converters.stablehlo.bytecode.splice import varint

pytest.importorskip("jaxlib")
RNG = np.random.default_rng(3)
ELEMENTS: dict[str, tuple[Type, np.dtype]] = {
    "f16": (F16, np.dtype(np.float16)), "bf16": (BF16, np.dtype(ml_dtypes.bfloat16)), "f32": (F32, np.dtype(np.float32)),
    "f64": (F64, np.dtype(np.float64)), "f8": (FloatType("f8E4M3FN"), np.dtype(ml_dtypes.float8_e4m3fn)),
    "i8": (I8, np.dtype(np.int8)), "ui8": (IntegerType(8, "u"), np.dtype(np.uint8)), "i16": (I16, np.dtype(np.int16)),
    "i32": (I32, np.dtype(np.int32)), "i64": (I64, np.dtype(np.int64)), "ui64": (IntegerType(64, "u"), np.dtype(np.uint64))}


def numbers(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Any bits but those of NaN."""
    if dtype.kind in "iu":
        return RNG.integers(0, 256, (*shape, dtype.itemsize), np.uint8).view(dtype).reshape(shape)
    return (RNG.normal(size=shape) * 3).astype(dtype)


def module_of(arrays: list[tuple[Type, np.ndarray]]) -> Module:
    """A module that returns constants."""

    def build(b: Builder) -> list[object]:
        return [
            b.emit("stablehlo.constant", value=Dense(array, TensorType(array.shape, element)), types=[
                TensorType(array.shape, element)]) for element, array in arrays]

    return build_module([], build)


def rewritten(module: Module, path: Path, version: str | None = None) -> list[np.ndarray]:
    """The constants of an artifact, read again."""
    from transload_converters.stablehlo.writer import write

    write(module, path, version)
    return list(transload.run(transload.load(path), {}).values())


def same(found: list[np.ndarray], arrays: list[tuple[Type, np.ndarray]]) -> bool:
    return [each.tobytes() for each in found] == [np.ascontiguousarray(array).tobytes() for _, array in arrays]


@pytest.mark.parametrize("version", ["1.0.0", "1.9.0", None])
def test_constants_of_every_type(tmp_path: Path, version: str | None) -> None:
    arrays = [(element, numbers((70, 90), dtype)) for element, dtype in ELEMENTS.values()]
    assert same(rewritten(module_of(arrays), tmp_path / "a.mlirbc", version), arrays)


def test_what_the_bindings_read_of_it_is_what_they_write_themselves(tmp_path: Path) -> None:
    from transload_converters.stablehlo import bindings, writer

    arrays = [(element, numbers(shape, dtype)) for shape in ((64, 65), (2, 33, 100)) for element, dtype in ELEMENTS.values()]
    module = module_of(arrays)
    writer.write(module, tmp_path / "a.mlirbc", "1.0.0")
    whole = bindings.portable_artifact(writer._as_text(module, None)[0], "whole", "1.0.0")
    assert bindings.rewritten((tmp_path / "a.mlirbc").read_bytes(), "ours") == bindings.rewritten(whole, "theirs")


def test_arrays_that_lie_in_another_order(tmp_path: Path) -> None:
    """Transposed weights are views, and are put in order some rows at a time."""
    arrays = [(F32, numbers((90, 70), np.dtype(np.float32)).T), (I8, numbers((3, 80, 90), np.dtype(np.int8)).transpose(2, 0, 1)),
              (F32, numbers((200, 70), np.dtype(np.float32))[::2])]
    assert same(rewritten(module_of(arrays), tmp_path / "a.mlirbc"), arrays)


@pytest.mark.parametrize("count", [126, 127, 300])
def test_more_constants_of_a_type_than_it_has_numbers(tmp_path: Path, count: int) -> None:
    arrays = [(I8, numbers((65, 64), np.dtype(np.int8))) for _ in range(count)]
    assert same(rewritten(module_of(arrays), tmp_path / "a.mlirbc"), arrays)


def test_constants_that_are_themselves_what_would_stand_in(tmp_path: Path) -> None:
    """The numbers 1 to 20 of the same type, and scalars of them, in the program."""
    large = [(I32, numbers((64, 64), np.dtype(np.int32))) for _ in range(20)]
    own = [(I32, np.full((64, 64), number, np.int32)) for number in range(1, 21)]
    scalars = [(I32, np.array(number, np.int32)) for number in range(1, 21)]
    bits = [(F32, np.full((64, 64), 1, np.int32).view(np.float32)), (F32, numbers((64, 64), np.dtype(np.float32)))]
    arrays = [*large, *own, *scalars, *bits]
    assert same(rewritten(module_of(arrays), tmp_path / "a.mlirbc"), arrays)


def test_splats_that_are_held_as_one_number_are_looked_at(tmp_path: Path) -> None:
    """Such a splat takes eight bytes and was passed over: an index's stride of 1 became the first of the large constants."""
    large = numbers((64, 64), np.dtype(np.int64))
    module = module_of([(I64, large), *((I64, np.full((64, 64), number)) for number in (1, 2, 3))])
    for op in module.walk():
        value = op.attributes.get("value")
        if isinstance(value, Dense) and (one := value.splat_value()) is not None:
            op.attributes["value"] = Dense(SplatData(one, value.shape), value.type)
    written = rewritten(module, tmp_path / "a.mlirbc")
    assert same(written, [(I64, large), *((I64, np.full((64, 64), number)) for number in (1, 2, 3))])


def test_stand_ins_that_are_not_alone_go_through_the_bindings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transload_converters.stablehlo import writer

    def never(artifact: bytes, constants: object) -> None:
        raise writer.Strange

    monkeypatch.setattr(writer, "spliced", never)
    arrays = [(F32, numbers((64, 64), np.dtype(np.float32)))]
    assert same(rewritten(module_of(arrays), tmp_path / "a.mlirbc"), arrays)


def test_equal_constants_may_share_what_stands_for_them(tmp_path: Path) -> None:
    array = numbers((64, 64), np.dtype(np.float32))
    arrays = [(F32, array), (F32, array.copy()), (F32, array)]
    assert same(rewritten(module_of(arrays), tmp_path / "a.mlirbc"), arrays)


def test_notes_of_all_kinds_are_written(tmp_path: Path) -> None:
    note = '[unit, @main, array<i64: 1, 2>, array<i1: true>, dense<[1, 2]> : tensor<2xi32>, {a = 2.5 : f32}, "x", true, i8]'
    text = (
        '"builtin.module"() ({\n"func.func"() <{function_type = () -> (), sym_name = "main"}> ({\n"func.return"() : () -> ()\n'
        f"}}) : () -> ()\n}}) {{some.flag, some.list = {note}, some.map = affine_map<(d0) -> (d0)>}} : () -> ()")
    module = transload.load(text=text, format="stablehlo")
    written = transload.load(transload.save(module, tmp_path / "notes.mlirbc", format="stablehlo"))
    held = dict(module.attributes)
    del held["some.map"]  # which artifacts have no form for
    assert written.attributes == held


def test_xla_runs_what_was_written(tmp_path: Path) -> None:
    weights = numbers((64, 96), np.dtype(np.float32))
    text = """func.func @main(%x: tensor<3x64xf32>) -> tensor<3x96xf32> {
      %w = stablehlo.constant dense<1.0> : tensor<64x96xf32>
      %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<3x64xf32>, tensor<64x96xf32>) -> tensor<3x96xf32>
      return %y : tensor<3x96xf32> }"""
    module = transload.load(text=text, format="stablehlo")
    (constant,) = (op for op in module.walk() if op.name == "stablehlo.constant")
    constant.attributes["value"] = Dense(weights, TensorType((64, 96), F32))
    transload.save(module, tmp_path / "a.mlirbc")
    x = numbers((3, 64), np.dtype(np.float32))
    written = transload.load(tmp_path / "a.mlirbc")
    (found,) = transload.run(written, {next(iter(written.inputs)): x}, engine="xla").values()
    np.testing.assert_allclose(found, x @ weights, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("value", [0, 1, 127, 128, 2**14 - 1, 2**14, 2**21, 2**35 - 1, 2**49, 2**56 - 1, 2**56, 2**64 - 1])
def test_numbers_are_written_as_they_are_read(value: int) -> None:
    cursor = Cursor(varint(value))
    assert cursor.varint() == value
    assert cursor.at_end
