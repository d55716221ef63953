"""Sparse forward dataflow: what is known of each value, from what is known of the operands of the op that makes it.

An analysis derives from `Forward` and says what is known of a value that nothing is computed of (`initial`), what an op makes
of what is known of its operands (`transfer`), and how two states are one (`joined`, `holds`, `widened`). The kit does the rest:
it looks at what is asked for and what that is made of, each value once and without recursion, and goes through branches and
loops, whose ops say so by facts of kind "control". What is found is a table beside the module, `known`.

Source: sparse conditional constant propagation (Wegman, Zadeck 1991) without the conditions; MLIR's sparse forward analysis;
widening after Cousot, Cousot, Abstract Interpretation (1977).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ..ir import Block, Module, Op, Type, Value
from ..plugin_host import host

__all__ = ["Branches", "Control", "Forward", "Loop", "control_of", "has_loops"]


@dataclass(frozen=True)
class Branches:
    """One of an op's regions runs, and gives the results; its arguments, if any, are the operands from number `arguments` on."""

    arguments: int = 1


@dataclass(frozen=True)
class Loop:
    """Region `test` says whether to go on, region `body` gives what is carried on; both take it as their arguments.

    The operands are what is carried into the first round, the results what is carried out of the last.
    """

    test: int = 0
    body: int = 1


Control = Branches | Loop
FACT = (Branches, Loop)
"""A fact of kind "control": how an op runs its regions."""


def control_of(op: Op) -> Control | None:
    """How an op runs its regions; None where that is not known, or it has none."""
    return host().facts("control")[op.name] if op.regions else None


def has_loops(module: Module) -> bool:
    """Whether a module has loops that end when what they compute says so."""
    return any(isinstance(control_of(op), Loop) for op in module.ops())


State = TypeVar("State")

ROUNDS, MOST_ROUNDS = 2, 10
"""Rounds of a loop after which what still grows is widened, and after which the loop is given up."""

DEPTH = 2
"""Loops in loops deeper than that carry anything at once."""


