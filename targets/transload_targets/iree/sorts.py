"""The pass `iree-order-equal-elements`: stable sorts for a compiler whose sorts are not.

IREE sorts elements by exchanging neighbours unless the comparator says that the first comes before the second, so it exchanges
equal ones; and it takes a sort of which a part is used for one of the greatest elements, whose places come in any order where
they are equal. (Measured with IREE 3: 1 of 16 places right.) Here the places of elements decide where the comparator does not,
and a barrier keeps what is behind a sort from it.
"""

from __future__ import annotations

from transload.ir import I32, Block, Module, Op, Region, TensorType, Value
from transload.ir.build import Builder

__all__ = ["order_equal_elements"]


def order_equal_elements(module: Module) -> bool:
    """Have each stable sort, of static sizes, compare the places of elements that its comparator finds equal."""
    sorts = [op for op in module.walk() if op.name == "stablehlo.sort" and op.attribute("is_stable")
             and op.operands[0].is_static and op.operands[0].rank]
    for op in sorts:
        _ordered(op)
    return bool(sorts)


def _ordered(op: Op) -> None:
    """Replace a sort by one in which no two elements are equal."""
    rw = Builder(op.parent, op, op.location)  # type: ignore[arg-type]
    shape = op.operands[0].static_shape
    axis = op.attribute("dimension") % len(shape)
    inputs, count = list(op.operands), len(op.operands)
    at = next((number for number, value in enumerate(inputs) if _is_places(value, axis)), count)
    if at == count:
        inputs += rw.create("stablehlo.iota", (), (TensorType(shape, I32),), {"iota_dimension": axis}).results
    types = [value.type for value in inputs]
    made = rw.create("stablehlo.sort", inputs, types, op.attributes.copy(), (_before(op, at, inputs),)).results[:count]
    apart = rw.create("stablehlo.optimization_barrier", made, types[:count]).results
    for old, new in zip(op.results, apart, strict=True):
        old.replace_all_uses_with(new)
    op.erase()


def _before(op: Op, at: int, inputs: list[Value]) -> Region:
    """`a before b, or not b before a and a's place before b's`, the second half first; `at` is the input of places."""
    block = Block([TensorType((), value.element) for value in inputs for _ in range(2)])
    inner, body = Builder(block, None, op.location), op.regions[0].block
    given = list(block.arguments[: len(body.arguments)])
    behind = _computed(inner, body, [given[number ^ 1] for number in range(len(given))])
    sooner = inner.emit(
        "stablehlo.compare", *block.arguments[2 * at : 2 * at + 2], comparison_direction="LT", compare_type="SIGNED")
    tied = inner.emit("stablehlo.and", inner.emit("stablehlo.not", behind), sooner)
    inner.create("stablehlo.return", (inner.emit("stablehlo.or", tied, _computed(inner, body, given)),))
    return Region([block])


def _is_places(value: Value, axis: int) -> bool:
    """Whether it holds the places of elements along the axis."""
    return (value.op is not None and value.op.name == "stablehlo.iota" and value.op.attribute("iota_dimension") == axis
            and isinstance(value.type, TensorType) and value.element == I32)


def _computed(inner: Builder, body: Block, arguments: list[Value]) -> Value:
    """What a comparator gives of some elements: its ops, once more."""
    mapping = dict(zip(body.arguments, arguments, strict=True))
    for op in body:
        if op is body.last:
            return mapping.get(op.operands[0], op.operands[0])
        inner.block.append(op.clone(mapping))
    raise AssertionError("a comparator returns something")
