"""Forms of the hub's ops with other attributes than the usual ones: a target that does not read one gives other numbers."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError, TransloadError, Unsupported
from transload.ir import Module
from transload.ir.registry import lookup
from transload.ir.verify import check
from transload.testing import build_op

from .coreml.folding import folded
from .forms import ELEMENTS, FORMS, Form, Make, numbers

NEEDS = {"onnx": "onnxruntime", "tflite": "ai_edge_litert", "stablehlo": "jaxlib", "tosa": "numpy", "tp-large": "numpy",
         "openvino": "openvino", "coreml": "coremltools"}
_FLOAT = np.finfo(np.float32)
_NUMBERS = (-1.0, 0.0, 0.5, 1.0, 2.0, 1e-3, 6.0)
_WITHOUT_MEANING = {"TopK": ("sorted",), "LRN": ("alpha", "bias", "beta"), "Selu": ("alpha",)}
"""Attributes that say nothing of the numbers or their order, and those that runtimes limit to what networks have."""


def _varied(seed: int) -> tuple[Form, dict[str, Any]]:
    """A form, and its attributes, of which one to three are others."""
    chosen = random.Random(seed)
    form = FORMS[chosen.choice(list(FORMS))]
    declared = lookup(f"top.{form.name}")
    assert declared is not None
    attributes = dict(form.attributes)
    names = [name for name in declared.attributes if name not in _WITHOUT_MEANING.get(form.name, ())]
    for name in chosen.sample(names, min(len(names), chosen.choice([1, 1, 2, 3]))):
        value = _other(chosen, name, declared.attributes[name].kind.name, attributes)
        if value is not None:
            attributes[name] = value
    return form, attributes


def _other(chosen: random.Random, name: str, kind: str, attributes: dict[str, Any]) -> Any:
    """Another value of an attribute of a kind; None of a kind that is none of numbers, words or choices."""
    held = attributes.get(name)
    if kind == "true or false":
        return not held
    if "'" in kind:
        return chosen.choice(re.findall(r"'([^']*)'", kind))
    if kind.startswith("integers"):
        dimensions = len(attributes.get("kernel_shape", (1, 1)))
        usual = {"pads": (0,) * 2 * dimensions, "strides": (1,) * dimensions, "dilations": (1,) * dimensions}
        values = list(held if held is not None else usual.get(name, (0,)))
        if name == "order":
            return tuple(chosen.sample(values, len(values)))
        if values:
            values[chosen.randrange(len(values))] += chosen.choice([-2, -1, 1, 1, 2])
        return tuple(values)
    if kind.startswith("floats"):
        count = len(held or attributes.get("sizes", (1, 1)))
        return tuple(chosen.choice(_NUMBERS[3:5] if name == "scales" else _NUMBERS) for _ in range(count))
    if kind.startswith("integer"):
        return chosen.choice([-2, -1, 0, 1, 2, 3])
    return chosen.choice(_NUMBERS) if kind.startswith(("float", "number")) else None


def other_values(name: str, kind: str, attributes: dict[str, Any]) -> list[Any]:
    """A few other values of an attribute (`_other`), the same ones each time."""
    drawn = [_other(random.Random(seed), name, kind, attributes) for seed in range(6)]
    return list(dict.fromkeys(value for value in drawn if value is not None))


def _computed(target: str, module: Module, given: dict[str, np.ndarray], tmp_path: Path) -> list[np.ndarray | None]:
    """What a target makes of a module gives; None for what is not known of Core ML, which runs on Apple's systems alone."""
    if target == "coreml":
        return folded(module, list(given.values()))
    transload.convert(module, target, tmp_path / "out", verify=False)
    return list(transload.run(tmp_path / "out", given).values())


