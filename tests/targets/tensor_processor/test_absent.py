"""What a chip has no conversion of at all is told so, and not that a form of it does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from transload.ir import F16, F32, I8, Module, QuantType, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.plugin_host import host
from transload_targets.tensor_processor.chip import load_chip
from transload_targets.tensor_processor.lowering.lower import left_to_host

QUANTIZED = QuantType(I8, F32, (0.5,), (0,))


def of(name: str, *operands: TensorType, **attributes: Any) -> Module:
    """A module with one op."""
    module = new_module()
    block = module.add_function("main", list(operands)).regions[0].block
    build = Builder(block)
    set_results(module.main, [build.emit(name, *block.arguments, **attributes)])
    return module


@pytest.mark.parametrize("name, attributes", [("LRN", {"size": 3}), ("CumSum", {"axis": 1})])
def test_an_op_that_no_chip_has_is_told_so(name: str, attributes: dict[str, int]) -> None:
    (finding,) = left_to_host(of(f"top.{name}", TensorType((1, 4, 2, 2), F32), **attributes), load_chip("tp-small"))
    assert finding.why == f"tp-small has no {name}"


def test_an_op_that_is_a_table_alone_is_told_its_form() -> None:
    told = "tp-small has TruncMod as a table alone, of one tensor of integers of 8 or 16 bits with one scale, beside numbers"
    for element in (F32, QUANTIZED):
        tensor = TensorType((2, 3), element)
        (finding,) = left_to_host(of("top.TruncMod", tensor, tensor), load_chip("tp-small"))
        assert finding.why == told


def test_what_a_plugin_has_of_an_op_is_not_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rule knows forms, of which this is none."""
    module = of("top.LRN", TensorType((1, 4, 2, 2), F32), size=3)
    given = host().facts("tpu-lowering")
    monkeypatch.setitem(given, "top.LRN", [lambda op, rw: None])
    (finding,) = left_to_host(module, load_chip("tp-small"))
    assert finding.why == "tp-small has LRN, and none of its forms takes f32 to f32"


def test_a_form_that_no_rule_takes_is_told_with_what_would_be() -> None:
    """PRelu with a slope for each channel, of integers: "no conversion matches this form" said neither why nor what would."""
    tensor, slopes = TensorType((1, 4, 2, 2), QUANTIZED), TensorType((4, 1, 1), QUANTIZED)
    (finding,) = left_to_host(of("top.PRelu", tensor, slopes), load_chip("tp-small"))
    assert finding.why == (
        "tp-small has PRelu, and none of its forms takes i8 with one scale, i8 with one scale to i8 with one scale; of integers "
        "it takes one tensor of integers of 8 or 16 bits with one scale, beside numbers")
    (finding,) = left_to_host(of("top.Div", TensorType((2, 2), F32), TensorType((2, 2), F16)), load_chip("tp-small"))
    assert finding.why == "tp-small has Div, and none of its forms takes f32, f16 to f32"


@pytest.mark.parametrize(("word", "divisor", "left"), [
    ("rounded", 0.3, []), ("exact", 0.3, ["top.FloorDiv"]), ("fmod", 0.3, ["top.FloorDiv"]), ("exact", 0.5, []),
    ("fmod", 0.5, ["top.IsInf"])])
def test_floors_of_quotients_that_are_not_rounded_stay_whole_on_the_host(word: str, divisor: float, left: list[str]) -> None:
    """It has the others: of the rounded quotient, and of what is not rounded, by powers of two."""
    module = new_module()
    block = module.add_function("main", [TensorType((2, 3), F32)]).regions[0].block
    build = Builder(block)
    number = build.constant(np.float32(divisor))
    set_results(module.main, [build.emit("top.FloorDiv", block.arguments[0], number, quotient=word)])
    findings = left_to_host(module, load_chip("tp-small"))
    assert [finding.what for finding in findings] == left
    if left == ["top.FloorDiv"]:
        assert "the floor of a quotient that is not rounded before" in findings[0].why
