"""Floats of 16 bits: the schemes `f16` and `bf16`, weights and activations of half the size and no scales.

Every op of the main function that computed with f32 computes with numbers of the scheme's type; inputs and outputs stay f32,
behind casts. What f16 cannot hold stays f32, each tensor with its reason (`beyond`); finite constants beyond it, as masks have
them, become the greatest number there is. What was of another type before is of that type behind it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from transload.ir import F32, Dense, FloatType, Module, Op, TensorType, Value, dtype_of, update_function_type
from transload.ir.build import Builder, constant_of
from transload.ir.verify import verify
from transload.passes.manager import Pipeline
from transload.plugin import Quantized

from . import calibration as calibrations
from .beyond import FLOAT_SCHEMES, FloatScheme, not_held
from .borders import Which, take_casts_off
from .fills import has_far_numbers, without_far_numbers
from .layers import Floats, check_tensors, floats_of
from .measure import Sample, some_of
from .observe import observed
from .thresholds import Range

__all__ = ["FLOAT_SCHEMES", "FloatScheme", "narrowed"]


LOOKED = 32
"""Samples that say how far masks have to reach."""
_BY_BITS = ("top.Bitcast",)
"""Ops that take or give the bits of a number, which has as many as it had."""


def narrowed(
    module: Module, scheme: FloatScheme, samples: Iterable[Sample] | None = None, *, floats: Floats = None,
    quant_input: Which = None, quant_output: Which = None,
) -> Quantized:
    """A new module of the hub that computes with a scheme's floats; what stays f32, and why.

    With `samples` tensors that reach beyond the type, or not up to it, stay f32, and masks reach no farther than they have to.
    What constants say, that of numbers which the type does not hold, samples need not. `floats` names tensors that stay f32, too,
    with the ops that make or take them. `quant_input` and `quant_output` say which inputs and outputs are of the type themselves,
    "all" or names. Raises `UsageError` for names that the module does not have.
    """
    check_tensors(module, floats_of(floats, module))
    seen = None
    if samples is not None and scheme.normal:
        if has_far_numbers(module):
            some, samples = some_of(samples, LOOKED)
            module = without_far_numbers(module, some)
        seen = _ranges(module, samples)
    result = module.clone()
    named = observed(result)
    names = {value: name for name, value in named.items()}
    asked = {named[name]: why for name, why in floats_of(floats, module).items()}
    values, ops = not_held(result, scheme, seen)
    values |= asked
    _Narrowing(result, scheme, values, ops).run()
    decided = {names.get(value) or value.name or "tensor": why
               for value, why in ({op.results[0]: why for op, why in ops.items()} | values).items()}
    notes = take_casts_off(result, quant_input, quant_output, decided)
    Pipeline.parse("dce").run(result)
    verify(result)
    return Quantized(result, {**decided, **_with_regions(result)}, {"floats": scheme.name, "notes": notes}, module.clone())


def _ranges(module: Module, samples: Iterable[Sample]) -> dict[str, Range]:
    """What the tensors of a module reach on samples; what is not finite among them is passed over, but in inputs."""
    return calibrations.calibrate(module, samples, "minmax", floats=observed(module)).ranges


def _with_regions(module: Module) -> dict[str, str]:
    return {op.results[0].name or op.name: f"{op.name} has a body, which stays float"
            for op in module.body_of_main if op.regions and op.results}


class _Narrowing:
    """The change of one module, op by op; casts are made once for a value."""

    def __init__(self, module: Module, scheme: FloatScheme, kept: Collection[Value], ops: Collection[Op]) -> None:
        self.module = module
        self.scheme = scheme
        self.kept = kept
        self.ops = ops
        """Those that stay, whatever they take and give."""
        self._narrow: set[Value] = set()
        """What was f32, and is of the scheme's type."""
        self._cast: dict[tuple[Value, FloatType], Value] = {}

    def run(self) -> None:
        for op in list(self.module.body_of_main):
            if op.results and constant_of(op.results[0]) is not None:
                continue
            stays = self._stays(op)
            for inner in op.walk():  # branches and bodies of loops take values from around them
                for index, value in enumerate(inner.operands):
                    if self._is_outside(value, op):
                        inner.set_operand(index, self._as(value, F32 if stays else self.scheme.element, op))
            for result in op.results if not stays else ():
                if result.element_or_none == F32:
                    result.type = TensorType(result.tensor_type.shape, self.scheme.element)
                    self._narrow.add(result)
        update_function_type(self.module.main)

    def _stays(self, op: Op) -> bool:
        """Whether an op computes with what it did before."""
        return not op.results or bool(op.regions) or op.name in _BY_BITS or op in self.ops or any(
            value in self.kept for value in (*op.operands, *op.results))

    def _is_outside(self, value: Value, op: Op) -> bool:
        """Whether a value is of the main function's own block, and not of a body in it."""
        block = self.module.body_of_main
        return value in block.arguments or (value.op is not None and value.op.parent is block and value.op is not op)

    def _as(self, value: Value, element: FloatType, user: Op) -> Value:
        """A value of f32, or that was such, in a float type: itself, a constant, or a cast. Any other as it is."""
        if value.element_or_none == element or not (value.element_or_none == F32 or value in self._narrow):
            return value
        if (value, element) not in self._cast:
            build = Builder(user.parent, before=user, location=value.name)  # type: ignore[arg-type]
            dense = constant_of(value)
            if dense is not None:
                made = build.constant(Dense(self._rounded(dense.numpy()).astype(dtype_of(element))), element=element)
            else:
                made = build.emit("top.Cast", value, types=[TensorType(value.tensor_type.shape, element)])
            self._cast[value, element] = made
        return self._cast[value, element]

    def _rounded(self, numbers: np.ndarray) -> np.ndarray:
        """Numbers of which none that is finite becomes infinite."""
        limit = self.scheme.greatest
        return np.where(np.isinf(numbers), numbers, np.clip(numbers, -limit, limit))
