"""Variables (EXT-VARIABLE): tensors that live from one run to the next.

StableHLO's programs have no state. A variable becomes a state of the module (`transload.ir.State`): an argument of `main`,
what it holds before, and a result, what it holds after. Who runs the program hands it on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transload.ir import Dense, Module, Op, TensorType, Value, add_state, dtype_of
from transload.ir.constants import SplatData
from transload.rewrite import Rewriter, RewriteTable, Unsupported

if TYPE_CHECKING:
    from ...tosa.dialect.control import Variable, VariableRead, VariableWrite

__all__ = ["TABLE", "make_explicit"]

TABLE = RewriteTable()
ACCESSES = ("tosa.variable_read", "tosa.variable_write")


@TABLE("tosa.variable", *ACCESSES)
def left(op: Variable | VariableRead | VariableWrite, rw: Rewriter) -> Any:
    """What `make_explicit` left."""
    raise Unsupported(
        f"variable {op.attributes.get('name') or op.attributes.get('sym_name')!r} is used inside of a branch, a loop or another "
        "function", "pass its value into the region and out of it")


def make_explicit(module: Module) -> bool:
    """Make a state of each variable that only the body of `main` reads and writes, in place."""
    variables = {op.attributes["sym_name"]: op for op in module.body if op.name == "tosa.variable"}
    if not variables:
        return False
    block = module.main.regions[0].block
    for op in module.walk():
        if op.name in ACCESSES and op.parent is not block:
            variables.pop(op.attributes["name"], None)
    held: dict[str, Value] = {}
    places: dict[str, int] = {}
    for name, variable in variables.items():
        initial = _initial(variable)
        held[name], places[name] = add_state(module, name, initial.type, initial)
        variable.erase()
    for op in list(block):
        name = op.attributes.get("name") if op.name in ACCESSES else None
        if name in held:
            if op.results:
                op.replace_with([held[name]])
            else:
                held[name] = op.operands[0]
                op.erase()
    for name, place in places.items():
        block.terminator.set_operand(place, held[name])
    return bool(places)


def _initial(variable: Op) -> Dense:
    """What a variable holds before the first run; zeros where that is not said."""
    initial = variable.attributes.get("initial_value")
    if isinstance(initial, Dense):
        return initial
    shape = tuple(variable.attributes["var_shape"].numpy().reshape(-1).tolist())
    element = variable.attributes["type"]
    return Dense(SplatData(0, shape, dtype_of(element)), TensorType(shape, element))
