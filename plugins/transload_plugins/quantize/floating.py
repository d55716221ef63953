"""Floats of 16 bits: the schemes `f16` and `bf16`, weights and activations of half the size and no scales.

Every op of the main function computes with numbers of the scheme's type; inputs and outputs stay f32, behind casts. What f16
cannot hold, numbers beyond 65504 that samples show, stays f32, each tensor with its reason; constants beyond it, as masks have
them, become the greatest number there is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from transload.ir import BF16, F16, F32, Dense, FloatType, Module, Op, TensorType, Value, dtype_of, update_function_type
from transload.ir.build import Builder, constant_of
from transload.ir.verify import verify
from transload.passes.manager import Pipeline
from transload.plugin import Quantized

from . import calibration as calibrations
from .borders import Which, take_casts_off
from .layers import Floats, check_tensors, floats_of
from .measure import Sample
from .observe import observed

__all__ = ["FLOAT_SCHEMES", "FloatScheme", "narrowed"]


@dataclass(frozen=True)
class FloatScheme:
    """Which floats a model computes with."""

    name: str
    element: FloatType
    greatest: float
    """The greatest number that the type holds."""


FLOAT_SCHEMES = {scheme.name: scheme for scheme in (FloatScheme("f16", F16, 65504.0), FloatScheme("bf16", BF16, 3.3895314e38))}

_BY_BITS = ("top.Bitcast",)
"""Ops that take or give the bits of a number, which has as many as it had."""


def narrowed(
    module: Module, scheme: FloatScheme, samples: Iterable[Sample] | None = None, *, floats: Floats = None,
    quant_input: Which = None, quant_output: Which = None,
) -> Quantized:
    """A new module of the hub that computes with a scheme's floats; what stays f32, and why.

    With `samples` tensors that reach beyond the type stay f32, as do those that `floats` names, with the ops that make or take
    them. `quant_input` and `quant_output` say which inputs and outputs are of the type themselves, "all" or names. Raises
    `UsageError` for names that the module does not have.
    """
    result = module.clone()
    named = observed(result)
    kept = floats_of(floats, module)
    check_tensors(module, kept)
    decided = {**_beyond(module, scheme, samples), **kept}
    _Narrowing(result, scheme, {named[name] for name in decided}).run()
    notes = take_casts_off(result, quant_input, quant_output, decided)
    Pipeline.parse("dce").run(result)
    verify(result)
    return Quantized(result, {**decided, **_with_regions(result)}, {"floats": scheme.name, "notes": notes}, module.clone())


def _beyond(module: Module, scheme: FloatScheme, samples: Iterable[Sample] | None) -> dict[str, str]:
    """The tensors whose numbers on the samples are greater than any of the type's."""
    if samples is None or scheme.element == BF16:  # which reaches as far as f32
        return {}
    ranges = calibrations.calibrate(module, samples, "minmax").ranges
    return {
        name: f"reaches to {max(-low, high):.3g}, beyond {scheme.name}"
        for name, (low, high) in ranges.items() if max(-low, high) > scheme.greatest}


def _with_regions(module: Module) -> dict[str, str]:
    return {op.results[0].name or op.name: f"{op.name} has a body, which stays float"
            for op in module.body_of_main if op.regions and op.results}


class _Narrowing:
    """The change of one module, op by op; casts are made once for a value."""

    def __init__(self, module: Module, scheme: FloatScheme, kept: Collection[Value]) -> None:
        self.module = module
        self.scheme = scheme
        self.kept = kept
        self._cast: dict[tuple[Value, FloatType], Value] = {}

    def run(self) -> None:
        for op in list(self.module.body_of_main):
            if op.results and constant_of(op.results[0]) is not None:
                continue
            stays = not op.results or bool(op.regions) or op.name in _BY_BITS or any(
                value in self.kept for value in (*op.operands, *op.results))
            element = F32 if stays else self.scheme.element
            for inner in op.walk():  # branches and bodies of loops take values from around them
                for index, value in enumerate(inner.operands):
                    if value.element_or_none in (F32, self.scheme.element) and self._is_outside(value, op):
                        inner.set_operand(index, self._as(value, element, op))
            if not stays:
                for result in op.results:
                    if result.element_or_none == F32:
                        result.type = TensorType(result.tensor_type.shape, element)
        update_function_type(self.module.main)

    def _is_outside(self, value: Value, op: Op) -> bool:
        """Whether a value is of the main function's own block, and not of a body in it."""
        block = self.module.body_of_main
        return value in block.arguments or (value.op is not None and value.op.parent is block and value.op is not op)

    def _as(self, value: Value, element: FloatType, user: Op) -> Value:
        """A value in a float type: itself, a constant, or a cast."""
        if value.element_or_none == element:
            return value
        if (value, element) not in self._cast:
            build = Builder(user.parent, before=user, location=value.name)  # type: ignore[arg-type]
            dense = constant_of(value)
            if dense is not None:
                limit = self.scheme.greatest
                made = build.constant(Dense(np.clip(dense.numpy(), -limit, limit).astype(dtype_of(element))), element=element)
            else:
                made = build.emit("top.Cast", value, types=[TensorType(value.tensor_type.shape, element)])
            self._cast[value, element] = made
        return self._cast[value, element]
