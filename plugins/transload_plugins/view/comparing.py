"""Float beside quantized, tensor by tensor: how far each is off, and numbers of both for plots."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from transload.api import run, runnable
from transload.engine.quantized import dequantize
from transload.errors import UsageError
from transload.ir import Module, QuantType, TensorType, Value
from transload.json_text import plain
from transload.layers import layer_values, layers_report
from transload.meanings import as_taken, taken_rounded
from transload.metrics import cosine, euclid, sqnr
from transload.report import LayersReport
from transload.verification.inputs import random_inputs
from transload.verification.layers import quantized_elements

from .constants import histogram

__all__ = ["beside", "by_name", "made_up"]

POINTS = 1500
"""Numbers of a tensor that plots have."""
ALL_POINTS = 400_000
"""Numbers of all tensors together: of many layers each has fewer."""


def beside(
    floats: Module, quantized: Module, samples: Iterable[Mapping[str, Any]] | None, measured: LayersReport | None = None,
) -> dict[str, Any]:
    """A float module of the hub and its quantized form, layer by layer; on random numbers where there are no samples.

    `measured` is what was measured already. Raises what running the modules raises.
    """
    made_up = samples is None
    taken = [random_inputs(floats, floats)] if samples is None else samples
    report = measured if measured is not None else layers_report(floats, quantized, taken)
    told: dict[str, Any] = plain(report)
    values = layer_values(floats, quantized, next(iter(taken)), max(min(POINTS, ALL_POINTS // max(len(report.layers), 1)), 64))
    for layer, (wanted, found) in zip(told["layers"], values, strict=True):
        layer.update(_plotted(wanted, found))
    return {**told, "random": made_up, "judged": "own"}


def made_up(first: Module, second: Module) -> dict[str, Any]:
    """Random numbers for both of two modules: within what the second takes, where its inputs are quantized."""
    given = random_inputs(first, first)
    generator = np.random.default_rng(0)
    if len(given) == len(second.body_of_main.arguments):
        for (name, array), argument in zip(given.items(), second.body_of_main.arguments, strict=True):
            quant = next((held.quant for held in (argument, *(user.results[0] for user in argument.uses if user.results))
                          if held.quant is not None and held.quant.per_tensor), None)
            if quant is not None and array.dtype.kind == "f":
                low, high = ((end - quant.zero_point) * quant.scale for end in (quant.storage_min, quant.storage_max))
                given[name] = generator.uniform(low, high, array.shape).astype(array.dtype)
    return given


def by_name(first: Module, second: Module, sample: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors that two modules know by one name, run on one sample; integers as the numbers that they stand for.

    Raises `UsageError` where the modules have not as many inputs.
    """
    given = dict(sample)
    names = list(second.inputs)
    if len(names) != len(given):
        raise UsageError(f"the models have {len(given)} and {len(names)} inputs: they cannot be run on the same numbers")
    fed = given if set(names) == set(given) else dict(zip(names, given.values(), strict=True))
    wanted, found = _values(first, given, {}), _values(second, fed, quantized_elements(first))
    pairs = [(name, wanted[name], found[name]) for name in wanted if name in found]
    most = max(min(POINTS, ALL_POINTS // max(len(pairs), 1)), 64)
    layers = []
    for place, (name, (value, array), (other, held)) in enumerate(pairs):
        if array.size != held.size or array.dtype.kind not in "iufb":
            continue
        held = _turned(held, array)
        layers.append({
            "name": name, "op": value.op.name if value.op is not None else "input", "place": place, "own": None,
            "type": str(other.stored_element), "accumulated": _near(array, held), "why": "",
            **_counts(array), **_plotted(_thin(array, most), _thin(held, most))})
    return {"samples": 1, "layers": layers, "judged": "accumulated",
            "outputs": {each["name"]: each["accumulated"] for each in layers if each["name"] in first.outputs}}


def _values(
    module: Module, given: Mapping[str, Any], elements: Mapping[str, QuantType],
) -> dict[str, tuple[Value, np.ndarray]]:
    """What a module computes, by the names of tensors, as the real numbers that it stands for and that are taken (`as_taken`).

    Of integers without a scale, as artifacts have them, `elements` say what they stand for.
    """
    found: dict[str, tuple[Value, np.ndarray]] = {}

    def keep(value: Value, array: Any) -> None:
        if value.name and isinstance(value.type, TensorType):
            numbers = np.asarray(array)
            quant = (value.quant or elements.get(value.name)) if numbers.dtype.kind in "iu" else None
            found[value.name] = value, numbers if quant is None else dequantize(_signed_as(numbers, quant), quant)

    stored = {name: _stored(type_, np.asarray(array))
              for (name, type_), array in zip(module.inputs.items(), given.values(), strict=True)}
    held = runnable(module)
    run(held, stored, watch=keep)
    taken = as_taken({name: numbers for name, (_, numbers) in found.items()}, taken_rounded(held))
    return {name: (value, taken[name]) for name, (value, _) in found.items()}


def _signed_as(numbers: np.ndarray, quant: QuantType) -> np.ndarray:
    """Stored integers with the sign that a type has: an artifact may hold unsigned ones less by half their range."""
    if not quant.storage.unsigned or numbers.dtype.kind != "i":
        return numbers
    return (numbers.astype(np.int32) + (1 << (quant.storage.width - 1))).astype(f"u{numbers.dtype.itemsize}")


def _stored(type_: Any, array: np.ndarray) -> np.ndarray:
    """Real numbers as the integers that a quantized input takes."""
    from transload.engine.quantized import quantize

    element = type_.element if isinstance(type_, TensorType) else None
    return quantize(array, element) if isinstance(element, QuantType) and array.dtype.kind == "f" else array


def _turned(held: np.ndarray, array: np.ndarray) -> np.ndarray:
    """A tensor whose channels stand elsewhere, as the other has it."""
    if held.shape == array.shape or held.ndim != array.ndim or held.ndim < 3:
        return held
    for order in ((0, *range(2, held.ndim), 1), (0, held.ndim - 1, *range(1, held.ndim - 1))):
        if tuple(held.shape[axis] for axis in order) == array.shape:
            return held.transpose(order)
    return held


def _near(array: np.ndarray, held: np.ndarray) -> dict[str, Any]:
    told: dict[str, Any] = plain({"cos": cosine(array, held), "euclid": euclid(array, held), "sqnr": sqnr(array, held)})
    return told


def _counts(array: np.ndarray) -> dict[str, Any]:
    numbers = np.asarray(array, np.float64).ravel()
    told = histogram(numbers[np.isfinite(numbers)])
    return {"counts": told["counts"], "counts_from": told["from"], "counts_to": told["to"]}


def _thin(array: np.ndarray, most: int) -> np.ndarray:
    flat = array.reshape(-1)
    return flat if flat.size <= most else flat[np.linspace(0, flat.size - 1, most).astype(np.int64)]


def _plotted(wanted: np.ndarray, found: np.ndarray) -> dict[str, str]:
    return {"wanted": _packed(wanted), "found": _packed(found)}


def _packed(numbers: np.ndarray) -> str:
    """Numbers as base64 of float32, little-endian, which a page reads without parsing."""
    with np.errstate(over="ignore"):
        return b64encode(np.ascontiguousarray(numbers, "<f4").tobytes()).decode("ascii")
