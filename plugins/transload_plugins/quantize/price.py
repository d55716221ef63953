"""What more bits for a tensor cost: the work of the ops that make it or take it, beside that of all."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection

from transload.ir import Op, Value
from transload.ir.build import constant_of

from .groups import Groups, rule_of
from .simulation import channel_count

__all__ = ["prices"]


def prices(groups: Groups, roots: Collection[Value]) -> dict[Value, float]:
    """The price of more bits for each group of tensors, by its root; those of all groups are at most 1 together.

    It is the share that ops have in the work which make or take the group's tensors, for they compute with as many bits then;
    but no group is dearer than the mean of all: noise is the worst where much is computed.
    """
    work: Counter[Value] = Counter()
    for op in groups.ops:
        touched = {groups.root(value) for value in (*op.operands, *op.results) if constant_of(value) is None}
        work.update(dict.fromkeys(touched & set(roots), _work(op)))
    whole = max(sum(work.values()), 1)
    return {root: min(1 / len(roots), work[root] / whole) for root in roots}


def _work(op: Op) -> int:
    """Multiplications of an op that sums products, numbers of the result of any other."""
    numbers = math.prod(op.results[0].static_shape)
    rule = rule_of(op)
    if rule is None or rule.weights is None:
        return numbers
    weights = op.operands[rule.weights]
    if constant_of(weights) is None:
        left = op.operands[0].static_shape
        return numbers * left[-2 if op.attribute("left_transpose", False) and len(left) > 1 else -1] if left else numbers
    return numbers // max(channel_count(op, rule), 1) * math.prod(weights.static_shape)
