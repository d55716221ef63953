"""Models that are quantized already, as float models: what the scheme `float` gives, and other schemes begin with.

Each op computes with the real numbers that its operands stood for. A result saturated at the ends of its type, which is where
activations went that were folded into it; so it is clipped to these. Inputs and outputs keep their types, behind casts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from transload.analysis.movement import moves_of
from transload.errors import UsageError
from transload.ir import Block, FloatType, Module, Op, QuantType, Value, update_function_type
from transload.ir.build import Builder, constant_of
from transload.ir.verify import verify
from transload.passes.manager import Pipeline
from transload.plugin import Quantized
from transload.quantization import floats_in

from .borders import Which, take_casts_off
from .measure import Sample

__all__ = ["as_floats", "begun", "floats", "has_quantized"]


def floats(
    module: Module, samples: Iterable[Sample] | None = None, /, *, quant_input: Which = None, quant_output: Which = None,
) -> Quantized:
    """A quantized module of the hub as one of floats; samples say nothing to it. Raises as `as_floats` does."""
    if not has_quantized(module):
        raise UsageError("the model is not quantized, so that there is nothing to make floats of")
    result = as_floats(module)
    notes = take_casts_off(result, quant_input, quant_output)
    return Quantized(result, {}, {"floats": "f32", "notes": notes}, result.clone())


def has_quantized(module: Module) -> bool:
    """Whether something that is computed in a module is quantized; constants behind casts are not."""
    return any(result.quant is not None and constant_of(result) is None for op in module.body_of_main for result in op.results)


def begun(module: Module) -> Module:
    """What a scheme begins with: a model that is quantized throughout as one of floats, and any other as it is."""
    return as_floats(module) if not floats_in(module) and has_quantized(module) else module


def as_floats(module: Module) -> Module:
    """A new module that computes with the real numbers of a quantized one.

    Raises `UsageError` for a model that computes with stored integers by the way, as bodies of loops and branches do.
    """
    result = module.clone()
    Pipeline.parse("spell-out-quantized").run(result)
    _Changing(result).run()
    Pipeline.parse("dequantize-weights,dce").run(result)
    update_function_type(result.main)
    verify(result)
    return result


class _Changing:
    """The change of one module, whose quantized ops stand between casts."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.real: dict[Value, Value] = {}
        """What a quantized value stands for."""

    def run(self) -> None:
        for op in list(self.module.body_of_main):
            if op.name == "top.Cast" and op.results[0].quant is not None:
                self._quantizes(op)
            elif op.name == "top.Cast" and op.operands[0] in self.real and isinstance(op.results[0].element, FloatType):
                real, made = self.real[op.operands[0]], op.results[0]
                if real.element == made.element:
                    made.replace_all_uses_with(real)
                else:
                    op.set_operand(0, real)
            elif op.name != "top.Cast" and "terminator" not in (op.declaration.traits if op.declaration is not None else ()):
                self._refuse(op)

    def _quantizes(self, op: Op) -> None:
        """A cast to a quantized type: where its source stands for real numbers, so does its result, clipped."""
        source, quant = op.operands[0], op.results[0].quant
        assert quant is not None
        if constant_of(source) is not None:
            return
        real = self.real.get(source, source)
        if real.quant is not None:  # an input, which keeps its type
            build = Builder(op.parent, before=op, location=source.name)  # type: ignore[arg-type]
            real = build.emit("top.Cast", source, element=real.quant.expressed)
        if not isinstance(real.element_or_none, FloatType):
            return
        self.real[op.results[0]] = self._named(self._clipped(real, quant, op), real, op)

    @staticmethod
    def _named(made: Value, real: Value, quantizing: Op) -> Value:
        """`made` by the name of the tensor that it stands for; what it is clipped of, where it had none, by one made of that."""
        name = quantizing.results[0].name
        if name and made.op is not None and made.name is None:
            made.op.location = name
            if real is not made and real.op is not None and real.name is None:
                real.op.location = f"{name}/unclipped"
        return made

    def _clipped(self, real: Value, quant: QuantType, before: Op) -> Value:
        """Real numbers within the range of a type; as they are where they only were moved, or have many scales."""
        maker = real.op
        if not quant.per_tensor or quant.storage.width > 16 or (maker is not None and moves_of(maker) is not None):
            return real
        low, high = ((end - quant.zero_point) * quant.scale for end in (quant.storage_min, quant.storage_max))
        assert isinstance(before.parent, Block)
        build = Builder(before.parent, before=before)
        made: Value = build.emit("top.Clip", real, min=low, max=high)
        return made

    def _refuse(self, op: Op) -> None:
        inner: list[Any] = [value for each in op.walk() for value in (*each.operands, *each.results)]
        if any(value.quant is not None and constant_of(value) is None for value in inner if isinstance(value, Value)):
            raise UsageError(
                f"{op.name} {op.origin or ''} computes with stored integers, which have no form in floats".replace("  ", " "),
                hint="convert the model as it is, without --quantize")
