"""What attributes of the hub's ops say is in Top's text, in its attributes or in operators, or is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import TransloadError
from transload.ir import I8, I32, I64, Module
from transload.ir.registry import lookup
from transload.ir.verify import check
from transload.testing import build_op
from transload_targets.sophgo.operators import OPERATORS
from transload_targets.sophgo.text import Written, findings_of, written

from tests.targets.forms import ELEMENTS, FORMS, Form
from tests.targets.test_other_attributes import other_values

_LINE = re.compile(r'(%\w+) = "top\.(\w+)"\(([^)]*)\)(?: \{(.*)\})? : .* loc\("([^"]+)"\)')


def _relu(x: np.ndarray, limit: float) -> np.ndarray:
    return np.clip(x, 0, limit if limit >= 0 else np.inf)


def _resized(x: np.ndarray, given: dict[str, Any]) -> np.ndarray:
    """What TPU-MLIR's `Interp.cpp` computes of models whose platform is ONNX."""
    assert given["mode"] == "linear"
    for axis, key in ((2, "scale_h"), (3, "scale_w")):
        size = x.shape[axis]
        made = int(np.floor(size * given[key]))
        place = np.arange(made)
        corners, centres = place * (size - 1) / max(made - 1, 1), (place + 0.5) * size / made - 0.5
        at = np.clip(corners if given["coord_mode"] == "align_corners" else centres, 0, size - 1)
        low = np.floor(at).astype(int)
        part = (at - low).reshape([-1 if dim == axis else 1 for dim in range(4)])
        x = x.take(low, axis) * (1 - part) + x.take(np.minimum(low + 1, size - 1), axis) * part
    return x


def _computed(operator: str, x: list[np.ndarray], given: dict[str, Any]) -> np.ndarray:
    """What TPU-MLIR's operators are, as its sources have them."""
    compared = {"Equal": np.equal, "GreaterOrEqual": np.greater_equal, "NotEqual": np.not_equal}
    found: dict[str, Any] = {
        "Abs": lambda: np.abs(x[0]), "Floor": lambda: np.floor(x[0]), "Sign": lambda: np.sign(x[0]),
        "Round": lambda: np.trunc(x[0] + np.copysign(0.5, x[0])), "Add": lambda: x[0] + x[1], "Sub": lambda: x[0] - x[1],
        "Mul": lambda: x[0] * x[1], "MulConst": lambda: x[0] * given["const_val"],
        "CompareConst": lambda: compared[given["mode"]](x[0], given["const_val"]) * 1.0,
        "Clip": lambda: np.clip(x[0], given["min"], given["max"]), "Relu": lambda: _relu(x[0], given["relu_limit"]),
        "Reshape": lambda: x[0].reshape(given["shape"]), "Gather": lambda: x[0].take(x[1].astype(int), given["axis"]),
        "MatMul": lambda: x[0] @ x[1], "Interp": lambda: _resized(x[0], given),
        "Upsample": lambda: x[0].repeat(given["scale_h"], 2).repeat(given["scale_w"], 3),
        "MaxPool": lambda: x[0].reshape(1, 3, 3, 2, 2, 2).max((3, 5)), "AvgPool": lambda: _relu(
            x[0].reshape(1, 3, 3, 2, 2, 2).mean((3, 5)), given["relu_limit"]),
    }
    made: np.ndarray = found[operator]()
    return made


def ran(made: Written, given: np.ndarray) -> np.ndarray:
    """What a text means, of one input."""
    held: dict[str, np.ndarray] = {}
    for line in made.text.splitlines():
        match = _LINE.match(line.strip())
        if match is None:
            continue
        result, operator, operands, said, name = match.groups()
        attributes: dict[str, Any] = {}
        for part in re.split(r", (?=\w+ = )", said or ""):
            key, _, value = part.partition(" = ")
            text = re.sub(r" : \w+", "", value)
            attributes[key] = {"true": True, "false": False}.get(text) if text in ("true", "false") else eval(text or "None")
        if operator in ("Input", "Weight"):
            held[result] = given.astype(np.float64) if operator == "Input" else made.weights[name].astype(np.float64)
        else:
            held[result] = _computed(operator, [held[each] for each in operands.split(", ") if each in held], attributes)
    return held[result]


