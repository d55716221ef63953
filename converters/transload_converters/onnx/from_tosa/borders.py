"""Before and after the rewrites of TOSA's operators: what the model takes and gives, and the way of quantized models by TOSA."""

from __future__ import annotations

from transload.conversion import apply_conversion
from transload.errors import UsageError
from transload.ir import Module, TensorType, Value
from transload.ir.build import Builder, constant_of
from transload.passes.borders import restore_element_types
from transload.plugin_host import host
from transload_hub.simplify.spell_out import rounds_otherwise, rounds_stored

from ..lowering.common import cast
from ..lowering.qoperator import FORM
from ..types import element_code

__all__ = ["restore_borders", "state_integers"]

INTEGERS, DIRECT = "top-to-tosa", "tosa-to-onnx"


def restore_borders(module: Module) -> bool:
    """Let the functions take and give again what they did before the lowering to TOSA, as it is noted of them."""
    return restore_element_types(module, _converted, lambda element: element_code(element) is not None)


def _converted(rw: Builder, x: Value, wanted: TensorType) -> Value:
    """A Cast: between integers it keeps the low bits."""
    return cast(rw, x, wanted.element)


def state_integers(module: Module, form: str = "auto", bits: str = "64") -> bool:
    """Write quantized ops in the integers that they stand for, by way of TOSA.

    Where `form` is "integers", and with "auto" in a module whose ops round otherwise than QDQ does, which rounds once. What else
    "auto" is, is noted of the module for `onnx-qoperator`: by then nothing says any more how ops round. Runtimes without numbers
    of 64 bits (OpenVINO) have no operators on quantized numbers either.
    """
    wanted = (form == "integers" and _computes_on_integers(module)) or (
        form == "auto" and any(map(rounds_otherwise, module.walk())))
    if not wanted:
        if form == "auto" and bits == "64" and any(map(rounds_stored, module.walk())):
            module.attributes[FORM] = "qoperator"
        return FORM in module.attributes
    conversions = host().conversions
    if INTEGERS not in conversions:
        if form == "auto":
            return False
        raise UsageError(
            "form=integers states quantized operators by their lowering to TOSA, and the plugin `tosa` is not there",
            hint="leave it in TRANSLOAD_PLUGINS, or choose form=qdq")
    apply_conversion(conversions[INTEGERS], module)
    apply_conversion(conversions[DIRECT], module, bits=bits)
    if form == "auto":
        module.notes = (*module.notes, (
            "quantized operators are written in integers, to the last bit, for QDQ rounds otherwise than they do; "
            "`--option form=qdq` writes QDQ, which is faster in onnxruntime, and a step off here and there"))
    return True


def _computes_on_integers(module: Module) -> bool:
    """Whether an op computes on quantized numbers: weights that are only stored so are none of that."""
    return any(value.is_quantized and constant_of(value) is None for op in module.walk() for value in op.results)
