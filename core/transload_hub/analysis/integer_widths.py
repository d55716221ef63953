"""Integers of 64 bits, and unsigned ones of 32, in TOSA's i32: which ops give the same numbers there, and which are refused.

TOSA has no operators on such integers; inside it an i32 stands for each (see `signedness`). An analysis in program
order keeps of each value `v` of the hub the interval that it lies in (see `ranges`), and what is known of the i32 `t`
that stands for it:

- `BITS`: `t` holds the low 32 bits of `v`: sums, products and bitwise operations of such values do, too;
- `CLIPPED`: `t` is `v` or, where that is beyond i32, the nearest end of i32: maxima and minima keep that;
- `EXACT`, both: all of `v`'s interval lies in i32, and `t` is `v`;
- neither: `t` is `v` where that is in i32, and means nothing elsewhere.

An op that needs more of an operand than is known is refused, under the name of the op whose result first left i32. What
is assumed:

- Arguments of 64 bits, which arrive as i32, lie from -2**30 to 2**30 - 1: ids, positions, sizes and masks do. All of i32
  would leave no room for `ids + 1`.
- Subscripts of Gather and Scatter lie in their dimension, as frameworks demand. So `EXACT` is not needed of them: it
  follows.
- A float beyond the range of the 64-bit type it is cast to does not occur: C++ leaves the result undefined. One that is
  in that range and beyond i32 may occur.
- A counter, a value that a loop carries and that each round moves by the same small constant, moves less than 2**30 in all.

With `assumed`, results of ops whose operands are exact are taken to be in i32, too, wherever the interval leaves that possible;
so are those of maxima whose operands are clipped and lie beyond i32 only below it, and of minima above it: a maximum is not the
sentinel that it begins with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from transload.analysis.dataflow import Forward, control_of
from transload.analysis.intervals import (
    EVERYTHING,
    LARGEST_CONSTANT,
    Interval,
    hull,
    inside,
    interval_of_constant,
    limits,
    meet,
    result_intervals,
    rule_of,
)
from transload.analysis.movement import moves_of
from transload.errors import Finding
from transload.ir import BOOL, UI32, Block, FloatType, IntegerType, Module, Op, QuantType, TensorType, Type, Value, location_names
from transload.ir.build import constant_of

from .integer_width_rules import (
    BITS,
    CLIPPED,
    EXACT,
    I32_RANGE,
    Known,
    holds,
    is_wide,
    keeps_bits,
    subscripts_of,
    width_of,
)
from .loop_counters import counters, limited

__all__ = ["Narrowing", "is_wide", "narrowing_of"]

ARGUMENT: Interval = (-(1 << 30), (1 << 30) - 1)

_SUMS = ("top.Add", "top.AddConst", "top.Neg", "top.Sub")

HINT = ("`--option int64=assumed` narrows all integers that 32 bits do not hold (i64, ui64, ui32), if you know that they "
        "stay small; or limit them in the model (Clip, Min), or compute them in 32 bits")
HINT_IF_ASSUMED = (
    "`--option int64=assumed` does not narrow these, which would be wrong: have what the model itself holds, as what fills a "
    "gather out of bounds, lie in 32 bits, or compute in 32 bits")


@dataclass
class Narrowing:
    """What was found out about a module of `top` ops whose integers are about to become i32: a table beside it."""

    findings: list[Finding] = field(default_factory=list)
    """What would compute other numbers."""
    low_bits: set[Op] = field(default_factory=set)
    """`top.Weight`s whose users need the low 32 bits of numbers that do not fit, not the nearest numbers that do."""
    unsigned: set[Op] = field(default_factory=set)
    """Ops whose operands are ui32 and may be 2**31 or more: their i32 are to be read as unsigned."""
    wrapping: set[Op] = field(default_factory=set)
    """Sums and differences that an i32 may not hold, of which it has the low bits."""


def narrowing_of(module: Module, assumed: bool = False) -> Narrowing:
    """What becomes of a module of `top` ops in i32, and what its lowering has to know for that."""
    wide = any(is_wide(value.type) for op in module.walk() for value in (*op.results, *(
        argument for region in op.regions for block in region.blocks for argument in block.arguments)))
    if not wide:
        return Narrowing()
    analysis = _Analysis(module, assumed).run()
    if analysis.refused:
        hopeless = analysis.refused if assumed else _Analysis(module, assumed=True).run().refused
        analysis.found.findings = [
            replace(finding, hint=HINT_IF_ASSUMED) if op in hopeless else finding
            for op, finding in (hopeless | analysis.refused).items()]
    return analysis.found


class _Analysis(Forward[Known]):
    """The analysis of one module, in program order."""

    def __init__(self, module: Module, assumed: bool) -> None:
        super().__init__()
        self.module = module
        self.assumed = assumed
        self.found = Narrowing()
        self.refused: dict[Op, Finding] = {}

    def run(self) -> _Analysis:
        """Go through all functions, in order; itself."""
        called = {op.attributes.get("callee") for op in self.module.walk() if op.name == "func.call"}
        for name, function in self.module.functions.items():
            if not function.regions[0].blocks:
                continue
            block = function.regions[0].block
            for argument in block.arguments:
                self.known[argument] = self._given(argument.type, ARGUMENT if name not in called else I32_RANGE)
            self._visit(block)
        return self

    def _given(self, type_: Type, wide: Interval) -> Known:
        """A function's argument, or the result of a call. A ui32 arrives with all its bits."""
        everything = limits(type_)
        if not is_wide(type_):
            return Known(everything)
        if type_.element == UI32 and not self.assumed:  # type: ignore[attr-defined]
            return Known(everything, BITS)
        return Known(meet(everything, wide))

    # --- values

    def initial(self, value: Value) -> Known:
        return self._constant(value) or Known(limits(value.type))

    def looks_at(self, op: Op) -> Sequence[Value]:
        """Of an op without wide integers, which is looked at when it is asked for."""
        if op.regions or not isinstance(op.results[0].type, TensorType) or constant_of(op.results[0]) is not None:
            return ()
        return op.operands if rule_of(op) is not None or moves_of(op) is not None else ()

    def transfer(self, op: Op) -> list[Known]:
        if not self.looks_at(op):
            return [self.initial(result) for result in op.results]
        found = result_intervals(op, [self.known[operand].interval for operand in op.operands])
        made = []
        for result, interval in zip(op.results, found, strict=True):
            everything = limits(result.type)
            made.append(Known(interval if inside(interval, everything) else everything))
        return made

    def _constant(self, value: Value) -> Known | None:
        dense = constant_of(value)
        if dense is None or isinstance(value.element, QuantType):
            return None
        wide = is_wide(value.type)
        interval = interval_of_constant(dense, None if wide else LARGEST_CONSTANT)
        if interval is None:
            return None
        if not wide or inside(interval, I32_RANGE):
            return Known(interval)
        maker = value.op
        bits = getattr(value.element, "width", 64) == 32 or any(keeps_bits(user) for user in value.uses)
        if bits and maker is not None and maker.name == "top.Weight":
            self.found.low_bits.add(maker)
        return Known(interval, BITS if bits else CLIPPED)

    # --- ops, in order

    def run_block(self, block: Block) -> list[Known]:
        self._visit(block)
        return super().run_block(block)

    def _visit(self, block: Block) -> None:
        for op in block:
            if control_of(op) is not None:
                self.control(op)
            elif op.name in ("top.Yield", "top.Weight"):
                continue
            elif op.name == "func.return":
                for operand in op.operands:
                    self._demand(op, operand, BITS if operand.element_or_none == UI32 else EXACT)
            elif op.name == "func.call":
                for operand in op.operands:
                    self._demand(op, operand, EXACT)
                for result in op.results:
                    self.known[result] = self._given(result.type, I32_RANGE)
            elif any(is_wide(value.type) for value in (*op.operands, *op.results)):
                self._op(op)

    def _op(self, op: Op) -> None:
        if op.name == "top.Cast":
            return self._cast(op)
        if op.name == "top.Bitcast":
            return self._bitcast(op)
        if op.name == "top.Compare":
            self._compare(op)
            return None
        width = width_of(op)
        need = self._unsigned(op) or width.need
        if op.name == "top.Pow" and self.of(op.operands[1]).interval[0] >= 0:
            need = BITS  # products of the base
        shape_only = op.declaration is not None and "shape_only" in op.declaration.traits
        if not any(is_wide(result.type) for result in op.results):  # what is known of those is found when asked for
            for index, operand in enumerate(op.operands):
                if is_wide(operand.type) and not shape_only:
                    self._operand(op, index, need, width.of)
            return None
        operands = [Known(limits(operand.type)) if shape_only else self._operand(op, index, need, width.of)
                    for index, operand in enumerate(op.operands)]
        intervals = result_intervals(op, [operand.interval for operand in operands])
        if op.name == "top.Reduce" and need == EXACT and op.attribute("mode") != "ReduceMean":
            self._check_sum(op, operands[0].interval)
        skipped = subscripts_of(op) + tuple(width.of)
        counted = [known for index, known in enumerate(operands) if index not in skipped and is_wide(op.operands[index].type)]
        kind = need if need else EXACT
        for known in counted:
            kind &= known.kind
        moves = moves_of(op)
        if moves is not None and not moves.by_value and not all(inside((n, n), I32_RANGE) for n in moves.constants):
            kind &= BITS  # of numbers that the op has itself, as padding, the low bits stay
        if need == EXACT:
            kind = 0  # a result beyond i32 means nothing
        blame = next((known.blame for known in counted if known.blame is not None), None)
        exact = all(known.kind == EXACT or (known.kind & CLIPPED and inside(known.interval, width.outdone)) for known in counted)
        for result, interval in zip(op.results, intervals, strict=True):
            self._settle(op, result, interval, kind, blame, exact)
        if op.name in _SUMS and not self.tentative and not all(
                self.of(value).kind == EXACT for value in (*op.operands, *op.results) if is_wide(value.type)):
            self.found.wrapping.add(op)
        return None

    def _operand(self, op: Op, index: int, need: int, of: Mapping[int, int]) -> Known:
        operand = op.operands[index]
        if index in subscripts_of(op):
            return self.of(operand)
        return self._demand(op, operand, of.get(index, need))

    def _demand(self, op: Op, operand: Value, need: int) -> Known:
        """What is known of an operand, of which `op` needs `need`; refused where that is not known."""
        known = self.of(operand)
        if not is_wide(operand.type) or known.kind & need == need:
            return known
        if not self.tentative:
            self._refuse(op, operand, known)
        return Known(meet(known.interval, meet(limits(operand.type), ARGUMENT)))  # as if it were right: one finding is enough

    def _refuse(self, op: Op, operand: Value, known: Known) -> None:
        low, high = known.interval
        needed = f"{op.name}{_named(op)} needs all of their bits"
        maker, why = known.blame if known.blame is not None else (op, "")
        if maker in self.refused:
            return
        if not why:
            source = "a constant" if constant_of(operand) is not None else f"numbers of {operand.element}"
            why, needed = f"it computes with {source} from {low} to {high}, which 32 bits do not hold", ""
        if needed and maker is not op:
            why += f", and {needed}"
        self.refused[maker] = Finding(maker.name, why, tuple(location_names(maker.location)[:1]), HINT)

    def _settle(
        self, op: Op, result: Value, interval: Interval, kind: int = 0, blame: tuple[Op, str] | None = None, exact: bool = True,
    ) -> None:
        """Note what is known of a result. `exact`: with operands as they are known, it is right wherever it lies in i32."""
        everything = limits(result.type)
        wrapped = not inside(interval, everything)
        if wrapped:
            interval = everything
        if not is_wide(result.type):
            self.known[result] = Known(interval)
            return
        small = meet(everything, I32_RANGE)
        if inside(interval, small):
            self.known[result] = Known(interval)
        elif self.assumed and exact and interval[0] <= small[1] and small[0] <= interval[1]:
            self.known[result] = Known(meet(interval, small))
        else:
            if wrapped:
                kind &= BITS
            if blame is None:
                low, high = interval
                blame = op, f"its results of {result.element} may need more than 32 bits: they lie from {low} to {high}"
            self.known[result] = Known(interval, kind, blame)

    # --- ops that need a closer look

    def _cast(self, op: Op) -> None:
        source, target = op.operands[0], op.results[0]
        (interval,) = result_intervals(op, [self.of(source).interval])
        if not is_wide(source.type):  # from something narrow; of an integer the bits stay
            whole = isinstance(source.element, IntegerType)
            low, high = interval
            blame = None if whole else (
                op, f"a float cast to {target.element} may be too large for 32 bits: what is known of it is that it lies from "
                    f"{_short(low)} to {_short(high)}")
            self._settle(op, target, interval, BITS if whole else CLIPPED, blame)
            return
        known = self.of(source)
        element = target.element
        if isinstance(element, FloatType) and source.element == UI32 and known.kind == BITS:
            if not self.tentative:
                self.found.unsigned.add(op)
        elif isinstance(element, IntegerType) and element.width > 1:
            fits = inside(known.interval, limits(element))
            if op.attribute("saturate", False):
                known = self._demand(op, source, CLIPPED)
                interval = tuple(min(max(end, element.range[0]), element.range[1]) for end in known.interval)
            elif not is_wide(target.type) and not (fits and known.kind == EXACT):
                known = self._demand(op, source, BITS)
            kind = known.kind if fits else known.kind & BITS
            self._settle(op, target, interval, kind, known.blame, known.kind == EXACT)
            return
        else:
            least = BITS if source.element == UI32 else CLIPPED
            self._demand(op, source, least if element == BOOL else EXACT)
        self.known[target] = Known(limits(target.type) if interval is EVERYTHING else interval)

    def _bitcast(self, op: Op) -> None:
        """Between integers: the same bits, so BITS stays. The interval stays where the sign does."""
        source, target = op.operands[0], op.results[0]
        known = self.of(source)
        if isinstance(source.element, IntegerType) and isinstance(target.element, IntegerType):
            everything = limits(target.type)
            kept = inside(known.interval, everything)
            if not is_wide(target.type):
                known = self._demand(op, source, BITS)
            interval, kind = (known.interval, known.kind) if kept else (everything, known.kind & BITS)
            self._settle(op, target, interval, kind, known.blame, False)
            return
        self._settle(op, target, limits(target.type), 0, None, False)  # the lowering refuses it

    def _compare(self, op: Op) -> None:
        """Clipped numbers compare as they are with those that lie strictly inside i32; ui32 by their bits."""
        a, b = (self.of(operand) for operand in op.operands)
        if a.kind == b.kind == EXACT:
            return
        if self._unsigned(op):
            return
        strict = (I32_RANGE[0] + 1, I32_RANGE[1] - 1)
        if a.kind & b.kind & CLIPPED and (inside(a.interval, strict) or inside(b.interval, strict)):
            return
        for operand in op.operands:
            self._demand(op, operand, EXACT)

    def _unsigned(self, op: Op) -> int:
        """BITS where an op reads ui32 of 2**31 or more, and the lowering can compute that; it is noted then."""
        if op.name not in ("top.Compare", "top.Max", "top.Min", "top.ShiftRight"):
            return 0
        values = op.operands[:1] if op.name == "top.ShiftRight" else op.operands
        known = [self.of(value) for value in values]
        if any(value.element_or_none != UI32 for value in values):
            return 0
        if all(k.kind == EXACT for k in known) or not all(k.kind & BITS for k in known):
            return 0
        if op.name == "top.ShiftRight" and self.of(op.operands[1]).kind != EXACT:
            return 0
        if not self.tentative:
            self.found.unsigned.add(op)
        return BITS

    def _check_sum(self, op: Op, interval: Interval) -> None:
        """Norms of integers are made of a sum, which must fit, too. A mean is computed without it."""
        shape = op.operands[0].shape_or_none or ()
        count = 1
        for axis in op.attribute("axes"):
            count *= shape[axis] if shape and shape[axis] is not None else 1 << 31
        low, high = interval[0] * count, interval[1] * count
        fits = inside((low, high), I32_RANGE)
        if is_wide(op.operands[0].type) and not self.tentative and not fits and not self.assumed and op not in self.refused:
            self.refused[op] = Finding(
                op.name, f"the sum of {count} numbers may need more than 32 bits: from {low} to {high}",
                tuple(location_names(op.location)[:1]), HINT)

    # --- regions

    def joined(self, op: Op, type_: Type, ways: Iterable[Known]) -> Known:
        """What is known of a value that is one of several."""
        ways = list(ways)
        interval = hull([known.interval for known in ways])
        if not is_wide(type_):
            everything = limits(type_)
            return Known(interval if inside(interval, everything) else everything)
        if inside(interval, I32_RANGE):
            return Known(interval)
        kind = EXACT
        for known in ways:
            kind &= known.kind
        blame = next((known.blame for known in ways if known.blame is not None), None)
        why = f"a value of it may need more than 32 bits: it lies from {interval[0]} to {interval[1]}"
        return Known(interval, kind, blame or (op, why))

    def holds(self, new: Known, old: Known) -> bool:
        return holds(new, old)

    def carried_in(self, op: Op) -> list[Known]:
        return [self.of(operand) if is_wide(operand.type) else Known(limits(operand.type)) for operand in op.operands]

    def pinned(self, op: Op, first: Sequence[Known]) -> dict[int, Known]:
        return counters(op, first, self._constant)

    def widened(self, op: Op, type_: Type, old: Known, new: Known) -> Known:
        """The ends of an interval that still move, moved as far as they can."""
        least, most = self.anything(op, type_).interval
        interval = (old.interval[0] if new.interval[0] >= old.interval[0] else least,
                    old.interval[1] if new.interval[1] <= old.interval[1] else most)
        if not is_wide(type_) or inside(interval, I32_RANGE):
            return Known(interval)
        return self.anything(op, type_)._replace(interval=interval)

    def anything(self, op: Op, type_: Type) -> Known:
        if not is_wide(type_):
            return Known(limits(type_))
        if self.assumed:
            return Known(meet(limits(type_), I32_RANGE))
        return Known(limits(type_), 0, (op, "a value that it carries from round to round may need more than 32 bits"))

    def entered(self, op: Op, test: Block, body: Block) -> None:
        """What the test compares with is a bound in the body."""
        for index, bound in limited(test, lambda value: self.of(value).interval).items():
            argument = body.arguments[index]
            known = self.known[argument]
            interval = meet(known.interval, bound)
            self.known[argument] = Known(interval) if inside(interval, I32_RANGE) else known._replace(interval=interval)


def _named(op: Op) -> str:
    names = location_names(op.location)[:1]
    return f" {names[0]!r}" if names else ""


def _short(number: Any) -> str:
    return f"{number:.3g}" if isinstance(number, float) else str(number)
