"""Types compare by value; constants are shared, compared by what they hold, and never copied."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from transload.errors import InternalError, ReadError
from transload.ir import (
    BF16,
    BOOL,
    F32,
    F64,
    I4,
    I8,
    I32,
    I48,
    I64,
    INDEX,
    UI8,
    ArrayData,
    ComplexType,
    Dense,
    ElidedData,
    FunctionType,
    IntegerType,
    LazyData,
    MmapData,
    Packed4Data,
    QuantType,
    SplatData,
    TensorType,
    dtype_of,
    element_type_of,
    new_module,
)
from transload.ir.attributes import FloatAttr, IntAttr
from transload.ir.build import Builder
from transload.ir.compare import same_attribute
from transload.text.resources import Constants


def test_types_are_values():
    a, b = (
        TensorType((1, None), QuantType(I8, F32, (0.5,), (0,))),
        TensorType((1, None), QuantType(IntegerType(8), F32, (0.5,), (0,))),
    )
    assert a == b and hash(a) == hash(b) and len({a, b}) == 1
    assert a != TensorType((1, 2), a.element) and a != TensorType((1, None), I8) and a != "tensor"
    assert I8 != UI8 and FunctionType((I8,), ()) != FunctionType((), (I8,))
    assert I8.range == (-128, 127) and UI8.range == (0, 255) and BOOL.range == (0, 1)
    assert TensorType((2, 3), F32).num_elements == 6 and not a.is_static and a.rank == 2
    with pytest.raises(ValueError, match="no known number"):
        _ = TensorType(None, F32).num_elements


@pytest.mark.parametrize(
    ("element", "dtype"),
    [
        (BOOL, np.bool_),
        (I4, ml_dtypes.int4),
        (I8, np.int8),
        (UI8, np.uint8),
        (I48, np.int64),
        (INDEX, np.int64),
        (BF16, ml_dtypes.bfloat16),
        (ComplexType(F64), np.complex128),
        (QuantType(I32, F32, (1.0,), (0,)), np.int32),
    ],
)
def test_dtypes(element, dtype):
    assert dtype_of(element) == np.dtype(dtype)
    if element not in (I48, INDEX) and not isinstance(element, QuantType):
        assert element_type_of(dtype) == element


def test_what_numpy_cannot_hold():
    with pytest.raises(ValueError, match="no numpy dtype"):
        dtype_of(IntegerType(7))
    with pytest.raises(ValueError, match="no element type"):
        element_type_of(np.dtype("S3"))


ARRAY = np.arange(12, dtype=np.int32).reshape(3, 4)


def every_kind(tmp_path):
    (tmp_path / "data.bin").write_bytes(b"head" + ARRAY.tobytes())
    return [
        ArrayData(ARRAY),
        ArrayData(np.asfortranarray(ARRAY)),
        MmapData(tmp_path / "data.bin", 4, (3, 4), np.int32),
        LazyData(lambda: ARRAY.copy(), (3, 4), np.int32),
    ]


def test_the_same_data_is_equal_however_it_is_held(tmp_path):
    constants = [Dense(data) for data in every_kind(tmp_path)]
    for constant in constants:
        assert constant == constants[0] and constant.tobytes() == ARRAY.tobytes() and constant.nbytes == ARRAY.nbytes
        assert not constant.numpy().flags.writeable
    assert (
        constants[0] != Dense(ARRAY + 1)
        and constants[0] != Dense(ARRAY.astype(np.int64))
        and constants[0] != Dense(ARRAY.reshape(4, 3))
    )


def test_a_splat_equals_the_array_it_stands_for():
    splat = Dense(SplatData(7, (3, 4), np.int32))
    assert splat == Dense(np.full((3, 4), 7, np.int32)) == Dense(np.broadcast_to(np.int32(7), (3, 4)))
    assert splat.nbytes == 4 and splat.splat_value() == 7 and splat != Dense(SplatData(8, (3, 4), np.int32))
    assert Dense(ARRAY).splat_value() is None and Dense(np.zeros((0, 2))).splat_value() is None
    assert Dense(np.array([0.0, -0.0])).splat_value() is None  # not the same bits
    assert Dense(np.array([[1, 2], [3, 1]])).splat_value() is None
    assert Dense(SplatData(1, (0, 2), np.int64)) == Dense(np.zeros((0, 2), np.int64))


def test_packed_four_bit_numbers():
    packed = Packed4Data(np.array([0x21, 0xF8], np.uint8), (3,))
    assert packed.numpy().astype(int).tolist() == [1, 2, -8] and packed.nbytes == 2
    assert Packed4Data(np.array([0xF8], np.uint8), (2,), signed=False).numpy().astype(int).tolist() == [8, 15]
    assert Dense(packed) == Dense(np.array([1, 2, -8], ml_dtypes.int4))


def test_lazy_data_is_made_once_and_must_keep_its_promise():
    made = []
    lazy = LazyData(lambda: made.append(1) or np.zeros(3), (3,), np.float64)
    assert not made
    assert lazy.numpy() is lazy.numpy() and len(made) == 1
    with pytest.raises(InternalError, match="promised"):
        LazyData(lambda: np.zeros(3), (4,), np.float64).numpy()


def test_data_that_was_left_out():
    constant = Dense(ElidedData((2,), np.int8))
    assert constant.nbytes == 0 and constant == constant and constant != Dense(ElidedData((2,), np.int8))
    with pytest.raises(ReadError, match="left out"):
        constant.numpy()


def _backed_by(buffer: np.ndarray) -> dict[str, np.ndarray]:
    """Arrays in the memory of `buffer`, of zeros, some of which cannot be written into themselves."""
    read_only = buffer.view()
    read_only.flags.writeable = False
    return {
        "itself": buffer, "a part": buffer[1:, ::2], "turned": buffer.T, "read-only": read_only,
        "spread": np.broadcast_to(buffer[:1], (50, 3, 4)), "of another dtype": buffer.view(np.int32),
        "no dimensions": buffer[0, 0, ...],
    }


@pytest.mark.parametrize("how", _backed_by(np.zeros((3, 4), np.float32)))
def test_what_is_written_into_an_array_later_is_not_in_the_constant(how: str) -> None:
    buffer = np.zeros((3, 4), np.float32)
    given = _backed_by(buffer)[how]
    module = new_module()
    held = [
        Dense(given), Builder(module.body).constant(given).op.attributes["value"],
        Constants({"k": given}).dense("k", Dense(given).type)]
    if not given.ndim:
        held.append(Dense(SplatData(given, (2,))))
    buffer[:] = 7
    assert not any(each.numpy().any() for each in held)
    assert all(not each.numpy().flags.writeable for each in held)


def test_a_spread_array_is_copied_no_larger_than_it_is():
    spread = np.broadcast_to(np.ones((1, 4), np.float32), (1 << 30, 4))
    assert Dense(spread).numpy().strides == spread.strides


def test_what_nobody_can_write_into_is_shared(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones((3, 4), np.float32))
    mapped, of_bytes = np.load(tmp_path / "a.npy", mmap_mode="r"), np.frombuffer(bytes(48), np.float32)
    frozen = np.ones(12, np.float32)
    frozen.flags.writeable = False
    for given in (mapped, mapped.T, of_bytes, of_bytes.reshape(3, 4), frozen, frozen[::2]):
        assert np.shares_memory(Dense(given).numpy(), given)


def test_what_is_put_into_a_list_later_is_not_in_the_attribute():
    block = new_module().add_function("main", [TensorType((4,), F32)], ["x"]).regions[0].block
    shape = [2, 2]
    made = Builder(block).emit("toy.Free", types=[TensorType((2,), F32)], shape=shape)
    shape[0] = 4
    assert made.op.attributes["shape"] == [2, 2]


def test_what_is_written_into_lists_in_a_list_later_is_not_in_an_attribute():
    module = new_module()
    pairs, named = [[1, 2], [3]], {"a": [1]}
    op = Builder(module.body).emit("toy.Free", types=[TensorType((2,), F32)], pairs=pairs, named=named).op
    pairs[0][0] = named["a"][0] = 9
    assert op.attributes["pairs"] == [[1, 2], [3]] and op.attributes["named"] == {"a": [1]}


def test_constants_are_shared_not_copied():
    array = np.zeros((100, 100), np.float32)
    module = new_module()
    builder = Builder(module.body)
    value = builder.constant(ArrayData(array))
    copy = module.clone()
    assert np.shares_memory(next(iter(copy.body)).attributes["value"].numpy(), array)
    quantized = builder.constant(np.zeros(3, np.int8), element=QuantType(I8, F32, (0.5,), (0,)))
    assert str(quantized.type) == "tensor<3x!quant.uniform<i8:f32, 0.5>>" and quantized.op.attributes["value"].type == TensorType(
        (3,), I8
    )
    wide = builder.constant(np.arange(3, dtype=np.int32), element=I48)
    assert wide.op.attributes["value"].type == TensorType((3,), I48) and wide.op.attributes["value"].numpy().dtype == np.int64
    assert value.element == F32


def test_attributes_of_different_types_differ():
    assert IntAttr(1, I32) != 1 and IntAttr(1, I64) == 1
    assert not same_attribute(True, 1) and not same_attribute(0.0, -0.0) and same_attribute(float("nan"), float("nan"))
    assert (
        not same_attribute(FloatAttr(1.0, F32), 1.0)
        and not same_attribute((1,), [1])
        and not same_attribute({"a": 1}, {"a": True})
    )


def test_an_element_type_is_one_object() -> None:
    """Made, read back from a pickle, or copied: it is the same one, so that comparing is looking at it."""
    for type_ in (I8, UI8, BOOL, F32, IntegerType(0), IntegerType(1 << 40)):
        assert pickle.loads(pickle.dumps(type_)) is type_ and copy.deepcopy(type_) is type_
    assert IntegerType(8) is I8 and IntegerType(8, "u") is UI8 and IntegerType(8, "s") not in (I8, UI8)
    assert I8 != F32 and TensorType((8,), I8) != I8
    assert (I8.range, UI8.range, BOOL.range) == ((-128, 127), (0, 255), (0, 1))


def test_scales_are_the_same_type_from_an_array_or_a_tuple() -> None:
    scales = np.arange(1, 10) / 64
    given = QuantType(I8, F32, scales, (0,), 0)
    assert given == QuantType(I8, F32, tuple(scales.tolist()), (0,) * 9, 0) and hash(given) == hash(given.replace(axis=0))
    assert given != given.replace(axis=1) and given != given.replace(scales=(1.0, *given.scales[1:]))
    assert np.array_equal(given.scale_array, scales) and given.replace(axis=1).scale_array is given.scale_array
    with pytest.raises(ValueError, match="read-only"):
        given.scale_array[0] = 2.0
    untouched = QuantType(I8, F32, scales, (0,), 0)
    scales[0] = 7.0
    assert given.scales[0] == untouched.scales[0] == untouched.scale_array[0] == 1 / 64
    assert untouched.count == 9 and untouched.replace(scales=(1.0,), zero_points=(3,), axis=None).count == 1


@pytest.mark.parametrize("count", [1, 3, 20])
@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf"), -0.5])
def test_a_scale_that_is_no_number_is_found_wherever_it_stands(count: int, wrong: float) -> None:
    for place in range(count):
        scales = [0.5] * count
        assert QuantType(I8, F32, tuple(scales), (0,), 0).has_sound_scales
        scales[place] = wrong
        assert not QuantType(I8, F32, tuple(scales), (0,), 0).has_sound_scales


@pytest.mark.parametrize("dtype", [">f4", ">i8", ">u2", ">f2"])
def test_arrays_of_the_other_byte_order_are_constants(dtype):
    """They were refused as no numbers, where `run` takes such arrays."""
    given = np.array([1, 2, 300], dtype)
    made, same = Dense(given), Dense(given.astype(np.dtype(dtype).newbyteorder("=")))
    np.testing.assert_array_equal(made.numpy(), given)
    assert made == same and made.tobytes() == same.tobytes() and made.numpy().dtype.isnative
