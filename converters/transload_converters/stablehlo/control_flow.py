"""From blocks that jump (`cf.br`, `cf.cond_br`, `cf.switch`) to regions (`stablehlo.while`, `stablehlo.if`).

A function's blocks are a graph. Where it is reducible (each loop is entered at one block only), a loop becomes a `while`
that carries its header's arguments, and a fork an `if` whose branches end at the block that all paths from it lead through
(its immediate post-dominator). A loop that is left at its header's condition only, as every structured loop was before it was
taken apart, keeps that condition. Any other carries, beside its arguments, the number of the exit taken (-1: none yet) and
the exit's values.

Source: Aho, Lam, Sethi, Ullman, "Compilers", 9.6 (dominators, natural loops, reducibility).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from transload.errors import ReadError
from transload.ir.attributes import OpaqueAttr
from transload.ir.constants import Dense, SplatData, dtype_of
from transload.ir.core import Block, Op, Region, Value
from transload.ir.module import Module
from transload.ir.types import BOOL, I32, DialectType, QuantType, TensorType, Type
from transload.text.parser import unwrapped, unwraps_of

from .control_graph import END, Edge, Loop, Tangled, dominates, dominators

__all__ = ["structure_control_flow"]

MAX_GROWTH = 20
"""How many times its size a function may become: what several paths share and no block joins is written once for each."""
_EFFECTS = {"stablehlo.infeed", "stablehlo.outfeed", "stablehlo.send", "stablehlo.recv", "stablehlo.rng"}
_FLAG, _NUMBER = TensorType((), BOOL), TensorType((), I32)

Successors = dict[Op, list[Block]]
Mapping = dict[Value, Value]


def structure_control_flow(module: Module, successors: Successors, name: str) -> None:
    """Make every function of `module` one of a single block; `ReadError` says of which that is impossible, and why."""
    if not successors:
        return
    for function in module.body:
        blocks = function.regions[0].blocks if function.regions else []
        if len(blocks) < 2:
            continue
        try:
            if function.name != "func.func":
                raise Tangled("only functions have blocks that jump")
            _Structurer(module, function, successors).run()
        except (Tangled, RecursionError) as why:
            if isinstance(why, RecursionError):
                why = Tangled("its conditions are nested too deep")
            symbol = function.attributes.get("sym_name", function.name)
            raise ReadError(
                f"{name}: the control flow of function @{symbol} has no form in regions: {why}",
                hint="export the model with structured loops and conditions (while, if, case)",
            ) from None


@dataclass
class Scope:
    """Part of the graph without loops of its own: the function, or a loop's body, with the loops inside of it as one node each.

    `finish` gives the values of the scope's end for an edge that leaves it; `types` are their types.
    """

    loop: Loop | None
    types: tuple[Type, ...]
    finish: Callable[[Edge, Mapping, Block], list[Value]]
    joins: dict[Any, Any] = field(default_factory=dict)


class _Structurer:
    def __init__(self, module: Module, function: Op, successors: Successors) -> None:
        self.module = module
        self.function = function
        self.successors = successors
        self.region = function.regions[0]
        self.edges: dict[Block, list[Edge]] = {}
        self.order: list[Block] = []
        self.loops: dict[Block, Loop] = {}
        self.pure: dict[str, bool] = {}
        self.left = MAX_GROWTH * sum(len(block) for block in self.region.blocks) + 1000

    def run(self) -> None:
        """Replace the function's blocks by one."""
        entry = self.region.blocks[0]
        for block in self.region.blocks:
            self.edges[block] = self._edges_of(block)
        self._find_order(entry)
        self._find_loops()
        last = next((b.last for b in self.order if b.last is not None and b.last.name == "func.return"), None)
        if last is None:
            raise Tangled("it never returns")
        types = tuple(value.type for value in last.operands)
        scope = Scope(None, types, lambda edge, mapping, out: [mapping.get(v, v) for v in edge.values])
        self._find_joins(scope, entry)
        body = Block([a.type for a in entry.arguments], [a.location for a in entry.arguments])
        mapping: Mapping = dict(zip(entry.arguments, body.arguments, strict=True))
        results = self._walk(entry, END, scope, mapping, body)
        body.append(Op("func.return", results, location=last.location))
        for block in self.region.blocks:
            for op in block:
                op.drop_references()
        self.region.blocks.clear()
        self.region.add_block(body)

    # --- the graph

    def _edges_of(self, block: Block) -> list[Edge]:
        """The jumps at a block's end, in the order of its conditions."""
        last = block.last
        if last is None:
            raise Tangled("a block is empty")
        if last.name == "func.return":
            return [Edge(END, last.operands)]
        targets = self.successors.get(last)
        if not targets:
            raise Tangled(f"a block ends in {last.name}")
        if last.name == "cf.br":
            groups: list[tuple[Value, ...]] = [last.operands]
        elif last.name in ("cf.cond_br", "cf.switch"):
            groups = _groups(last)
        else:
            raise Tangled(f"{last.name} goes on at blocks in a way that is not known")
        if len(groups) != len(targets):
            raise Tangled(f"{last.name} names {len(targets)} blocks, and has values for {len(groups)}")
        for target, values in zip(targets, groups, strict=True):
            if [v.type for v in values] != [a.type for a in target.arguments]:
                raise Tangled(f"{last.name} gives a block values of other types than it takes")
        edges = [Edge(target, values) for target, values in zip(targets, groups, strict=True)]
        return edges if last.name != "cf.switch" else [*edges[1:], edges[0]]  # its default is the first

    def _find_order(self, entry: Block) -> None:
        """Reverse postorder of the blocks that can be reached."""
        seen, found = {entry}, []
        stack = [(entry, iter(self.edges[entry]))]
        while stack:
            block, edges = stack[-1]
            for edge in edges:
                if edge.target is not END and edge.target not in seen:
                    seen.add(edge.target)
                    stack.append((edge.target, iter(self.edges[edge.target])))
                    break
            else:
                found.append(block)
                stack.pop()
        self.order = found[::-1]

    def _find_loops(self) -> None:
        """Natural loops; an edge back to a block that does not dominate its origin makes the graph irreducible."""
        place = {block: index for index, block in enumerate(self.order)}
        before: dict[Block, list[Block]] = {block: [] for block in self.order}
        for block in self.order:
            for edge in self.edges[block]:
                if edge.target is not END:
                    before[edge.target].append(block)
        above = dominators(self.order, lambda block: before[block], place)
        for block in self.order:
            for edge in self.edges[block]:
                target = edge.target
                if target is END or place[target] > place[block]:
                    continue
                if not dominates(target, block, above):
                    raise Tangled("a loop is entered at more than one block")
                loop = self.loops.setdefault(target, Loop(target))
                work = [block]
                while work:
                    inside = work.pop()
                    if inside not in loop.blocks:
                        loop.blocks.add(inside)
                        work += before[inside]
        if not all(self._exits(loop) for loop in self.loops.values()):
            raise Tangled("a loop is never left")

    def _nodes_after(self, node: Block, scope: Scope) -> list[Any]:
        """Where a node of a scope leads: a loop inside of it is left by its exits; what leaves the scope leads to its end."""
        if self._is_inner(node, scope):
            edges: Iterable[Edge] = self._exits(self.loops[node])
        else:
            edges = self.edges[node]
        return [END if self._leaves(edge, scope) else edge.target for edge in edges]

    def _is_inner(self, block: Block, scope: Scope) -> bool:
        return block in self.loops and (scope.loop is None or scope.loop.header is not block)

    def _leaves(self, edge: Edge, scope: Scope) -> bool:
        loop = scope.loop
        return edge.target is END or (loop is not None and (edge.target is loop.header or edge.target not in loop.blocks))

    def _exits(self, loop: Loop) -> list[Edge]:
        return [edge for block in self.order if block in loop.blocks for edge in self.edges[block]
                if edge.target is END or edge.target not in loop.blocks]

    def _find_joins(self, scope: Scope, entry: Block) -> None:
        """For each node of a scope: the nearest node that all paths from it lead through (its immediate post-dominator)."""
        seen, found = {entry}, []
        stack: list[tuple[Any, Any]] = [(entry, iter(self._nodes_after(entry, scope)))]
        while stack:
            node, following = stack[-1]
            for target in following:
                if target is not END and target not in seen:
                    seen.add(target)
                    stack.append((target, iter(self._nodes_after(target, scope))))
                    break
            else:
                found.append(node)
                stack.pop()
        order: list[Any] = [END, *found]  # postorder: all that a node leads to stands before it
        place = {node: index for index, node in enumerate(order)}
        scope.joins = dominators(order, lambda node: self._nodes_after(node, scope) if node is not END else [], place)

    # --- emitting

    def _walk(self, block: Block, stop: Any, scope: Scope, mapping: Mapping, out: Block) -> list[Value]:
        """Emit everything from `block` up to `stop`; returns the values of `stop`'s arguments."""
        while True:
            if self._is_inner(block, scope):
                choice, edges = self._emit_loop(self.loops[block], mapping, out)
            else:
                self._copy(block, mapping, out)
                choice, edges = self._choice(block, mapping, out), self.edges[block]
            if len(edges) == 1:
                target, values = self._arrive(edges[0], scope, mapping, out)
            else:
                target = scope.joins[block]
                values = self._fork(choice, edges, target, scope, mapping, out)
            if target is stop:
                return values
            mapping.update(zip(target.arguments, values, strict=True))
            block = target

    def _arrive(self, edge: Edge, scope: Scope, mapping: Mapping, out: Block) -> tuple[Any, list[Value]]:
        if self._leaves(edge, scope):
            return END, scope.finish(edge, mapping, out)
        return edge.target, [mapping.get(value, value) for value in edge.values]

    def _fork(
        self, choice: list[Value], edges: Sequence[Edge], join: Any, scope: Scope, mapping: Mapping, out: Block
    ) -> list[Value]:
        """`if choice[0]: edges[0], else if choice[1]: edges[1] ... else: the last`, up to where they join."""
        types = scope.types if join is END else tuple(argument.type for argument in join.arguments)

        def branch(index: int) -> Region:
            inside, known = Block(), mapping.copy()
            if index == len(choice):
                values = self._branch(edges[index], join, scope, known, inside)
            else:
                values = self._if(choice[index], types, lambda: self._region(edges[index], join, scope, mapping),
                                  lambda: branch(index + 1), inside)
            inside.append(Op("stablehlo.return", values))
            return Region([inside])

        return self._if(choice[0], types, lambda: self._region(edges[0], join, scope, mapping), lambda: branch(1), out)

    def _region(self, edge: Edge, join: Any, scope: Scope, mapping: Mapping) -> Region:
        inside = Block()
        values = self._branch(edge, join, scope, mapping.copy(), inside)
        inside.append(Op("stablehlo.return", values))
        return Region([inside])

    def _branch(self, edge: Edge, join: Any, scope: Scope, mapping: Mapping, out: Block) -> list[Value]:
        target, values = self._arrive(edge, scope, mapping, out)
        if target is join:
            return values
        mapping.update(zip(target.arguments, values, strict=True))
        return self._walk(target, join, scope, mapping, out)

    def _if(
        self, condition: Value, types: Sequence[Type], yes: Callable[[], Region], no: Callable[[], Region], out: Block
    ) -> list[Value]:
        self._spend(1)
        op = Op("stablehlo.if", [condition], types, {}, [yes(), no()])
        out.append(op)
        return op.results

    def _copy(self, block: Block, mapping: Mapping, out: Block) -> list[Op]:
        """The block's ops, but for the last."""
        copies = []
        for op in block:
            if op is not block.last:
                self._spend(1)
                copies.append(out.append(op.clone(mapping)))
        return copies

    def _choice(self, block: Block, mapping: Mapping, out: Block) -> list[Value]:
        """The conditions under which a block's jumps are taken, the last but one first; the last has none."""
        last = block.last
        if last is None or last.name in ("cf.br", "func.return"):
            return []
        flag = mapping.get(last.operands[0], last.operands[0])
        if last.name == "cf.cond_br":
            if flag.type != _FLAG:
                raise Tangled(f"a condition is of type {flag.type}")
            return [flag]
        cases = last.attributes.get("case_values")
        numbers = cases.numpy().reshape(-1).tolist() if isinstance(cases, Dense) else []
        if not isinstance(flag.type, TensorType) or len(numbers) != len(self.edges[block]) - 1:
            raise Tangled("cf.switch has other cases than blocks")
        return [_compare(flag, _constant(number, flag.type, out), "EQ", out) for number in numbers]

    def _spend(self, ops: int) -> None:
        self.left -= ops
        if self.left < 0:
            raise Tangled(f"its paths are too tangled: structured, it would be more than {MAX_GROWTH} times as large")

    # --- loops

    def _emit_loop(self, loop: Loop, mapping: Mapping, out: Block) -> tuple[list[Value], list[Edge]]:
        """A `while` in place of a loop whose header's arguments are known; returns how it is left."""
        header = loop.header
        edges = self.edges[header]
        last = header.last
        inside = [edge for edge in edges if edge.target is not END and edge.target in loop.blocks]
        if (
            last is not None and last.name == "cf.cond_br" and len(inside) == 1 and len(self._exits(loop)) == 1
            and inside[0].target is not header and all(self._is_pure(op) for op in header if op is not last)
        ):
            return [], [self._emit_while(loop, inside[0], mapping, out)]
        return self._emit_general_loop(loop, mapping, out)

    def _emit_while(self, loop: Loop, inside: Edge, mapping: Mapping, out: Block) -> Edge:
        """A loop that is left at its header's condition only."""
        header = loop.header
        types = [argument.type for argument in header.arguments]
        holds = Block(types)
        known = {**mapping, **dict(zip(header.arguments, holds.arguments, strict=True))}
        self._copy(header, known, holds)
        condition = self._choice(header, known, holds)[0]
        if self.edges[header][0] is not inside:
            condition = holds.append(Op("stablehlo.not", [condition], [_FLAG])).results[0]
        holds.append(Op("stablehlo.return", [condition]))

        body = Block(types)
        known = {**mapping, **dict(zip(header.arguments, body.arguments, strict=True))}
        scope = Scope(loop, tuple(types), lambda edge, now, _: [now.get(value, value) for value in edge.values])
        self._find_joins(scope, header)
        self._copy(header, known, body)
        results = self._branch(inside, END, scope, known, body)
        body.append(Op("stablehlo.return", results))

        loop_op = Op("stablehlo.while", [mapping[argument] for argument in header.arguments], types, {},
                     [Region([holds]), Region([body])], header.last.location if header.last is not None else None)
        out.append(loop_op)
        mapping.update(zip(header.arguments, loop_op.results, strict=True))
        # What the header computed when the loop was left: after it, from the last arguments.
        wanted = self._used_outside(loop) | {v for edge in self._exits(loop) for v in edge.values}
        self._copy_what_is_used(header, wanted, mapping, out)
        return self._exits(loop)[0]

    def _copy_what_is_used(self, block: Block, wanted: set[Value], mapping: Mapping, out: Block) -> None:
        needed: set[Op] = set()
        for op in reversed(list(block)):
            if op is not block.last and any(result in wanted for result in op.results):
                needed.add(op)
                wanted = wanted | _used_by(op)
        for op in block:
            if op in needed:
                self._spend(1)
                out.append(op.clone(mapping))

    def _emit_general_loop(self, loop: Loop, mapping: Mapping, out: Block) -> tuple[list[Value], list[Edge]]:
        """A loop with any exits: it carries the number of the one taken, and the values that are used after it."""
        header, exits = loop.header, self._exits(loop)
        arguments = list(header.arguments)
        kept = sorted(self._used_outside(loop) - set(arguments), key=lambda value: (id(value.owner), value.index))
        slots = [value for edge in exits for value in edge.values]
        types = [_NUMBER, *(a.type for a in arguments), *(v.type for v in kept), *(v.type for v in slots)]
        first = [_constant(-1, _NUMBER, out), *(mapping[a] for a in arguments), *(_zero(t.type, out) for t in (*kept, *slots))]

        holds = Block(types)
        going = _compare(holds.arguments[0], _constant(-1, _NUMBER, holds), "EQ", holds)
        holds.append(Op("stablehlo.return", [going]))

        body = Block(types)
        known = {**mapping, **dict(zip(arguments, body.arguments[1 : 1 + len(arguments)], strict=True))}

        def finish(edge: Edge, now: Mapping, at: Block) -> list[Value]:
            carried = list(body.arguments[1:])
            if edge.target is header:
                return [_constant(-1, _NUMBER, at), *(now.get(v, v) for v in edge.values), *carried[len(arguments) :]]
            number = next(index for index, each in enumerate(exits) if each is (edge.origin or edge))
            start = len(arguments)
            carried[start : start + len(kept)] = [now.get(v, old) for v, old in zip(kept, carried[start:], strict=False)]
            start += len(kept) + sum(len(each.values) for each in exits[:number])
            carried[start : start + len(edge.values)] = [now.get(v, v) for v in edge.values]
            for place, argument in enumerate(arguments):
                carried[place] = now[argument]
            return [_constant(number, _NUMBER, at), *carried]

        scope = Scope(loop, tuple(types), finish)
        self._find_joins(scope, header)
        results = self._walk(header, END, scope, known, body)
        body.append(Op("stablehlo.return", results))
        loop_op = Op("stablehlo.while", first, types, {}, [Region([holds]), Region([body])])
        out.append(loop_op)
        number, *carried = loop_op.results
        mapping.update(zip((*arguments, *kept), carried, strict=False))
        start, left = len(arguments) + len(kept), []
        for edge in exits:
            left.append(Edge(edge.target, tuple(carried[start : start + len(edge.values)]), edge))
            start += len(edge.values)
        return [_compare(number, _constant(index, _NUMBER, out), "EQ", out) for index in range(len(left) - 1)], left

    def _used_outside(self, loop: Loop) -> set[Value]:
        """Values that a loop defines and what lies behind it uses."""
        found: set[Value] = set()
        for block in loop.blocks:
            for value in (*block.arguments, *(result for op in block for result in op.results)):
                for user in value.uses:
                    home = user.parent
                    while home is not None and home.parent is not self.region:
                        outer = home.parent.parent if home.parent is not None else None
                        home = outer.parent if outer is not None else None
                    if home is not None and home not in loop.blocks:
                        found.add(value)
        return found

    def _is_pure(self, op: Op) -> bool:
        """Whether an op may be computed more than once."""
        if op.name in _EFFECTS or (op.name == "stablehlo.custom_call" and op.attributes.get("has_side_effect")):
            return False
        if op.name == "func.call":
            callee = str(op.attributes.get("callee", ""))
            if callee not in self.pure:
                self.pure[callee] = False  # a function that calls itself
                function = self.module.functions.get(callee)
                self.pure[callee] = function is not None and all(
                    self._is_pure(each) for each in function.walk() if each is not function)
            return self.pure[callee]
        return all(self._is_pure(each) for each in op.walk() if each is not op)


