"""Which tensors share one quantized type, and what range it has to hold.

An op that only moves numbers has the same type before and after; a concatenation, the same on all its operands. A ReLU or a clip
behind an op that computes is folded into the range: the op's integers saturate where the activation would cut.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from transload.analysis.movement import moves_of
from transload.ir import Module, Op, Value
from transload.ir.build import constant_of
from transload.plugin_host import host

from .observe import can_be_quantized
from .rules import Rule
from .thresholds import Fixed, Range

__all__ = ["Groups", "channel_axis", "input_channels", "rule_of"]


def rule_of(op: Op) -> Rule | None:
    """How an op that computes is quantized; None where it is not, or only moves numbers."""
    fact = host().facts("quantization")[op.name]
    return fact if fact is None or isinstance(fact, Rule) else fact(op)


def channel_axis(op: Any) -> int:
    """The dimension that counts channels, of what an op takes and of what it gives."""
    axis: int = 1 if op.name != "top.MatMul" and op.layout == "NCHW" else op.results[0].rank - 1
    return axis


def input_channels(op: Any) -> int:
    """The dimension of an op's weights that counts input channels."""
    if op.name == "top.MatMul":
        return 1 if op.right_transpose else 0
    if op.name == "top.Deconv":
        return 0 if op.layout == "NCHW" else -1
    return 0 if op.group > 1 else 1 if op.layout == "NCHW" else -1


class Groups:
    """Tensors of one type, found by joining what ops demand."""

    def __init__(self, module: Module, floats: Collection[Value] = (), integers: Collection[Value] = ()) -> None:
        self.kept = floats
        """Tensors that stay float, as do the ops that make or take them."""
        self.integers = integers
        """Inputs and outputs of the module that are to be integers, whatever takes or makes them."""
        self._parent: dict[Value, Value] = {}
        self._cut: set[Value] = set()
        self.ops: list[Op] = []
        """The ops that compute on quantized numbers."""
        self._alike: list[tuple[Op, Value, Value]] = []
        for op in module.body_of_main:
            self._add(op)
        self.chosen = self._needed()
        self.ops = [op for op in self.ops if op in self.chosen]
        for op, one, other in self._alike:
            if op in self.chosen:
                self._join(one, other)

    def _add(self, op: Op) -> None:
        if not op.results or constant_of(op.results[0]) is not None or any(
                value in self.kept for value in (*op.operands, *op.results)):
            return
        if not all(map(can_be_quantized, op.results)) or any(
                value.is_float and not can_be_quantized(value) for value in op.operands):
            return
        rule = rule_of(op)
        if rule is not None:
            self.ops.append(op)
            if rule.shares:
                self._alike.append((op, op.operands[0], op.results[0]))
            return
        moves = moves_of(op)
        if moves is None or op.regions:
            return
        data = [value for value in moves.operands(op) if value.is_float]
        if not data:
            return
        self.ops.append(op)
        if moves.by_value and moves.constants:
            if not self._folds(data[0]):
                return
            self._cut.add(data[0])
        self._alike += [(op, data[0], value) for value in (*data[1:], *op.results)]

    def _needed(self) -> set[Op]:
        """The ops but for those that move floats to where floats are taken, in one step or several: they would be rounded for
        nothing."""
        there = set(self.ops)
        pending = [op for op in self.ops if rule_of(op) is not None or any(
            value in self.integers for value in (*op.operands, *op.results))]
        found = set(pending)
        while pending:
            op = pending.pop()
            near = [*(value.op for value in op.operands), *(user for result in op.results for user in result.uses)]
            more = {each for each in near if each is not None and each in there and each not in found}
            found |= more
            pending += more
        return found

    def _folds(self, value: Value) -> bool:
        """Whether what cuts a value's numbers can be folded into the range of the op that computes it."""
        return value.op is not None and len(value.uses) == 1 and value.op in self.ops and _computes(value.op)

    def _join(self, a: Value, b: Value) -> None:
        if constant_of(b) is None and constant_of(a) is None and self.root(a) is not self.root(b):
            self._parent[self.root(a)] = self.root(b)

    def is_cut(self, value: Value) -> bool:
        """Whether an activation behind the op cuts this tensor, which then exists in its sums alone."""
        return value in self._cut

    def root(self, value: Value) -> Value:
        """The tensor that stands for all that share a type with this one."""
        while value in self._parent:
            value = self._parent[value]
        return value

    def ranges(self, observed: Mapping[Value, Range]) -> dict[Value, Range]:
        """For the root of each group the range that holds all its tensors, but for those that an activation cuts.

        Tensors that were nothing but zero say no range: what they are added to says it.
        """
        found: dict[Value, Range] = {}
        for value, (low, high) in observed.items():
            if value in self._cut:
                continue
            root = self.root(value)
            held = found.get(root, (low, high))
            if isinstance(held, Fixed) and ((held.low <= low and high <= held.high) or self._is_moved(value, held)):
                continue  # numbers of the op whose result is fixed
            fixed = _fixed(value)
            alone = fixed is not None and (root not in found or (fixed.low <= held[0] and held[1] <= fixed.high))
            found[root] = fixed if fixed is not None and alone else (min(held[0], low), max(held[1], high))
        while silent := {root: kept for op in self.ops if (rule := rule_of(op)) is not None and rule.alike
                         for root, kept in self._beside(op, found)}:
            found |= silent
        return found

    def _beside(self, op: Op, found: Mapping[Value, Range]) -> list[tuple[Value, Range]]:
        """The groups of zeros alone among an op's tensors, each with the range of the first of the others that has one."""
        roots = [root for value in (*op.operands, *op.results) if (root := self.root(value)) in found]
        told = next(((low, high) for low, high in (found[root] for root in roots) if low < high), None)
        return [] if told is None else [(root, told) for root in roots if found[root][0] == found[root][1] == 0.0]

    def _is_moved(self, value: Value, kept: Range) -> bool:
        """Whether a tensor holds nothing but numbers of its own group, and constants within a range."""
        op = value.op
        moves = moves_of(op) if op is not None else None
        if op is None or moves is None or not all(kept[0] <= number <= kept[1] for number in moves.constants):
            return False
        return all(constant_of(each) is None and self.root(each) is self.root(value) for each in moves.operands(op))


def _computes(op: Op) -> bool:
    rule = rule_of(op)
    return rule is not None and rule.fixed is None


def _fixed(value: Value) -> Fixed | None:
    rule = rule_of(value.op) if value.op is not None else None
    return rule.fixed if rule is not None else None
