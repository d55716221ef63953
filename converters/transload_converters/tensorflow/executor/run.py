"""Running a `tf_executor.graph` by the rules of TensorFlow's executor.

An op runs as soon as what it takes is there, in the frame and iteration where that is: a *place*. A value is live or dead; an
op with anything dead gives dead values only, but for Merge, which gives the first live value, and ControlTrigger. Enter hands a
value to the first iteration of a frame below its own, NextIteration to the next iteration, Exit to the place around the frame.
Nothing dead goes round a loop; what an Exit never gave is dead around the frame once nothing in it can run any more.

Source: TensorFlow's page on its MLIR dialects; tensorflow/core/common_runtime/executor.cc and propagator_state.cc.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from transload.budget import check_deadline
from transload.engine.run import Plan, Watch
from transload.errors import Finding, RunError
from transload.ir import Op, Value

from .contexts import captured
from .dialect import CONTROL, TOKEN

__all__ = ["graph"]

_DEAD = object()
"""What stands for a dead value."""
_TOKEN = np.zeros((), np.int8)
"""What stands for a live control token."""


def graph(op: Op, *arrays: Any) -> Any:
    """The kernel of `tf_executor.graph`; what runs it is made by `plans`."""
    raise RunError("a graph runs as it was planned", [Finding(op.name, "has no plan")])


class _Frame:
    """One run of a loop: its iterations, and where it was entered from."""

    def __init__(self, around: _Place | None) -> None:
        self.around = around
        self.places: dict[int, _Place] = {}
        self.constants: dict[Value, Any] = {}
        self.dead_exits: dict[Value, int] = {}
        self.done = False

    @property
    def depth(self) -> int:
        return 0 if self.around is None else self.around.frame.depth + 1


class _Place:
    """One iteration of a frame: the values that are there, and which ops have run."""

    def __init__(self, frame: _Frame, iteration: int) -> None:
        self.frame = frame
        self.iteration = iteration
        self.values: dict[Value, Any] = {}
        self.ran: set[Op] = set()
        self.frames: dict[str, _Frame] = {}


class _Planned:
    """A graph made ready to run: what each op takes, who takes each value, and the plans of islands."""

    wants_values = True

    def __init__(self, op: Op, plan: Plan) -> None:
        self.block = op.regions[0].block
        self.outer = dict(plan.slots)
        self.needs: dict[Op, list[Value]] = {}
        self.users: dict[Value, list[Op]] = {}
        self.islands: dict[Op, tuple[Plan, list[Value]]] = {}
        inside = {result for each in self.block for result in each.results}
        for each in self.block:
            taken = [*each.operands, *captured(each)] if each.regions else list(each.operands)
            self.needs[each] = [value for value in dict.fromkeys(taken) if value in inside and value.type != TOKEN]
            for value in self.needs[each]:
                self.users.setdefault(value, []).append(each)
            if each.name == "tf_executor.island":
                feeds = captured(each)
                island = Plan(each.regions[0], plan.module, {value: place for place, value in enumerate(feeds)})
                plan.missing.extend(island.missing)
                plan.inexact.extend(island.inexact)
                plan.count += island.count
                self.islands[each] = island, feeds

    def __call__(self, op: Op, *arrays: Any, values: list[Any], watch: Watch | None) -> tuple[Any, ...]:
        return _Run(self, values, watch).fetched()


graph.plans = _Planned  # type: ignore[attr-defined]


class _Run:
    """One run of a graph."""

    def __init__(self, planned: _Planned, outer: list[Any], watch: Watch | None) -> None:
        self.planned, self.outer, self.watch = planned, outer, watch
        self.root = _Place(_Frame(None), 0)
        self.root.frame.places[0] = self.root
        self.frames = [self.root.frame]
        self.ready: deque[tuple[Op, _Place, bool]] = deque()

    def fetched(self) -> tuple[Any, ...]:
        """What the graph gives. Raises `RunError` where a fetched value is dead."""
        for op in self.planned.block:
            if not self.planned.needs[op] and op.name not in ("tf_executor.NextIteration.Source", "tf_executor.fetch"):
                self.root.ran.add(op)
                self.ready.append((op, self.root, False))
        while self.ready or self._finish_a_frame():
            while self.ready:
                op, place, dead = self.ready.popleft()
                check_deadline()
                self._run(op, place, dead)
        fetch = self.planned.block.terminator
        found = []
        for value in fetch.operands:
            if value.type == CONTROL:
                continue
            array = self._value(self.root, value)
            if array is _DEAD or array is None:
                why = "is dead: it lies on a way that was not taken" if array is _DEAD else "was never computed"
                raise RunError("the graph does not give what is fetched", [Finding(f"{value.name!r}", why)])
            found.append(array)
        return tuple(found)

    def _value(self, place: _Place, value: Value) -> Any:
        """A value at a place, or that of outside the graph."""
        if value in self.planned.users or value.op in self.planned.needs:
            return place.values.get(value)
        return self.outer[self.planned.outer[value]]

    # --- an op

    def _run(self, op: Op, place: _Place, dead: bool) -> None:
        kind = op.name.removeprefix("tf_executor.")
        if kind == "fetch":
            return
        if kind == "island":
            self._give_all(op, place, _DEAD if dead else self._island(op, place))
        elif kind in ("NextIteration.Sink", "Exit", "Enter"):
            self._move(op, kind, place, dead)
        elif dead:
            self._give_all(op, place, _DEAD)
        elif kind == "ControlTrigger":
            self._give(op.results[-1], _TOKEN, place)
        else:
            self._give_all(op, place, self._flow(op, kind, place))

    def _flow(self, op: Op, kind: str, place: _Place) -> list[Any]:
        """What an op of the executor's own gives of live data."""
        data = [self._value(place, value) for value in op.operands if value.type != CONTROL]
        if kind == "Switch":
            taken = bool(np.any(data[1]))
            return [_DEAD if taken else data[0], data[0] if taken else _DEAD]
        if kind in ("SwitchN", "_SwitchN"):
            count = len(op.results) - 1
            number = int(data[1])
            chosen = number if 0 <= number < count else count - 1
            return [data[0] if place_ == chosen else _DEAD for place_ in range(count)]
        if kind == "Merge":
            number = next(i for i, array in enumerate(data) if array is not _DEAD and array is not None)
            return [data[number], np.int32(number)]
        if kind == "LoopCond":
            return data
        raise RunError("the graph cannot be run", [
            Finding(op.name, "runs between devices, of which there is one", (op.origin or "",))])

    def _island(self, op: Op, place: _Place) -> list[Any]:
        plan, feeds = self.planned.islands[op]
        return plan.execute((), [self._value(place, value) for value in feeds], self.watch)

    def _move(self, op: Op, kind: str, place: _Place, dead: bool) -> None:
        """Hand a value to another place: an iteration, a frame, or the place around one."""
        if kind == "NextIteration.Sink":
            if not dead:
                source = op.operands[0].op
                array, after = self._value(place, op.operands[1]), self._iteration(place.frame, place.iteration + 1)
                assert source is not None
                self._give(source.results[0], array, after)
                self._give(source.results[2], _TOKEN, after)
            return
        array = _DEAD if dead else self._value(place, op.operands[0])
        token = _DEAD if dead else _TOKEN
        if kind == "Exit":
            around = place.frame.around
            if around is None:
                raise RunError("the graph cannot be run", [Finding(op.name, "is in no frame", (op.origin or "",))])
            for result, given in zip(op.results, (array, token), strict=True):
                if dead:
                    place.frame.dead_exits[result] = place.iteration
                else:
                    self._give(result, given, around)
            return
        frame = place.frames.get(op.attribute("frame_name"))
        if frame is None:
            frame = place.frames[op.attribute("frame_name")] = _Frame(place)
            self.frames.append(frame)
        if op.attribute("is_constant", False):
            frame.constants[op.results[0]], frame.constants[op.results[1]] = array, token
            self._iteration(frame, 0)
            for each in list(frame.places.values()):
                self._give(op.results[0], array, each)
                self._give(op.results[1], token, each)
            return
        first = self._iteration(frame, 0)
        self._give(op.results[0], array, first)
        self._give(op.results[1], token, first)

    def _iteration(self, frame: _Frame, number: int) -> _Place:
        place = frame.places.get(number)
        if place is None:
            place = frame.places[number] = _Place(frame, number)
            for value, array in frame.constants.items():
                self._give(value, array, place)
        return place

    # --- values on their way

    def _give_all(self, op: Op, place: _Place, arrays: Any) -> None:
        """Give an op's results, and a token behind them; or all of them dead."""
        if arrays is _DEAD:
            for result in op.results:
                self._give(result, _DEAD, place)
            return
        for result, array in zip(op.results, arrays, strict=False):
            if self.watch is not None and array is not _DEAD:
                self.watch(result, array)
            self._give(result, array, place)
        self._give(op.results[-1], _TOKEN, place)

    def _give(self, value: Value, array: Any, place: _Place) -> None:
        """Let a value be at a place, and make ready what waited for it."""
        if value in place.values:
            return
        place.values[value] = array
        for user in self.planned.users.get(value, ()):
            if user not in place.ran:
                self._consider(user, place)

    def _consider(self, op: Op, place: _Place) -> None:
        """Whether an op can run at a place now, and whether it is dead."""
        values = place.values
        needs = self.planned.needs[op]
        if op.name == "tf_executor.Merge":
            tokens = [values.get(value) for value in needs if value.type == CONTROL]
            if any(token is None for token in tokens):
                return
            data = [value for value in needs if value.type != CONTROL]
            live = any(values.get(value) is not None and values[value] is not _DEAD for value in data)
            dead = not live and (all(values.get(value) is _DEAD for value in data) or any(
                values.get(value) is _DEAD and _enters(value) for value in data))  # a loop that is never entered
            if not live and not dead:
                return
            dead = dead or any(token is _DEAD for token in tokens)
        else:
            if any(value not in values for value in needs):
                return
            dead = op.name != "tf_executor.ControlTrigger" and any(values[value] is _DEAD for value in needs)
        place.ran.add(op)
        self.ready.append((op, place, dead))

    def _finish_a_frame(self) -> bool:
        """Where nothing can run any more: what the innermost frame's exits never gave is dead around it."""
        for frame in sorted(self.frames, key=lambda frame: -frame.depth):
            if frame.around is None or frame.done:
                continue
            frame.done = True
            for result in frame.dead_exits:
                self._give(result, _DEAD, frame.around)
            self.frames.remove(frame)
            if self.ready:
                return True
        return False


def _enters(value: Value) -> bool:
    return value.op is not None and value.op.name == "tf_executor.Enter"
