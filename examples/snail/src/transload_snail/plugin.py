"""The chip of transload-snail: what `chip.toml` says, with an instruction of its own, `snail.softsign`."""

from pathlib import Path

import numpy as np

from transload import DialectSpec, Facts, KernelTable, RewriteTable, hookimpl
from transload.ir.declare import FLOAT_TENSOR, DeclaredOp, Dialect, operand, result
from transload_targets.tensor_processor.cycles.rules import elementwise as cycles_of_elements
from transload_targets.tensor_processor.dialect.kernels import execute
from transload_targets.tensor_processor.lowering.common import has, need
from transload_targets.tensor_processor.regions.rules import elementwise as same_part
from transload_targets.tensor_processor.target import TensorProcessor

transload_api = "1.0"  # the version of the hooks that this was written for
DIALECT, KERNELS, LOWERING = Dialect("snail", "Instructions of transload-snail."), KernelTable(), RewriteTable()
KERNELS("snail.*", quantized="native")(execute)


@DIALECT.op("softsign")
class Softsign(DeclaredOp):
    """`x / (1 + |x|)`."""

    input = operand("floats", FLOAT_TENSOR)
    output = result("of the same type", FLOAT_TENSOR)

    def infer(op):
        return op.input.type


def softsign(x: np.ndarray, *, dtype: str) -> np.ndarray:
    """What the instruction computes, of whole tensors and of slices."""
    return (x / (1 + np.abs(x))).astype(dtype)


@LOWERING("top.Softsign")
def lower(op, rw):
    if not has(rw, "snail.softsign"):
        return None  # another chip, for which another rule may be there
    need(rw, "snail.softsign", op.input)
    return rw.emit("snail.softsign", op.input)


@hookimpl
def register_dialects(register):
    register(DialectSpec("snail", DIALECT, kernels=KERNELS))


@hookimpl
def register_facts(register):
    register(Facts("operation", "snail", {"snail.softsign": softsign}))
    register(Facts("region", "snail", {"snail.softsign": same_part}))
    register(Facts("cycles", "snail", {"snail.softsign": cycles_of_elements}))
    register(Facts("tpu-lowering", "top", LOWERING))


@hookimpl
def register_targets(register):
    register(TensorProcessor(Path(__file__).with_name("chip.toml"), "snail", "The chip of transload-snail.", ["snail"]))
