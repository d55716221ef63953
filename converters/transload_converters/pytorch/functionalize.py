"""Tensors that are written in place, as values.

PyTorch overwrites: `x += 1`, `cache[:, t] = k`, a running mean. A tensor may be seen through views, and what is written
through one is
seen through all. Here each overwriting operator becomes the one that makes a new tensor, what is written into a view is put into
the tensor that it views (`select_scatter` and its like), and whoever reads an overwritten tensor later reads the new one.

What a program writes into its buffers is gone after a run, by the option `state`:

- `zero`: each run is the first one, and starts with what the archive holds;
- `explicit`: each buffer that is written is an input of the model, by its name, and what it becomes an output, by that name with
  `_next` behind it; so is what becomes of an input that is written. What the first run is given is in `Module.states`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from transload.errors import ConversionError, Finding
from transload.ir import Block, FusedLocation, Module, Op, Value, add_state
from transload.ir.build import constant_of
from transload.ir.locations import location_names
from transload.ir.module import NAME, output_names, update_function_type

from .schemas import overwriting, schema_of, target_of

__all__ = ["functionalize"]

_SAME = {"alias", "detach", "to", "contiguous", "lift_fresh", "view_as_real", "expand_as", "expand", "resolve_conj",
         "resolve_neg"}
_RESHAPES = {"view", "reshape", "flatten", "unflatten", "unsqueeze", "squeeze", "_unsafe_view", "view_as", "reshape_as"}
_COPIES_MAYBE = {"reshape", "flatten", "contiguous", "reshape_as", "_unsafe_view"}
"""Views where the numbers lie in order, copies elsewhere."""


def functionalize(module: Module, state: Literal["zero", "explicit"] = "zero") -> bool:
    """Replace operators that overwrite tensors, in place. Returns whether there were any.

    Raises `ConversionError` where something is written through a view that nothing can be put back through.
    """
    written = [op for op in module.walk() if _overwrites(op)]
    if not written:
        return False
    for block in _blocks(module):
        versions = _Versions(block)
        versions.run()
        if block is module.body_of_main:
            _hand_on(module, versions, state)
    return True


def _blocks(root: Op) -> list[Block]:
    return [block for op in (root, *root.walk()) for region in op.regions for block in region.blocks
            if op.name != "builtin.module"]


def _overwrites(op: Op) -> bool:
    """Whether an op overwrites its first operand."""
    return op.dialect == "aten" and overwriting(op.name) is not None and bool(op.operands)


class _Versions:
    """The tensors of a block that share numbers, and which value each has where.

    A *root* is a tensor with numbers of its own; all others view it, directly or through others. `version` counts what was
    written into a root; `latest` has of each tensor the version in which it was last computed, and its value then.
    """

    def __init__(self, block: Block) -> None:
        self.block = block
        self.views: dict[Value, tuple[Op, int, Value]] = {}
        self.version: dict[Value, int] = {}
        self.latest: dict[Value, tuple[int, Value]] = {}

    def run(self) -> None:
        """Go through the ops in order."""
        for op in list(self.block):
            given = op.operands
            for place, value in enumerate(given):
                now = self.now(value, op)
                if now is not value:
                    op.set_operand(place, now)
            if _overwrites(op):
                self.overwrite(op, given[0])
            elif op.operands and self.is_view(op, given[0]):
                for place, result in enumerate(op.results):
                    self.views[result] = (op, place, given[0])
                    self.latest[result] = (self.version.get(self.root(result), 0), result)

    def is_view(self, op: Op, viewed: Value) -> bool:
        """Whether an op gives a view of its first operand."""
        schema = schema_of(op.name) if op.dialect == "aten" else None
        if schema is None or not schema.is_view:
            return False
        kind = target_of(op.name)[1]
        if kind == "to":
            return bool(op.results[0].element == viewed.element)
        return kind not in _COPIES_MAYBE or self.in_order(viewed)

    def in_order(self, value: Value) -> bool:
        """Whether a tensor's numbers lie in order: it has its own, or reshapes such."""
        while value in self.views:
            op, _, value = self.views[value]
            if target_of(op.name)[1] not in _RESHAPES | {"alias", "detach"}:
                return False
        return True

    def root(self, value: Value) -> Value:
        while value in self.views:
            value = self.views[value][2]
        return value

    def now(self, value: Value, before: Op) -> Value:
        """What a tensor is at an op: its view computed again, where what it views was overwritten."""
        version = self.version.get(self.root(value), 0)
        held, current = self.latest.get(value, (0, value))
        if held == version:
            return current
        maker, place, viewed = self.views[value]
        made = Op(maker.name, (self.now(viewed, before), *maker.operands[1:]), [result.type for result in maker.results],
                  dict(maker.attributes), (), FusedLocation((maker.location,), maker.name))
        before.parent.insert(made, before)  # type: ignore[union-attr]
        self.latest[value] = (version, made.results[place])
        return made.results[place]

    def overwrite(self, op: Op, target: Value) -> None:
        """Replace an overwriting op by the one that makes a new tensor, and put that in the place of the old one."""
        name = overwriting(op.name) or op.name
        schema = schema_of(name)
        moves = schema is not None and schema.is_view
        types = [result.type for result in op.results] if moves else [target.type]
        made = Op(name, op.operands, types, dict(op.attributes), (), op.location)
        op.parent.insert(made, op)  # type: ignore[union-attr]
        for result in op.results:
            result.replace_all_uses_with(made.results[0] if moves else target)
        if not moves:
            self.write(target, made.results[0], op)
        op.erase()

    def write(self, target: Value, value: Value, before: Op) -> None:
        """Put a new value in the place of a tensor: into what it views, and so on to the root."""
        if target in self.views:
            maker, place, viewed = self.views[target]
            whole = _put_back(maker, place, self.now(viewed, before), value, before)
            self.write(viewed, whole, before)
        else:
            self.version[target] = self.version.get(target, 0) + 1
        self.latest[target] = (self.version[self.root(target)], value)