def _agrees(
    target: str, form: Form, attributes: dict[str, Any], tmp_path: Path, taken: bool = False, element: str = "f32",
) -> None:
    """Fails where what a target writes of an op does not run, or gives other numbers than the hub; what it refuses holds.

    Of what is `taken` nothing may be refused: it has to be an op, which the hub runs and the target converts.
    """
    operands = form.make(ELEMENTS[element])
    try:
        module = build_op(f"top.{form.name}", *operands, constant=form.constant, **attributes)
        findings = check(module)
        if findings:
            assert not taken, findings
            return
        arrays = [array for place, array in enumerate(operands) if array is not None and place not in form.constant]
        given = dict(zip(module.inputs, arrays, strict=True))
        wanted = transload.run(module, given)
    except TransloadError:
        if taken:
            raise
        return
    try:
        found = _computed(target, module, given, tmp_path)
    except (ConversionError, Unsupported) as error:
        assert isinstance(error, Unsupported) or (error.findings and "please report" not in str(error))
        if taken:
            raise
        return
    for one, other in zip(wanted.values(), found, strict=True):
        if other is None:
            continue
        assert one.shape == other.shape
        if target in ("tflite", "openvino"):  # which keep numbers between the ends of float32, of windows of padding alone
            one = np.clip(one, -_FLOAT.max, _FLOAT.max)
        np.testing.assert_allclose(other.astype(np.float64), one.astype(np.float64), rtol=2e-4, atol=2e-4)


@pytest.mark.one_in(13)
@pytest.mark.parametrize("target", NEEDS)
@pytest.mark.parametrize("seed", range(301))
def test_any_attributes_are_the_hubs(target: str, seed: int, tmp_path: Path) -> None:
    pytest.importorskip(NEEDS[target])
    form, attributes = _varied(seed)
    whole = target == "coreml" and form.name != "TopK"  # of whose equal numbers coremltools takes any
    _agrees(target, form, attributes, tmp_path, element=("f32", "i32", "i8")[seed % 3] if whole else "f32")


def _images(count: int) -> Make:
    return lambda dtype: [numbers(dtype, 1, 3, 6, 6)] * count


_LOGARITHM = {"tflite": "logarithm of a scaled sigmoid", "tp-large": "top.Sigmoid"}
_RELU = {"do_relu": True, "relu_limit": 1.5}


@pytest.mark.parametrize("target", NEEDS)
@pytest.mark.parametrize(("name", "attributes", "refused"), [
    ("Sigmoid", {"log": True, "scale": 2.0}, _LOGARITHM),
    ("Sigmoid", {"log": True, "bias": 0.5}, _LOGARITHM),
    ("Interp", {"sizes": (8, 8), "antialias": True}, {"coreml": "without smoothing"}),
    ("Interp", {"sizes": (7, 9), "mode": "linear", "exclude_outside": True}, {"coreml": "without smoothing"}),
    ("AvgPool", {"kernel_shape": (2, 2), "strides": (2, 2), "pads": (2, 0, 0, 0)}, {"tosa": "padding as wide as the window"}),
    ("AvgPool", {"kernel_shape": (2, 1), "strides": (1, 2), "pads": (1, 1, 2, 0), "count_include_pad": True}, {}),
    ("AvgPool", {"kernel_shape": (3, 3), "pads": (2, 0, 3, 0)}, {"tosa": "padding as wide as the window"}),
    ("MaxPool", {"kernel_shape": (3, 2), "pads": (1, 2, 2, 1)}, {}),
    ("Interp", {"sizes": (3, 3), "mode": "linear", "antialias": True},
     {"openvino": "not read `antialias`", "tp-large": "with antialias", "coreml": "without smoothing"}),
    ("Interp", {"sizes": (7, 9), "mode": "cubic", "exclude_outside": True},
     {"openvino": "not read `exclude_outside`", "tp-large": "cubic of 2 dimensions", "coreml": "without smoothing"}),
    ("MaxPool", {"kernel_shape": (2, 2), **_RELU}, {}),
    ("Upsample", {"scale_h": 2, "scale_w": 3, **_RELU}, {"tp-large": "an activation"}),
    ("HardSigmoid", {"alpha": 0.0}, {}), ("Add", {"coeff": (1.0, 0.5), **_RELU}, {}),
], ids=str)
def test_what_networks_seldom_have(
    target: str, name: str, attributes: dict[str, Any], refused: dict[str, str], tmp_path: Path,
) -> None:
    """ONNX gave the logarithm of the plain sigmoid, and files that onnxruntime did not load: padding as wide as a window.

    OpenVINO read no `antialias` and took 0 for nothing, and the tensor processor left out factors of sums.
    """
    pytest.importorskip(NEEDS[target])
    form = Form(name, _images(1 + (name == "Add")))
    if target in refused:
        with pytest.raises((ConversionError, Unsupported), match=refused[target]):
            _agrees(target, form, attributes, tmp_path, taken=True)
    else:
        _agrees(target, form, attributes, tmp_path, taken=True)
