"""JAX's `shard_map`: what each device computes, as a function of its own.

Shardy has it as a region, `sdy.manual_computation`; its predecessor GSPMD as a function that is called between two calls, which
cut tensors into the parts of the devices and join them, with GSPMD's text of which has which. The first is made the second here:
on one device, whose parts are whole, these calls give back what they take; in `run_parallel` they cut and join.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any

from transload.errors import ReadError
from transload.ir import Block, Module, Op, Region, Value
from transload.ir.attributes import OpaqueAttr, Symbol
from transload.ir.build import Builder
from transload.ir.types import FunctionType, Type

__all__ = ["check_meshes", "outline_manual_computations", "tell_devices"]

_MANUAL, _CAST = "sdy.manual_computation", "builtin.unrealized_conversion_cast"
_CUT, _JOIN = "SPMDFullToShardShape", "SPMDShardToFullShape"
_SPREADING = (_CUT, _JOIN, "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape")
_NAME, _SHARDING = "shmap_body", "mhlo.sharding"
_of_tensor = re.compile(r"<@([\w.$-]+), \[([^\]]*)\]")
_dimension, _axis = re.compile(r"\{([^}]*)\}"), re.compile(r'"([^"]*)"')
_of_mesh = re.compile(r'"([^"]*)"\s*=\s*(\d+)')


def check_meshes(ops: Iterable[Op], name: str) -> None:
    """Raise `ReadError` for a mesh that takes or gives something, or holds regions: it is a name for devices, no value."""
    for op in ops:
        if op.name == "sdy.mesh" and (op.operands or op.results or op.regions):
            raise ReadError(f"{name}: sdy.mesh has no operands, results or regions, and here it has")


def outline_manual_computations(module: Module) -> None:
    """Give each a function, where it uses nothing of around it; others stay as they are.

    Portable artifacts have casts around it, of types that are no others once they are read.
    """
    functions = list(module.functions.values())
    for function in functions:  # also those made here, which have what lay within another
        functions += [_outline(module, op) for op in [*_outermost(function)]]
    for op in [op for op in module.walk() if op.name == _CAST]:
        if [value.type for value in op.operands] == [value.type for value in op.results]:
            op.replace_with(op.operands)


def _outermost(op: Op) -> Iterator[Op]:
    """Those within an op that are to be made functions, without what lies within them."""
    for inner in [inner for region in op.regions for block in region.blocks for inner in block]:
        if inner.name == _MANUAL and len(inner.regions) == 1 and _is_whole(inner):
            yield inner
        else:
            yield from _outermost(inner)


def tell_devices(module: Module) -> None:
    """Note on a module whose `main` needs several devices how what each computes is run."""
    cuts = [op for op in module.walk() if op.name == "stablehlo.custom_call" and op.attribute("call_target_name") in _SPREADING
            and [value.type for value in op.operands] != [value.type for value in op.results]]
    if cuts:
        number = module.attributes.get("mhlo.num_partitions")
        names = [name for name in module.functions if name.startswith(_NAME)]
        many, function = number if isinstance(number, int) else "several", f", {names[0]!r}," if names else ""
        module.notes = (*module.notes, (
            f"the program is spread over {many} devices (shard_map): run_parallel(module, inputs, num_partitions=...) of "
            f"transload_plugins.stablehlo.parallel runs it, or what each computes{function} on its part; or export it "
            "for one device"))


def _is_whole(op: Op) -> bool:
    """Whether its region has one block that ends as such regions do, and uses values of its own alone."""
    region = op.regions[0]
    if len(region.blocks) != 1 or not len(region.block) or region.block.terminator.name != "sdy.return":
        return False
    own: set[Value] = set(region.block.arguments)
    for inner in region.block:
        for each in inner.walk():
            own.update(each.results, *(block.arguments for part in each.regions for block in part.blocks))
    return all(value in own for inner in region.block for each in inner.walk() for value in each.operands)


def _outline(module: Module, op: Op) -> Op:
    block = op.regions[0].block
    end = block.terminator
    inputs, results = [value.type for value in block.arguments], [value.type for value in end.operands]
    name = _free_name(module)
    names = [value.name for value in op.operands]
    body = Block(inputs, names if all(names) and len({*names}) == len(names) else ())
    mapping = dict[Value, Value]()
    mapping.update(zip(block.arguments, body.arguments, strict=True))
    for inner in block:
        if inner is not end:
            body.append(inner.clone(mapping))
    body.append(Op("func.return", [mapping[value] for value in end.operands]))
    function = module.body.append(Op("func.func", (), (), {
        "sym_name": name, "function_type": FunctionType(tuple(inputs), tuple(results)), "sym_visibility": "private"},
        (Region([body]),), op.location))
    builder = Builder(op.parent, op, op.location)  # type: ignore[arg-type]
    cut, joined = (_shardings(module, op.attribute(key)) for key in ("in_shardings", "out_shardings"))
    parts = [
        _annotated(builder, _CUT, _annotated(builder, "Sharding", value, value.type, how), type_, how and "{manual}")
        for value, type_, how in zip(op.operands, inputs, cut, strict=False)]
    called = builder.create("func.call", parts, results, {"callee": Symbol(name)})
    wholes = zip(called.results, op.results, joined, strict=False)
    op.replace_with([
        _annotated(builder, _JOIN, _annotated(builder, "Sharding", part, part.type, how and "{manual}"), whole.type, how)
        for part, whole, how in wholes])
    return function


def _annotated(builder: Builder, target: str, value: Value, type_: Type, sharding: str) -> Value:
    if target == "Sharding" and not sharding:
        return value
    attributes = {"call_target_name": target, **({_SHARDING: sharding} if sharding else {})}
    return builder.create("stablehlo.custom_call", (value,), (type_,), attributes).result


def _shardings(module: Module, given: Any) -> Iterator[str]:
    """Of each tensor how it is spread, as GSPMD says it; nothing where that is not known, and behind the last."""
    for mesh, dimensions in _of_tensor.findall(given.text if isinstance(given, OpaqueAttr) else ""):
        axes = [_axis.findall(each) for each in _dimension.findall(dimensions)]
        yield _of_gspmd(_mesh(module, mesh), axes)
    yield from repeat("")


def _mesh(module: Module, name: str) -> dict[str, int]:
    """The sizes of the axes of a mesh whose devices are in their order, by name; none of another."""
    for op in module.body:
        if op.name == "sdy.mesh" and op.attribute("sym_name") == name and "device_ids" not in str(op.attribute("mesh")):
            return {axis: int(size) for axis, size in _of_mesh.findall(str(op.attribute("mesh")))}
    return {}


def _of_gspmd(mesh: dict[str, int], dimensions: list[list[str]]) -> str:
    named = [axis for axes in dimensions for axis in axes]
    if not mesh or not {*named} <= mesh.keys():
        return ""
    if not named:
        return "{replicated}"
    places, rest = [*mesh], [axis for axis in mesh if axis not in named]
    tiles = [math.prod(mesh[axis] for axis in axes) for axes in (*dimensions, rest)]
    order = [places.index(axis) for axis in (*named, *rest)]
    return (f"{{devices=[{','.join(map(str, tiles))}]<=[{','.join(map(str, mesh.values()))}]T({','.join(map(str, order))}) "
            "last_tile_dim_replicate}")


def _free_name(module: Module) -> str:
    number, name = 0, _NAME
    while name in module.functions:
        number += 1
        name = f"{_NAME}_{number}"
    return name