_HALVES = np.array([[-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49, -0.51, 3.0, -3.5]], np.float32)
_IMAGE = (np.random.default_rng(3).normal(size=(1, 3, 6, 4)) * 5).astype(np.float32)
_WINDOW = {"kernel_shape": (2, 2), "strides": (2, 2), "do_relu": True, "relu_limit": 2.5}


@pytest.mark.parametrize(("name", "given", "attributes", "operators"), [
    ("Round", _HALVES, {}, ""), ("Cast", _HALVES, {"element": I32, "round_mode": "HalfToEven"}, ""),
    ("Cast", _HALVES, {"element": I32, "round_mode": "HalfAwayFromZero"}, "Round"),
    ("Cast", (_HALVES * 100).astype(np.int32), {"element": I8, "saturate": True}, "Clip"),
    ("Cast", (_HALVES * 100).astype(np.int32), {"element": I64}, ""),
    ("MaxPool", _IMAGE, _WINDOW, "MaxPool Relu"), ("AvgPool", _IMAGE, _WINDOW, "AvgPool"),
    ("Upsample", _IMAGE, {"scale_h": 2, "scale_w": 3, "do_relu": True, "relu_limit": 2.5}, "Upsample Relu"),
    ("Upsample", _IMAGE, {"scale_h": 2, "scale_w": 3, "do_relu": True}, "Upsample Relu"),
    ("Reduce", _IMAGE, {"axes": (), "mode": "ReduceSum"}, "Reshape"), ("Reduce", _IMAGE, {"axes": (), "mode": "ReduceL2"}, "Abs"),
    ("Interp", _IMAGE, {"sizes": (12, 8), "mode": "linear"}, "Interp"),
    ("Interp", _IMAGE, {"sizes": (11, 7), "mode": "linear", "coord_mode": "align_corners"}, "Interp"),
    ("Interp", _IMAGE, {"sizes": (12, 8), "mode": "linear", "coord_mode": "asymmetric"}, "MatMul MatMul"),
    ("Interp", _IMAGE, {"sizes": (3, 2), "mode": "linear", "antialias": True}, "MatMul MatMul"),
    ("Interp", _IMAGE, {"sizes": (11, 7), "mode": "cubic", "exclude_outside": True}, "MatMul MatMul"),
    ("Interp", _IMAGE, {"sizes": (11, 7), "mode": "linear", "scales": (1.9, 1.8)}, "MatMul MatMul"),
    *(("Interp", _IMAGE, {"sizes": sizes, "nearest_mode": mode, "coord_mode": grid}, "")
      for sizes in ((12, 8), (11, 7), (3, 3)) for mode in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
      for grid in ("half_pixel", "asymmetric", "align_corners", "tf_half_pixel_for_nn")),
    ("Interp", _IMAGE, {"sizes": (12, 8)}, "Upsample"),
    *(("Interp", _IMAGE.astype(np.int32), {"sizes": (10, 6), "scales": (1.7, 1.5), "nearest_mode": mode}, "")
      for mode in ("floor", "round_prefer_floor")),
    ("Interp", _IMAGE.astype(np.int32), {"sizes": (12, 8), "cubic_coeff": -0.75}, "Upsample"),
], ids=str)
def test_texts_mean_what_the_hub_computes(name: str, given: np.ndarray, attributes: dict[str, Any], operators: str) -> None:
    """Limits of ReLUs, grids, ways to round and empty axes were lost on the way."""
    module = build_op(f"top.{name}", given, **attributes)
    assert not check(module) and not findings_of(module), findings_of(module)
    made = written(module, "net", "net.npz")
    (wanted,) = transload.run(module, {next(iter(module.inputs)): given}).values()
    np.testing.assert_allclose(ran(made, given), wanted, rtol=1e-5, atol=1e-5)
    if operators:
        found = re.findall(r'"top\.(\w+)"', made.text)
        assert [each for each in found if each not in ("Input", "None", "Weight")] == operators.split()


_INTEGERS = np.arange(1, 7).reshape(2, 3)


