"""What it costs to give layers more bits: the share of all operations that is then computed with floats, or with 16 bits."""

from __future__ import annotations

from collections.abc import Mapping

from transload.analysis.movement import is_cast, moves_of
from transload.ir import Module, Op, Value
from transload.ir.build import constant_of

from ..groups import Groups, rule_of
from ..layers import FLOAT, MODES, WIDE
from ..observe import observed
from ..price import work_of

__all__ = ["Assignment", "Spending", "Units"]

Assignment = Mapping[str, str]
"""Words of `layers.MODES`, but `INT8`, by the name of a unit."""
WIDE_PRICE = 0.25
"""What an operation with 16-bit activations costs, of one in floats."""


class Units:
    """The groups of tensors that share a type, which a search gives more bits or does not: by the name of their first tensor."""

    def __init__(self, module: Module) -> None:
        """`module` is a float module whose layers are all to be held in integers."""
        self.module = module
        self.groups = Groups(module)
        self.tensors: dict[str, list[str]] = {}
        """The names of all tensors of a unit."""
        self.roots: dict[str, Value] = {}
        unit_of: dict[Value, str] = {}
        touched = dict.fromkeys(
            self.groups.root(value) for op in self.groups.ops for value in (*op.operands, *op.results)
            if constant_of(value) is None)
        for name, value in observed(module).items():
            root = self.groups.root(value)
            if root not in touched:
                continue
            unit = unit_of.setdefault(root, name)
            self.roots[unit] = root
            self.tensors.setdefault(unit, []).append(name)
        self.of_op: dict[Op, list[str]] = {
            op: list(dict.fromkeys(
                unit_of[root] for value in (*op.operands, *op.results) if (root := self.groups.root(value)) in unit_of))
            for op in self.groups.ops}

    def layers(self, assignment: Assignment) -> dict[str, str]:
        """The same for each tensor, as a quantize table has it."""
        return {name: mode for unit, mode in assignment.items() for name in self.tensors[unit]}

    def floats(self, assignment: Assignment) -> list[Op]:
        """The ops that compute with floats, of those that could with integers: they make or take a tensor that does."""
        given_up = {unit for unit, mode in assignment.items() if MODES[mode] == FLOAT}
        return [op for op, units in self.of_op.items() if not given_up.isdisjoint(units)]


class Spending:
    """Shares of all operations of a model: multiplications of sums of products, else one a number of the result."""

    def __init__(self, units: Units) -> None:
        self._units = units
        self._work = {op: work_of(op) for op in units.module.body_of_main if _computes(op)}
        self._all = max(sum(self._work.values()), 1)
        self.unavoidable = self._share([op for op in self._work if op not in units.of_op])
        """The share of ops that have no form in integers."""

    def floats(self, assignment: Assignment) -> float:
        """The share that is computed with floats, what is unavoidable with it."""
        return self.unavoidable + self._share(self._units.floats(assignment))

    def wide(self, assignment: Assignment) -> float:
        """The share of integer operations on 16 bits."""
        chosen = {unit for unit, mode in assignment.items() if MODES[mode] == WIDE}
        floats = set(self._units.floats(assignment))
        return self._share([
            op for op, units in self._units.of_op.items() if op not in floats and not chosen.isdisjoint(units)])

    def price(self, assignment: Assignment) -> float:
        """What a search makes little: the share of floats, and `WIDE_PRICE` of that of 16 bits; each unit a trifle of itself."""
        trifle = 1e-6 * sum(len(self._units.tensors[unit]) for unit in assignment)
        return self.floats(assignment) + WIDE_PRICE * self.wide(assignment) + trifle

    def _share(self, ops: list[Op]) -> float:
        return sum(self._work.get(op, 0) for op in ops) / self._all


def _computes(op: Op) -> bool:
    """Whether an op computes numbers from numbers: constants, casts and what only moves them do not."""
    if not op.results or constant_of(op.results[0]) is not None or is_cast(op) or not op.results[0].is_static:
        return False
    return rule_of(op) is not None or moves_of(op) is None
