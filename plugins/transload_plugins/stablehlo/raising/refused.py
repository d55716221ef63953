"""Ops that are not converted, each with the reason; collectives of one process, which do nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from transload.errors import Unsupported
from transload.ir import Op, Value
from transload.rewrite import Rewriter, RewriteTable

from .table import like

if TYPE_CHECKING:
    from ..dialect.control import PartitionId, ReplicaId

__all__ = ["TABLE"]

TABLE = RewriteTable()

_ALONE = "export the program for one device"
_NO_TOKENS = ("orders effects outside of the program", "leave the effects out of what is exported")

TABLE.refuse({
    "stablehlo.after_all": _NO_TOKENS,
    "stablehlo.create_token": _NO_TOKENS,
    "stablehlo.infeed": ("reads from outside of the program while it runs", "pass it as an argument"),
    "stablehlo.outfeed": ("writes outside of the program while it runs", "return it as a result"),
    "stablehlo.send": ("sends to another process", _ALONE),
    "stablehlo.recv": ("receives from another process", _ALONE),
    "stablehlo.rng_bit_generator": (
        "makes random bits from a state that is computed at run time, in 64-bit unsigned arithmetic that the hub's targets lack",
        "make the random numbers before, and pass them as an argument"),
    "stablehlo.tuple": ("makes a tuple that is not taken apart again", "pass tensors"),
    "stablehlo.get_tuple_element": ("takes apart a tuple that the program does not make itself", "pass tensors"),
})

COLLECTIVES = (
    "all_gather", "all_reduce", "all_to_all", "collective_broadcast", "collective_permute", "collective_reduce",
    "cross-replica-sum", "reduce_scatter")


@TABLE(*(f"stablehlo.{name}" for name in COLLECTIVES))
def collective(op: Op, rw: Rewriter) -> Sequence[Value]:
    """Among groups of one process each, the operands.

    No group at all is one of all processes, of which there is one; -1 fills up a row of fewer than others. What nobody sends
    is zeros.
    """
    if op.name == "stablehlo.collective_permute":
        pairs = op.attributes["source_target_pairs"].numpy()
        if pairs.size == 0:
            return [rw.emit("top.Where", rw.constant(np.array(False)), x, like(rw, x, 0)) for x in op.operands]
        alone = pairs.tolist() == [[0, 0]]
    else:
        groups = op.attributes.get("replica_groups")
        alone = groups is not None and [each for each in groups.numpy().ravel().tolist() if each != -1] in ([], [0])
    if alone and len(op.operands) == len(op.results):
        return op.operands
    raise Unsupported("exchanges values between processes", _ALONE)


@TABLE("stablehlo.replica_id", "stablehlo.partition_id")
def process(op: PartitionId | ReplicaId, rw: Rewriter) -> Value:
    """The number of the only process."""
    return rw.constant(np.array(0, np.uint32), op.results[0].element)