class Forward(ABC, Generic[State]):
    """A sparse forward analysis; `known` is what it found, by value.

    `reach` is how many values at most are looked at for one that is asked for; of those further back, only what they are.
    `enough` says of a state that no more needs to be known, so that what such a value is made of is not looked at.
    """

    def __init__(self, reach: int | None = None, enough: Callable[[State], bool] | None = None) -> None:
        self.known: dict[Value, State] = {}
        self.reach = reach
        self.enough = enough
        self.tentative = 0
        """Above 0 while a loop's state is still being found: what ops are given then need not hold."""
        self._loops = 0

    # --- what an analysis says

    @abstractmethod
    def initial(self, value: Value) -> State:
        """What is known of a value by what it is: a constant, an argument, a result of an op that nothing is known of."""

    def looks_at(self, op: Op) -> Sequence[Value]:
        """The operands that `transfer` asks about; none where it says nothing of the op's results."""
        return op.operands

    @abstractmethod
    def transfer(self, op: Op) -> Sequence[State]:
        """What is known of each of an op's results, given `known` of what it looks at."""

    @abstractmethod
    def joined(self, op: Op, type_: Type, ways: Iterable[State]) -> State:
        """What is known of a value that is one of several; `op` is where they meet."""

    @abstractmethod
    def holds(self, new: State, old: State) -> bool:
        """Whether what is known by `old` is true of what `new` describes."""

    @abstractmethod
    def anything(self, op: Op, type_: Type) -> State:
        """What is known of a value that a loop carries and of which nothing could be found."""

    def widened(self, op: Op, type_: Type, old: State, new: State) -> State:
        """`new`, which `old` does not hold of, moved on as far as it may go."""
        return self.anything(op, type_)

    def pinned(self, op: Op, first: Sequence[State]) -> Mapping[int, State]:
        """What is known by a loop's form of values it carries, by number; `first` is what goes in."""
        return {}

    def entered(self, op: Op, test: Block, body: Block) -> None:
        """Note what a loop's test says of the arguments of its body."""

    def carried_in(self, op: Op) -> list[State]:
        """What is known of what goes into a loop."""
        return [self.of(operand) for operand in op.operands]

    def run_block(self, block: Block) -> list[State]:
        """What is known of the values that a block ends with."""
        return [self.of(value) for value in block.terminator.operands]

    # --- values

    def of(self, value: Value) -> State:
        """What is known of a value."""
        found = self.known.get(value)
        if found is None:
            self._find(value)
            found = self.known[value]
        return found

    def _find(self, value: Value) -> None:
        """Find out about `value`, and before it about what it is made of."""
        pending, seen = [value], 0
        while pending:
            top = pending[-1]
            if top in self.known:
                pending.pop()
                continue
            maker = self._maker(top)
            if maker is None:
                self.known[top] = self.initial(top)
                continue
            control = control_of(maker)
            missing = [each for each in (self.looks_at(maker) if control is None else maker.operands) if each not in self.known]
            if missing and self.reach is not None and seen > self.reach:
                self.known.update((each, self.initial(each)) for each in missing)
            elif missing and control is None and self._suffices(maker, top, missing):
                continue
            elif missing:
                pending.extend(missing)
                seen += len(missing)
            elif control is None:
                self.known.update(zip(maker.results, self.transfer(maker), strict=True))
            else:
                self.control(maker)
                self.known.setdefault(top, self.initial(top))

    def _suffices(self, op: Op, value: Value, missing: Sequence[Value]) -> bool:
        """Whether enough is known of a result of `op`, whatever its `missing` operands are; what is known is noted then."""
        if self.enough is None:
            return False
        self.known.update((each, self.initial(each)) for each in missing)
        state = next(found for result, found in zip(op.results, self.transfer(op), strict=True) if result is value)
        for each in dict.fromkeys(missing):
            del self.known[each]
        if not self.enough(state):
            return False
        self.known[value] = state
        return True

    def _maker(self, value: Value) -> Op | None:
        """The op by which a value becomes known: the one it is a result of, or the one that gives its block arguments."""
        owner = value.owner
        if isinstance(owner, Op):
            return owner
        outer = owner.parent.parent if owner is not None and owner.parent is not None else None
        return outer if outer is not None and control_of(outer) is not None else None

    # --- regions

    def control(self, op: Op) -> None:
        """Go through an op's regions, and note what is known of its results."""
        control = control_of(op)
        if isinstance(control, Branches):
            self._branches(op, control)
        elif control is not None:
            self._loop(op, control)

    def _branches(self, op: Op, control: Branches) -> None:
        blocks = [region.block for region in op.regions if region.blocks]
        for block in blocks:
            for argument, operand in zip(block.arguments, op.operands[control.arguments :], strict=False):
                self.known[argument] = self.of(operand)
        ends = [self.run_block(block) for block in blocks]
        for result, ways in zip(op.results, zip(*ends, strict=True), strict=True):
            self.known[result] = self.joined(op, result.type, ways)

    def _loop(self, op: Op, control: Loop) -> None:
        """What a loop carries: joined round by round; what still grows then is widened."""
        first = self.carried_in(op)
        pinned = self.pinned(op, first)
        self.tentative += 1
        self._loops += 1
        state = self._carried(op, control, first, pinned) if self._loops <= DEPTH else None
        if state is None:
            state = [self.anything(op, operand.type) for operand in op.operands]
        self.tentative -= 1
        self._round(op, control, state, pinned)
        self._loops -= 1
        for index, result in enumerate(op.results):
            self.known[result] = pinned.get(index, state[index])

    def _carried(self, op: Op, control: Loop, first: Sequence[State], pinned: Mapping[int, State]) -> list[State] | None:
        """What is known of the values a loop carries: what holds before the first round and, if before a round, after it."""
        types = [operand.type for operand in op.operands]

        def after(state: Sequence[State]) -> list[State]:
            pairs = zip(first, self._round(op, control, state, pinned), strict=True)
            return [self.joined(op, type_, pair) for type_, pair in zip(types, pairs, strict=True)]

        state = list(first)
        for count in range(MOST_ROUNDS):
            following = after(state)
            if all(self.holds(new, old) for old, new in zip(state, following, strict=True)):
                break
            grown = [self.joined(op, type_, pair) for type_, *pair in zip(types, state, following, strict=True)]
            state = grown if count < ROUNDS else [
                old if self.holds(new, old) else self.widened(op, type_, old, new)
                for type_, old, new in zip(types, state, grown, strict=True)]
        for _ in range(2):  # what bounds a value in its round bounds it afterwards
            following = after(state)
            state = [new if self.holds(new, old) else old for old, new in zip(state, following, strict=True)]
        proved = all(self.holds(new, old) for old, new in zip(state, after(state), strict=True))
        return state if proved else None

    def _round(self, op: Op, control: Loop, state: Sequence[State], pinned: Mapping[int, State]) -> list[State]:
        """One round, from what is known of the state before it; what is known after it."""
        test, body = op.regions[control.test].block, op.regions[control.body].block
        for block in (test, body):
            self._forget(block)
            for index, argument in enumerate(block.arguments):
                self.known[argument] = pinned.get(index, state[index])
        self.run_block(test)
        self.entered(op, test, body)
        after = self.run_block(body)
        return [state[index] if index in pinned else known for index, known in enumerate(after)]

    def _forget(self, block: Block) -> None:
        for op in block:
            for inner in op.walk():
                for result in inner.results:
                    self.known.pop(result, None)
                for region in inner.regions:
                    for each in region.blocks:
                        for argument in each.arguments:
                            self.known.pop(argument, None)
