# ruff: noqa: E501 - lines of programs
"""Programs that break rules of MLIR's types, functions and notes, and of StableHLO's buffers: jaxlib refuses them, and so do we."""

from __future__ import annotations

import pytest

import transload
from transload.errors import TransloadError
from transload_converters.stablehlo import bindings

from tests.support import jaxlib_judge

pytestmark = pytest.mark.skipif(bindings.available() is not None, reason="no jaxlib")

_T, _M = "tensor<2xf32>", "memref<2xf32>"
_ALIAS = ("output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [{}], operand_index = {}, "
          "operand_tuple_indices = []>]")


def _program(body: str, inputs: str = _T, results: str = "", notes: str = "", module: str = "", returned: str = "") -> str:
    arguments = ", ".join(f"%a{i}: {type_}" for i, type_ in enumerate(inputs.split(", ") if inputs else ()))
    return (f'"builtin.module"() ({{\n"func.func"() <{{{notes}function_type = ({inputs}) -> ({results}), sym_name = "main"}}> ({{\n'
            f'^bb0({arguments}):\n{body}\n"func.return"({returned}) : ({results}) -> ()\n}}) : () -> ()\n}}){module} : () -> ()\n')


def _constant(literal: str, type_: str) -> str:
    return _program(f'%c = "stablehlo.constant"() <{{value = dense<{literal}> : {type_}}}> : () -> {type_}', "")


def _call(name: str, inputs: str, results: str, more: str = "") -> str:
    operands = ", ".join(f"%a{i}" for i, type_ in enumerate(inputs.split(", ") if inputs else ()))
    left = f"%r:{len(results.split(', '))} = " if results else ""
    return _program(f'{left}"stablehlo.custom_call"({operands}) <{{call_target_name = "{name}"{more}}}> : ({inputs}) -> ({results})', inputs)


def _quantized(element: str) -> str:
    return _program(f'%r = "stablehlo.sine"(%a0) : (tensor<2x{element}>) -> tensor<2x{element}>', f"tensor<2x{element}>")


REFUSED = {
    "-0 of unsigned": _constant("-0", "tensor<2xui8>"),
    "lists of another shape": _constant("[]", "tensor<2x0xf32>"),
    "bits beyond the type": _constant("0x7F", "tensor<2xf6E3M2FN>"),
    "two as a flag": _constant("0x2", "tensor<2xi1>"),
    "zero point beyond": _quantized("!quant.uniform<u8:f32, 0.5:300>"),
    "zero point beyond a narrow range": _quantized("!quant.uniform<i8<-127:127>:f32, 0.5:-128>"),
    "scale 0": _quantized("!quant.uniform<i8:f32, 0.0>"),
    "note without a dialect": _program("", module=" {foo = 1 : i32}"),
    "attribute of builtin": _program("", module=" {a.b = #builtin.int<1>}"),
    "type of builtin": _program("", module=" {a.b = !builtin.int}"),
    "no notes for an argument": _program("", notes="arg_attrs = [], "),
    "argument's note without a dialect": _program("", notes="arg_attrs = [{a = 1 : i32}], "),
    "result's note without a dialect": _program("", results=_T, returned="%a0", notes="res_attrs = [{a = 1 : i32}], "),
    "a block that is not reached": _program("", results=_T, returned="%a0").replace(
        "\n}) : () -> ()\n})", '\n^bb1(%q: tensor<f32>):\n"func.return"(%q) : (tensor<f32>) -> ()\n}) : () -> ()\n})'),
    "a function's return in a region": _program(
        '%r = "stablehlo.case"(%a0) ({\n"func.return"(%a0) : (tensor<i32>) -> ()\n}) : (tensor<i32>) -> tensor<i32>', "tensor<i32>"),
    "Pin of a buffer": _call("Pin", _M, _M),
    "Pin of two": _call("Pin", f"{_T}, {_T}", _M),
    "Pin of another shape": _call("Pin", _T, "memref<3xf32>"),
    "Unpin of a tensor": _call("Unpin", _T, _T),
    "Unpin to a buffer": _call("Unpin", _M, _M),
    "CreateBuffer of something": _call("CreateBuffer", _T, _M),
    "CreateBuffer of a tensor": _call("CreateBuffer", "", _T),
    "CreateBuffer of nothing": _call("CreateBuffer", "", ""),
    "a buffer of its own": _call("work", _M, _M),
    "one buffer of two": _call("work", _M, f"{_M}, {_M}", f", {_ALIAS.format(0, 0)}"),
    "a tensor passed on, and a buffer not": _call("work", f"{_M}, {_T}", f"{_M}, {_T}", f", {_ALIAS.format(1, 1)}"),
}
TAKEN = {
    "hexadecimal flags": _constant("[0x1, -0x1]", "tensor<2xi1>"),
    "a hexadecimal number below 0": _constant("-0x1", "tensor<2xi32>"),
    "lists of nothing": _constant("[[], []]", "tensor<2x0xf32>"),
    "Pin": _call("Pin", _T, _M),
    "Unpin": _call("Unpin", _M, _T),
    "CreateBuffer": _call("CreateBuffer", "", _M),
    "a buffer that is passed on": _call("work", _M, _M, f", {_ALIAS.format('', 0)}"),
    "a buffer in a tuple": _call("work", _M, f"tuple<{_M}>", f", {_ALIAS.format(0, 0)}"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    assert jaxlib_judge.verdict(REFUSED[name])[0]
    with pytest.raises(TransloadError):
        transload.load(text=REFUSED[name], format="stablehlo")


@pytest.mark.parametrize("name", TAKEN)
def test_taken(name: str) -> None:
    assert jaxlib_judge.verdict(TAKEN[name])[0] == ""
    transload.load(text=TAKEN[name], format="stablehlo")