# --- helpers


def _groups(op: Op) -> list[tuple[Value, ...]]:
    """The operands of a jump with a condition, block by block."""
    sizes = list(op.attributes.get("operandSegmentSizes") or ())
    if op.name == "cf.switch" and len(sizes) == 3:
        sizes = [*sizes[:2], *(op.attributes.get("case_operand_segments") or ())]
    if sum(sizes) != len(op.operands) or not sizes or sizes[0] != 1:
        raise Tangled(f"the operands of {op.name} are not divided among its blocks")
    groups, start = [], 1
    for size in sizes[1:]:
        groups.append(op.operands[start : start + size])
        start += size
    return groups


def _used_by(op: Op) -> set[Value]:
    return {value for each in op.walk() for value in each.operands}


def _constant(number: int, type_: TensorType, out: Block) -> Value:
    dense = Dense(SplatData(np.array(number, dtype_of(type_.element)), ()), type_)
    return out.append(Op("stablehlo.constant", (), [type_], {"value": dense})).results[0]


def _zero(type_: Type, out: Block) -> Value:
    """A value that nobody looks at: what an exit that was not taken would give."""
    if type_ == DialectType("stablehlo.token"):
        return out.append(Op("stablehlo.after_all", (), [type_])).results[0]
    if not isinstance(type_, TensorType) or not type_.is_static or isinstance(type_.element, QuantType):
        raise Tangled(f"a loop with several exits gives a value of type {type_}, of which there is no neutral one")
    shape: tuple[int, ...] = type_.shape  # type: ignore[assignment]
    dense = Dense(SplatData(np.zeros((), dtype_of(type_.element)), shape), type_)
    return out.append(Op("stablehlo.constant", (), [type_], {"value": dense})).results[0]


def _compare(a: Value, b: Value, direction: str, out: Block) -> Value:
    attributes: dict[str, Any] = {"comparison_direction": OpaqueAttr(f"#stablehlo<comparison_direction {direction}>")}
    for key, unwrap in unwraps_of("stablehlo.compare").items():
        if key in attributes and unwrap is not None:
            attributes[key] = unwrapped(unwrap, attributes[key])
    return out.append(Op("stablehlo.compare", [a, b], [_FLAG], attributes)).results[0]