@pytest.mark.parametrize(("name", "given", "attributes", "said"), [
    ("Div", [_INTEGERS.astype(np.int32)] * 2, {}, "cut off"),
    ("Reduce", [_INTEGERS.astype(np.int32)], {"axes": (1,), "mode": "ReduceMean"}, "cut off"),
    ("Reduce", [_INTEGERS.astype(np.float32)], {"axes": (1,), "mode": "ReduceLogSumExp"}, "ReduceLogSumExp"),
    ("MulConst", [_INTEGERS.astype(np.int32)], {"const_val": 0.5}, "a fraction"),
    ("MulConst", [_INTEGERS.astype(np.int32)], {"const_val": 3.0}, ""),
    ("Add", [_INTEGERS.astype(np.int32)] * 2, {"coeff": (1.0, 0.5)}, "a fraction"),
    ("Square", [_INTEGERS.astype(np.int8)], {}, "wrap round"), ("Square", [_INTEGERS.astype(np.int32)], {}, ""),
    ("Sub", [_INTEGERS.astype(np.uint32)] * 2, {}, "wrap round"), ("Max", [_INTEGERS.astype(np.int8)] * 2, {}, ""),
    ("Cast", [_INTEGERS.astype(np.int32)], {"element": I8}, "wrap round"),
    ("Interp", [np.ones((1, 1, 2, 2), np.int32)], {"sizes": (4, 4), "mode": "linear"}, "cut off"),
    ("Interp", [np.ones((1, 1, 2, 2), np.int32)], {"sizes": (4, 4)}, ""),
    ("Abs", [_INTEGERS.astype(np.int8)], {}, "wrap round"), ("Abs", [_INTEGERS.astype(np.int32)], {}, ""),
    *(("Abs", [_INTEGERS.astype(kind)], {}, "") for kind in (np.uint8, np.uint16, np.uint32)),
    ("Clip", [_INTEGERS.astype(np.int32)], {"min": 0.5, "max": 6.0}, "a fraction"),
    ("Relu", [_INTEGERS.astype(np.int32)], {"relu_limit": 2.5}, "a fraction"),
    ("AddConst", [_INTEGERS.astype(np.int32)], {"const_val": 0.5}, "a fraction"),
    ("Pad", [_INTEGERS.astype(np.int32)], {"paddings": (0, 0, 1, 1), "val": 0.5}, "a fraction"),
], ids=str)
def test_what_floats_are_wrong_for_is_refused(name: str, given: list[Any], attributes: dict[str, Any], said: str) -> None:
    module = build_op(f"top.{name}", *given, **attributes)
    assert not check(module)
    found = findings_of(module)
    assert [said in finding.why for finding in found] == [True] * bool(said), found


@pytest.mark.parametrize("key", [key for key, form in FORMS.items() if f"top.{form.name}" in OPERATORS])
def test_an_attribute_that_changes_the_numbers_changes_the_text(key: str) -> None:
    """Or it is refused."""
    form = FORMS[key]
    declared = lookup(f"top.{form.name}")
    assert declared is not None
    usual = _told(form, dict(form.attributes))
    for name in declared.attributes:
        for value in other_values(name, declared.attributes[name].kind.name, dict(form.attributes)) if usual else ():
            told = _told(form, {**form.attributes, name: value})
            if told is not None and usual is not None and not _near(usual[1], told[1]):
                assert told[0] is None or not _same(usual[0], told[0]), f"{name}={value}"


def _told(form: Form, attributes: dict[str, Any]) -> tuple[list[Any] | None, list[Any]] | None:
    """What is written of an op, None where it is refused, and what it gives; None of what is no op."""
    operands = form.make(ELEMENTS["f32"])
    try:
        module: Module = build_op(f"top.{form.name}", *operands, constant=form.constant, **attributes)
        if check(module):
            return None
        arrays = [array for place, array in enumerate(operands) if array is not None and place not in form.constant]
        outputs = [*transload.run(module, dict(zip(module.inputs, arrays, strict=True))).values()]
    except TransloadError:
        return None
    if findings_of(module):
        return None, outputs
    made = written(module, "net", "net.npz")
    return [made.text, *made.weights.values()], outputs


def _same(one: Any, other: Any) -> bool:
    return one is not None and len(one) == len(other) and all(
        np.array_equal(a, b, equal_nan=not isinstance(a, str)) for a, b in zip(one, other, strict=True))


def _near(one: list[Any], other: list[Any]) -> bool:
    return all(a.shape == b.shape and np.allclose(a, b, 1e-5, 1e-5, equal_nan=True) for a, b in zip(one, other, strict=True))
