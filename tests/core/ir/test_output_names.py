"""Names of outputs, whatever is done to a module: those that they had, beside what is given meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import transload
from transload.ir import F32, Block, Module, TensorType, Value, new_module, output_names, set_results
from transload.ir.borders import NAME, _Outputs, output_names_kept
from transload.ir.build import Builder

X = np.array([-1, 2], np.float32)


def module_of(*, noted: bool) -> Module:
    """Two outputs of `x`, its negative and its magnitude, called `n` and `m`: by their values, or by notes."""
    made = new_module()
    function = made.add_function("main", [TensorType((2,), F32)], ["x"])
    block = function.regions[0].block
    values = [Builder(block, location=name).emit(f"top.{op}", block.arguments[0]) for name, op in (("n", "Neg"), ("m", "Abs"))]
    set_results(function, values, ["first", "second"] if noted else [])
    return made


def _moved(module: Module, block: Block) -> None:
    block.terminator.operands = tuple(reversed(block.terminator.operands))


def _moved_copy(module: Module, block: Block) -> None:
    copy = module.clone()
    _moved(copy, copy.body_of_main)
    module.become(copy)


def _added(module: Module, block: Block, before: int = 2) -> None:
    value = Builder(block, before=block.terminator, location="sum").emit("top.Add", *block.terminator.operands)
    values = [*block.terminator.operands]
    values.insert(before, value)
    _ended(module, block, values)


def _added_and_moved(module: Module, block: Block) -> None:
    """The added one has an entry among the notes, and those of the moved ones stay at their places."""
    notes = module.main.attributes.get("res_attrs") or [{}, {}]
    _moved(module, block)
    _added(module, block, 0)
    module.main.attributes["res_attrs"] = [{}, *notes]


def _ended(module: Module, block: Block, values: Sequence[Value]) -> None:
    block.terminator.erase()
    set_results(module.main, values)


def _renamed(module: Module, block: Block) -> None:
    kept = module.main.attributes.get("res_attrs") or [{}, {}]
    module.main.attributes["res_attrs"] = [kept[0], {NAME: "new"}]


def _folded(module: Module, block: Block) -> None:
    block.terminator.operands = (block.arguments[0], block.terminator.operands[1])


def _folded_and_added(module: Module, block: Block) -> None:
    _folded(module, block)
    _added(module, block)


@pytest.mark.parametrize("noted", [False, True])
@pytest.mark.parametrize(("act", "names"), [
    (_moved, ["second", "first"]), (_moved_copy, ["second", "first"]), (_added, ["first", "second", "sum"]),
    (lambda module, block: _added(module, block, 0), ["sum", "first", "second"]),
    (_added_and_moved, ["sum", "second", "first"]),
    (lambda module, block: _ended(module, block, block.terminator.operands[1:]), ["second"]),
    (_renamed, ["first", "new"]), (_folded, ["first", "second"]), (_folded_and_added, ["first", "second", "sum"])])
def test_outputs_keep_their_names_and_what_they_are_given(act: Callable[..., None], names: list[str], noted: bool) -> None:
    module = module_of(noted=noted)
    with output_names_kept(module):
        act(module, module.body_of_main)
    own = {"first": "n", "second": "m"}
    assert output_names(module.main) == (names if noted else [own.get(name, name) for name in names])
    wanted = {"n": -X, "m": abs(X), "first": -X, "second": abs(X), "new": abs(X), "sum": abs(X) - X}
    if act not in (_folded, _folded_and_added):
        for name, array in transload.run(module, {"x": X}).items():
            np.testing.assert_array_equal(array, wanted[name])


class _Counted(str):
    """A name that counts how often it is compared."""

    __slots__ = ()
    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        _Counted.compared += 1
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other


def test_many_outputs_are_found_by_a_look_at_each() -> None:
    """A file of a megabyte has 60,000 outputs, as parts of one `Split`: to compare each with all others took an hour."""
    size = 1000
    before, now = (
        _Outputs(tuple(map(_Counted, names)), tuple(names), (None,) * size, (None,) * size)  # type: ignore[arg-type]
        for names in ([f"y{each}" for each in range(size)], [f"y{(each + 1) % size}" for each in range(size)]))
    _Counted.compared = 0
    assert before.places_of(now) == [*range(1, size), 0]
    assert _Counted.compared < 10 * size


def test_the_same_value_twice_is_two_outputs_in_order() -> None:
    names: tuple[str | None, ...] = (None,) * 3
    before, now = (_Outputs(values, ("n",) * 3, names, names) for values in (("a", "b", "a"), ("b", "a", "a")))  # type: ignore[arg-type]
    assert before.places_of(now) == [1, 0, 2]