def _put_back(maker: Op, place: int, viewed: Value, value: Value, before: Op) -> Value:
    """What is viewed, with a new value where the view made by `maker` sees it."""
    kind = target_of(maker.name)[1]
    function = _INVERSES.get(kind)
    if kind in _SAME and maker.results[place].type == viewed.type:
        return value
    if kind in _RESHAPES:
        return _insert(before, maker, "aten.view.default", (value,), viewed, size=viewed.shape)
    if function is None or not viewed.tensor_type.is_static:
        name = tuple(location_names(maker.location)[:1])
        raise ConversionError("a tensor is written through a view that cannot be followed", [
            Finding(maker.name, f"what is written through it is not put back into {viewed.type}", name,
                    "write to a clone, or give up the in-place operator")])
    return function(maker, place, viewed, value, before)


def _insert(before: Op, maker: Op, name: str, operands: tuple[Value, ...], like: Value, **attributes: Any) -> Value:
    op = Op(name, operands, (like.type,), attributes, (), FusedLocation((maker.location,), maker.name))
    before.parent.insert(op, before)  # type: ignore[union-attr]
    return op.results[0]


def _select(maker: Op, place: int, viewed: Value, value: Value, before: Op) -> Value:
    return _insert(before, maker, "aten.select_scatter.default", (viewed, value), viewed, **maker.attributes)


def _slice(maker: Op, place: int, viewed: Value, value: Value, before: Op) -> Value:
    return _insert(before, maker, "aten.slice_scatter.default", (viewed, value), viewed, **maker.attributes)


def _narrow(maker: Op, place: int, viewed: Value, value: Value, before: Op) -> Value:
    start, length = maker.attributes["start"], maker.attributes["length"]
    return _insert(before, maker, "aten.slice_scatter.default", (viewed, value), viewed,
                   dim=maker.attributes["dim"], start=start, end=start + length)


def _diagonal(maker: Op, place: int, viewed: Value, value: Value, before: Op) -> Value:
    return _insert(before, maker, "aten.diagonal_scatter.default", (viewed, value), viewed, **maker.attributes)


def _part(maker: Op, place: int, viewed: Value, value: Value, before: Op) -> Value:
    """One of the parts of a split."""
    dim = maker.attributes.get("dim", 0) % viewed.rank
    start = sum(result.shape[dim] for result in maker.results[:place])
    end = start + maker.results[place].shape[dim]
    return _insert(before, maker, "aten.slice_scatter.default", (viewed, value), viewed, dim=dim, start=start, end=end)


def _unbound(maker: Op, place: int, viewed: Value, value: Value, before: Op) -> Value:
    return _insert(before, maker, "aten.select_scatter.default", (viewed, value), viewed,
                   dim=maker.attributes.get("dim", 0), index=place)


def _transposed(maker: Op, place: int, viewed: Value, value: Value, before: Op) -> Value:
    """Two dimensions change places: they do so again."""
    return _insert(before, maker, maker.name, (value,), viewed, **maker.attributes)


def _permuted(maker: Op, place: int, viewed: Value, value: Value, before: Op) -> Value:
    rank = viewed.rank
    dims = [dim % rank for dim in maker.attributes["dims"]]
    return _insert(before, maker, "aten.permute.default", (value,), viewed, dims=tuple(dims.index(axis) for axis in range(rank)))


_INVERSES: dict[str, Callable[[Op, int, Value, Value, Op], Value]] = {
    "select": _select, "slice": _slice, "narrow": _narrow, "diagonal": _diagonal, "split": _part, "split_with_sizes": _part,
    "chunk": _part, "unbind": _unbound, "transpose": _transposed, "t": _transposed, "swapaxes": _transposed,
    "swapdims": _transposed, "permute": _permuted,
}


def _hand_on(module: Module, versions: _Versions, state: str) -> None:
    """What becomes of buffers and inputs that were written: outputs, or nothing but a note."""
    block = module.body_of_main
    for root in versions.version:
        after = versions.latest[root][1]
        maker = root.op
        if maker is not None and maker.attribute("kind", "") not in ("buffer", "parameter"):
            continue
        if maker is None and root not in block.arguments:
            continue
        name = root.name or "state"
        if state != "explicit":
            what = f"the buffer {name!r} is" if maker is not None else f"the input {name!r} is"
            module.notes = (*module.notes, f"{what} written by the program; every run starts with what it is given first "
                            "(state=explicit gives it out)")
        elif maker is not None:
            value, number = add_state(module, name, root.type, constant_of(root))  # type: ignore[arg-type]
            root.replace_all_uses_with(value)
            block.terminator.set_operand(number, value if after is root else after)
        else:
            _add_output(module, f"{name}_next", after)


def _add_output(module: Module, name: str, value: Value) -> None:
    """One more result of the main function."""
    main = module.main
    names = [*output_names(main), name]
    terminator = main.regions[0].block.terminator
    terminator.operands = (*terminator.operands, value)
    main.attributes["res_attrs"] = [{NAME: each} for each in names]
    update_function_type(main)
