"""What more bits for a tensor cost: the work of the ops that make it or take it, beside that of all."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection

from transload.ir import Op, Value
from transload.ir.build import constant_of

from .groups import Groups, rule_of
from .simulation import channel_count

__all__ = ["LITTLE", "prices", "work_of"]

LITTLE = 0.1


def prices(groups: Groups, roots: Collection[Value]) -> dict[Value, float]:
    """The price of more bits for each group of tensors, by its root; those of all groups are at most 1 together.

    All groups cost alike, for noise is the worst where much is computed, and products with weights of 16 bits are dear anywhere;
    but for those that no such product makes or takes: where their ops, which compute with as many bits then, have less than
    `LITTLE` of the work that there is for a group in the mean, it is the price.
    """
    work: Counter[Value] = Counter()
    dear: set[Value] = set()
    priced = set(roots)
    for op in groups.ops:
        rule = rule_of(op)
        touched = {groups.root(value) for value in (*op.operands, *op.results) if constant_of(value) is None} & priced
        work.update(dict.fromkeys(touched, work_of(op)))
        if rule is not None and rule.weights is not None:
            dear |= touched
    whole = max(sum(work.values()), 1)
    mean = 1 / len(roots) if roots else 1.0
    return {root: share if (share := work[root] / whole) < LITTLE * mean and root not in dear else mean for root in roots}


def work_of(op: Op) -> int:
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
