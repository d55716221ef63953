"""The pass `order-for-memory`: ops in an order in which the least is alive at once.

Any order will do in which each op comes after those that it reads of; it decides how much is in memory at the peak. To find the
best is hard in general, so some orders are made and the best of them is taken: that of the module; those in which, of all ops
that could be next, one is taken that leaves the least alive, or the first of the module among those that leave no more;
and one from the outputs backward.

Source: R. Sethi, "Complete Register Allocation Problems", SIAM J. Comput. 1975 (why it is hard).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from transload.ir import DialectType, Module, Op, TensorType, Value, dtype_of, is_absent
from transload.ir.build import constant_of

__all__ = ["order_for_memory", "peak_of"]


def order_for_memory(module: Module) -> bool:
    """Put the ops of each function in an order in which the least is alive at once, in place; whether anything changed.

    Functions with ops that have regions stay as they are. So do orders that no other one betters.
    """
    changed = False
    for function in module.functions.values():
        changed = _order(function) or changed
    return changed


def _order(function: Op) -> bool:
    block = function.regions[0].block
    *ops, last = list(block)
    if any(op.regions for op in ops):
        return False
    graph = _Graph(ops, last, list(block.arguments))
    best, least = range(len(ops)), graph.peak(range(len(ops)))  # type: tuple[Sequence[int], int]
    for order in graph.orders():
        peak = graph.peak(order)
        if peak < least:
            best, least = order, peak
    if isinstance(best, range):
        return False
    for number in best:
        block.remove(ops[number])
        block.insert(ops[number], last)
    return True


def peak_of(function: Op) -> int:
    """The most bytes that the results of a function's ops, and its inputs, have at once; constants do not count."""
    block = function.regions[0].block
    *ops, last = list(block)
    return _Graph(ops, last, list(block.arguments)).peak(range(len(ops)))


class _Graph:
    """Ops by number, and the tensors between them: bytes, who makes them, who reads them."""

    def __init__(self, ops: Sequence[Op], last: Op, arguments: Sequence[Value]) -> None:
        number_of = {op: number for number, op in enumerate(ops)}
        self.count = len(ops)
        self.reads: list[list[int]] = [[] for _ in ops]
        self.makes: list[list[int]] = [[] for _ in ops]
        self.before: list[set[int]] = [set() for _ in ops]
        self.after: list[set[int]] = [set() for _ in ops]
        self.bytes: list[int] = []
        self.users: list[int] = []
        self.given: list[int] = []
        """Tensors that are there from the start."""
        numbers: dict[Value, int] = {}
        for value in (*arguments, *(result for op in ops for result in op.results)):
            numbers[value] = len(self.bytes)
            readers = {number_of.get(user, -1) for user in value.uses}  # what is given out is alive to the end
            self.bytes.append(_bytes(value))
            self.users.append(len(readers))
            if value.owner in number_of:
                self.makes[number_of[value.owner]].append(numbers[value])
            else:
                self.given.append(numbers[value])
        for number, op in enumerate(ops):
            for value in dict.fromkeys(op.operands):
                if value in numbers:
                    self.reads[number].append(numbers[value])
                    if value.owner in number_of:
                        self.before[number].add(number_of[value.owner])
                        self.after[number_of[value.owner]].add(number)

    def peak(self, order: Sequence[int]) -> int:
        """The most bytes alive at once: while an op runs, what it reads and what it makes."""
        left, alive = list(self.users), sum(self.bytes[tensor] for tensor in self.given)
        most = alive
        for number in order:
            alive += sum(self.bytes[tensor] for tensor in self.makes[number])
            most = max(most, alive)
            for tensor in self.reads[number]:
                left[tensor] -= 1
                alive -= 0 if left[tensor] else self.bytes[tensor]
            alive -= sum(self.bytes[tensor] for tensor in self.makes[number] if not self.users[tensor])
        return most

    def orders(self) -> list[list[int]]:
        """Other orders that might do better."""
        return [self._greedy(self._grows), self._greedy(self._frees_first), self._backward()]

    def _grows(self, number: int, left: list[int]) -> int:
        """How many more bytes are alive after an op."""
        freed = sum(self.bytes[tensor] for tensor in self.reads[number] if left[tensor] == 1)
        return sum(self.bytes[tensor] for tensor in self.makes[number]) - freed

    def _frees_first(self, number: int, left: list[int]) -> int:
        return int(self._grows(number, left) > 0)

    def _greedy(self, cost: Callable[[int, list[int]], int]) -> list[int]:
        """Of what can be next always that of the least cost, the first of the module among equals."""
        left, missing = list(self.users), [len(before) for before in self.before]
        ready = [(cost(number, left), number) for number in range(self.count) if not missing[number]]
        heapq.heapify(ready)
        readers: dict[int, list[int]] = {}
        for number, tensors in enumerate(self.reads):
            for tensor in tensors:
                readers.setdefault(tensor, []).append(number)
        done, order = [False] * self.count, []
        while ready:
            said, number = heapq.heappop(ready)
            if done[number] or said != cost(number, left):  # what it cost before, with a newer entry behind it
                continue
            done[number] = True
            order.append(number)
            for tensor in self.reads[number]:
                left[tensor] -= 1
                if left[tensor] == 1:
                    for reader in readers[tensor]:
                        if not done[reader] and not missing[reader]:
                            heapq.heappush(ready, (cost(reader, left), reader))
            for follower in self.after[number]:
                missing[follower] -= 1
                if not missing[follower]:
                    heapq.heappush(ready, (cost(follower, left), follower))
        return order

    def _backward(self) -> list[int]:
        """From the outputs on: of what could be last, that which leaves the least to be there before it."""
        missing, alive = [len(after) for after in self.after], set[int]()
        order: list[int] = []
        ready = [number for number in range(self.count) if not missing[number]]
        while ready:
            number = min(ready, key=lambda each: (self._reaches_back(each, alive), -each))
            ready.remove(number)
            order.append(number)
            alive.update(self.reads[number])
            for source in self.before[number]:
                missing[source] -= 1
                if not missing[source]:
                    ready.append(source)
        return order[::-1]

    def _reaches_back(self, number: int, alive: set[int]) -> int:
        more = sum(self.bytes[tensor] for tensor in self.reads[number] if tensor not in alive)
        return more - sum(self.bytes[tensor] for tensor in self.makes[number])


def _bytes(value: Value) -> int:
    """The bytes of a tensor; none of a constant, or of what is no tensor of numbers of known size."""
    type_ = value.type
    if not isinstance(type_, TensorType) or type_.shape is None:
        return 0
    element = value.stored_element
    if element is None or isinstance(element, DialectType) or is_absent(value) or constant_of(value) is not None:
        return 0
    return prod(size or 0 for size in type_.shape) * int(np.dtype(dtype_of(element)).itemsize)
