"""Post-processing of detections as custom operations, by the option `postprocess=custom`.

Non-maximum suppression and TFLite_Detection_PostProcess are loops over boxes. Lowered, they are thousands of ordinary
operations; a system that has them as one operation of its own is better served by a custom one, `tflite.<OPERATOR>`. What
the custom operation computes is what the lowered one does: the kernel converts the operator and runs that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from transload.conversion import rewriting_of
from transload.ir import F32, Op, QuantType, TensorType, Value, element_type_of, new_module, set_results
from transload.ir.build import Builder
from transload.ir.declare import Dialect
from transload.plugin import KernelTable
from transload.plugin_host import Host, host
from transload.rewrite import Rewriter

from .choices import chosen
from .operators import bytes_attribute

__all__ = ["KERNELS", "OPERATORS", "TFLITE", "lowered_or_custom"]

TFLITE = Dialect("tflite", "The domain of TFLite's custom operations; it has no ops of its own, only kernels of custom ones.")

OPERATORS = ("TFLite_Detection_PostProcess", "NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5")
"""What `postprocess=custom` makes custom operations of."""

KERNELS = KernelTable()


def lowered_or_custom(
    op: Op, rw: Rewriter, operator: str, options: Mapping[str, Any], lowered: Callable[[Op, Rewriter], tuple[Value, ...]],
) -> tuple[Value, ...]:
    """What `lowered` makes of an operator or, as the user chose, a custom op with the same operands and results."""
    before = op.prev
    values = lowered(op, rw)
    if chosen(rw, "postprocess") == "lower":
        return values
    types = [value.type for value in values]
    while op.prev is not before and op.prev is not None:  # the types are all that is needed of it
        op.prev.erase()
    operands = [
        rw.emit("top.Cast", value, element=F32) if isinstance(value.element, QuantType) else value for value in op.operands]
    return tuple(rw.create("top.Custom", operands, types, {"name": f"tflite.{operator}", "options": dict(options)}).results)


def _kernel(operator: str) -> Callable[..., Any]:
    """The kernel of a custom op: what the operator is lowered to, run."""
    def kernel(op: Op, *arrays: np.ndarray, options: Mapping[str, Any]) -> tuple[np.ndarray, ...]:
        tensors = tuple((array.shape, array.dtype.str) for array in arrays)
        scalars = tuple(None if array.ndim else array.item() for array in arrays)
        execute = _program(host(), operator, tuple(sorted(options.items())), tensors, scalars, len(op.results))
        given = {f"x{index}": array for index, array in enumerate(arrays) if array.ndim}
        return tuple(execute(given, False).values())

    return kernel


@lru_cache(maxsize=32)
def _program(
    plugins: Host, operator: str, options: tuple[tuple[str, Any], ...], tensors: tuple[tuple[tuple[int, ...], str], ...],
    scalars: tuple[Any, ...], n_results: int,
) -> Callable[..., dict[str, np.ndarray]]:
    """A function that computes an operator on tensors of these shapes and types, and these scalars as constants.

    It is made of what `plugins`, the host that is bound, says of the operator.
    """
    types = [TensorType(shape, element_type_of(np.dtype(dtype))) for shape, dtype in tensors]
    names = [f"x{index}" for index, number in enumerate(scalars) if number is None]
    module = new_module()
    function = module.add_function("main", [type_ for type_, n in zip(types, scalars, strict=True) if n is None], names)
    block = function.regions[0].block
    build, arguments = Builder(block), iter(block.arguments)
    operands = [
        next(arguments) if number is None else build.constant(np.asarray(number, dtype))
        for number, (_, dtype) in zip(scalars, tensors, strict=True)]
    custom = dict(options).get("custom_option")
    attributes: dict[str, Any] = {} if custom is None else {
        "custom_code": operator, "custom_option": bytes_attribute(bytes.fromhex(custom))}
    name = f"tfl.{operator.lower()}" if custom is None else "tfl.custom"
    made = block.append(Op(name, operands, [TensorType(None, F32)] * n_results, attributes))
    set_results(function, made.results, [f"y{index}" for index in range(n_results)])
    rewriting_of(plugins.get("conversions", "tfl-to-top"), module).convert(module)
    return plugins.engine("reference")(module, "main")


for _operator in OPERATORS:
    KERNELS(f"tflite.{_operator}", quantized="native")(_kernel(_operator))
