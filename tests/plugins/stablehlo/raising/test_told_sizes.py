"""Sizes, bounds and paddings that operands tell: those that the op cannot have are refused, wherever they become known.

Numbers that no tensor of the result's type, or no part of the operand, can have were taken as they came:
`dynamic_broadcast_in_dim` of 3 elements to 6 gave a file of a wrong shape, `real_dynamic_slice` was cut
where the tensor ends, `dynamic_iota` of -6 failed.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import PluginFailure, RunError, TransloadError

Case = tuple[str, str, str, list[tuple[str, str]], str]
"""An op, its attributes, the type of its first operand, what its other operands hold and are, the type of its result."""
GATHER = ("dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
          "index_vector_dim = 1>, indices_are_sorted = false")
CONV = ("window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, "
        "dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, "
        "feature_group_count = 1 : i64, batch_group_count = 1 : i64")


def _broadcast(shape: str, result: str) -> Case:
    dimensions = "broadcast_dimensions = array<i64: 0>"
    return "dynamic_broadcast_in_dim", dimensions, "tensor<3xf32>", [(shape, "tensor<1xi32>")], result


def _reshape(shape: str, result: str) -> Case:
    return "dynamic_reshape", "", "tensor<4xf32>", [(shape, "tensor<2xi32>")], result


def _iota(shape: str, result: str) -> Case:
    return "dynamic_iota", "iota_dimension = 0 : i64", "", [(shape, f"tensor<{shape.count(',') + 1}xi32>")], result


def _slice(start: int, limit: int, stride: int, result: str) -> Case:
    return "real_dynamic_slice", "", "tensor<4xf32>", [(f"[{n}]", "tensor<1xi32>") for n in (start, limit, stride)], result


def _pad(low: int, high: int, interior: int, result: str) -> Case:
    told = [(f"[{n}]", "tensor<1xi32>") for n in (low, high, interior)]
    return "dynamic_pad", "", "tensor<4xf32>", [("0.0", "tensor<f32>"), *told], result


def _gather(sizes: str, result: str) -> Case:
    return "dynamic_gather", GATHER, "tensor<4x5xf32>", [("[0, 1, 1]", "tensor<3xi64>"), (sizes, "tensor<2xi32>")], result


def _conv(padding: str, result: str) -> Case:
    return "dynamic_conv", CONV, "tensor<1x4x4x2xf32>", [("0.5", "tensor<3x3x2x4xf32>"), (padding, "tensor<2x2xi32>")], result


def _size(size: str, result: str) -> Case:
    return "set_dimension_size", "dimension = 0 : i64", "tensor<4xf32>", [(size, "tensor<i32>")], result


INVALID = {
    "broadcast of 3 to 6": _broadcast("[6]", "tensor<?xf32>"),
    "broadcast of 3 to 1": _broadcast("[1]", "tensor<?xf32>"),
    "broadcast below 0": _broadcast("[-3]", "tensor<?xf32>"),
    "reshape of 4 to 6": _reshape("[2, 3]", "tensor<?x?xf32>"),
    "reshape to the rest": _reshape("[-1, 2]", "tensor<?x?xf32>"),
    "reshape below 0": _reshape("[-2, -2]", "tensor<?x?xf32>"),
    "reshape to another type": _reshape("[4, 1]", "tensor<2x?xf32>"),
    "iota below 0": _iota("[-6]", "tensor<?xf32>"),
    "iota below 0 elsewhere": _iota("[3, -6]", "tensor<3x?xf32>"),
    "slice beyond": _slice(1, 9, 1, "tensor<?xf32>"),
    "slice beyond, of a known size": _slice(1, 9, 1, "tensor<8xf32>"),
    "slice from before": _slice(-1, 3, 1, "tensor<?xf32>"),
    "slice by 0": _slice(0, 3, 0, "tensor<?xf32>"),
    "slice backwards": _slice(3, 0, -1, "tensor<?xf32>"),
    "slice that ends before it starts": _slice(3, 1, 1, "tensor<?xf32>"),
    "slice of another type": _slice(0, 2, 1, "tensor<3xf32>"),
    "pad that takes all": _pad(-3, -3, 0, "tensor<?xf32>"),
    "pad below 0 between": _pad(0, 0, -1, "tensor<?xf32>"),
    "pad of another type": _pad(1, 1, 0, "tensor<5xf32>"),
    "gather beyond": _gather("[1, 9]", "tensor<3x?xf32>"),
    "gather below 0": _gather("[1, -2]", "tensor<3x?xf32>"),
    "gather of collapsed ones": _gather("[2, 5]", "tensor<3x?xf32>"),
    "gather of another type": _gather("[1, 4]", "tensor<3x5xf32>"),
    "convolution of another type": _conv("[[1, 1], [0, 0]]", "tensor<1x3x?x4xf32>"),
    "size beyond": _size("9", "tensor<?xf32>"),
    "size below 0": _size("-1", "tensor<?xf32>"),
}
VALID = {
    "broadcast": _broadcast("[3]", "tensor<?xf32>"), "reshape": _reshape("[2, 2]", "tensor<?x2xf32>"),
    "iota": _iota("[4]", "tensor<?xf32>"), "slice": _slice(1, 4, 2, "tensor<?xf32>"), "pad": _pad(1, -2, 1, "tensor<6xf32>"),
    "gather": _gather("[1, 4]", "tensor<3x?xf32>"), "convolution": _conv("[[1, 1], [0, 0]]", "tensor<1x4x?x4xf32>"),
    "size": _size("2", "tensor<?xf32>"),
}
NOT_TOLD_BY_CONSTANTS = re.compile("convolution|^size")
"""What is found where a program is converted: reading looks at these operands as jaxlib does, which does not."""


def _program(case: Case, how: str) -> str:
    """A program of one op whose integers of 32 bits are constant, are computed of constants, or are given."""
    op, attributes, type_, others, result = case
    inputs, lines, names = [type_] * bool(type_), [], ["%a0"] * bool(type_)
    for index, (literal, each) in enumerate(others):
        if how == "given" and each.endswith("i32>"):
            names.append(f"%a{len(inputs)}")
            inputs.append(each)
            continue
        names.append(f"%c{index}")
        lines.append(f'%c{index} = "stablehlo.constant"() <{{value = dense<{literal}> : {each}}}> : () -> {each}')
        if how == "computed" and each.endswith("i32>"):
            lines.append(f'%z{index} = "stablehlo.constant"() <{{value = dense<0> : {each}}}> : () -> {each}')
            lines.append(f'%s{index} = "stablehlo.add"(%c{index}, %z{index}) : ({each}, {each}) -> {each}')
            names[-1] = f"%s{index}"
    types = ", ".join([type_] * bool(type_) + [each for _, each in others])
    lines.append(f'%r = "stablehlo.{op}"({", ".join(names)}) <{{{attributes}}}> : ({types}) -> {result}')
    arguments = ", ".join(f"%a{index}: {each}" for index, each in enumerate(inputs))
    return ('"builtin.module"() ({\n"func.func"() <{sym_name = "main", '
            f'function_type = ({", ".join(inputs)}) -> ({result})}}> ({{\n^bb0({arguments}):\n' + "\n".join(lines)
            + f'\n"func.return"(%r) : ({result}) -> ()\n}}) : () -> ()\n}}) : () -> ()\n')


def _load(case: Case, how: str) -> transload.Module:
    return transload.load(text=_program(case, how), format="stablehlo")


@pytest.mark.parametrize("name", [name for name in INVALID if not NOT_TOLD_BY_CONSTANTS.search(name)])
def test_constants_are_refused_where_a_program_is_read(name: str) -> None:
    with pytest.raises(TransloadError, match=INVALID[name][0]):
        _load(INVALID[name], "constant")


@pytest.mark.parametrize("how", ["constant", "computed"])
@pytest.mark.parametrize("name", INVALID)
def test_none_is_converted(tmp_path: Path, name: str, how: str) -> None:
    with pytest.raises(TransloadError) as raised:
        transload.convert(_load(INVALID[name], how), "onnx", tmp_path, verify="no")
    assert not isinstance(raised.value, PluginFailure) and INVALID[name][0] in str(raised.value)


@pytest.mark.parametrize("name", [name for name in INVALID if INVALID[name][2]])
def test_none_is_made_static(tmp_path: Path, name: str) -> None:
    """A program whose first input is open until it is read."""
    case = INVALID[name]
    text = _program(case, "computed")
    open_ = re.sub(r"<(\d+)", "<?", case[2], count=1)
    sizes = tuple(map(int, re.findall(r"(\d+)x", case[2])))
    with pytest.raises(TransloadError, match=case[0]) as raised:
        module = transload.load(text=text.replace(case[2], open_), format="stablehlo", inputs={"arg0": sizes})
        transload.convert(module, "onnx", tmp_path, verify="no")
    assert not isinstance(raised.value, PluginFailure)


@pytest.mark.parametrize("name", INVALID)
def test_the_engine_says_why_it_does_not_run(name: str) -> None:
    case = INVALID[name]
    module = _load(case, "given")
    given = [np.array(json.loads(literal), np.int32) for literal, each in case[3] if each.endswith("i32>")]
    arrays = [np.zeros([int(size) for size in re.findall(r"(\d+)x", case[2])], np.float32)] * bool(case[2]) + given
    with pytest.raises(RunError, match=case[0]) as raised:
        transload.run(module, dict(zip(module.inputs, arrays, strict=True)))
    assert not isinstance(raised.value, PluginFailure)


@pytest.mark.parametrize("how", ["constant", "computed"])
@pytest.mark.parametrize("name", VALID)
def test_what_is_right_is_converted(tmp_path: Path, name: str, how: str) -> None:
    transload.convert(_load(VALID[name], how), "onnx", tmp_path, verify="no")
