"""Whose fault it is: the ops of a module tried one by one, where a tool that takes whole modules refuses one at its first fault.

    for op, why in refused_ops(module, refusal):
        ...

`refusal(module)` says why the tool does not take a module, or None. Each op is given to it alone, with its constants, in a
function of its own whose arguments are what else the op takes; of ops that are alike, one. `refusal_by_runtime` makes a `refusal`
of what runs a format's files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from .contents import STRUCTURE
from .errors import TransloadError
from .ir import Dense, Module, Op, TensorType, Value, dtype_of, new_module, set_results
from .ir.build import constant_of, is_constant
from .ir.constants import SplatData
from .ir.regions import captured_values, functions_named
from .plugin import Runtime, Source, resolve
from .plugin_host import host
from .scratch import ScratchFolder

__all__ = ["FEW", "bring_functions", "is_of_files", "refusal_by_runtime", "refused_ops", "without_data"]

MOST = 1 << 30
"""Bytes of the inputs of a module that is tried, at most: files may claim any size, and it is made twice."""

FEW = 64
"""Numbers of a constant that may be sizes, from which a tool infers types: a list of as many as any tensor has dimensions."""


def without_data(module: Module, keeps: int = 0) -> Module:
    """A copy whose constants hold zeros, for tools that decide by types; of one that infers types from sizes, those of so few
    numbers are kept."""
    copy = module.clone()
    for op in copy.walk():
        dense = op.attributes.get("value")
        if isinstance(dense, Dense) and math.prod(dense.shape) > keeps and op.results and all(map(is_constant, op.results)):
            zeros = SplatData(0, tuple(dense.shape), dense.data.dtype)
            op.attributes["value"] = Dense(zeros, dense.type)
    return copy


def is_of_files(error: TransloadError) -> bool:
    """Whether an error is of the place that is written to, and says nothing of a module: no room, say, is no kind of its own."""
    return type(error) is TransloadError


def refusal_by_runtime(runtime: Runtime, module: Module) -> str | None:
    """Why a runtime does not run a module, written in its format, on zeros nor on ones; None where it does, or nobody can say.

    On both, for zeros may be what an operator divides by, and ones places that are not there.
    """
    types = [type_ for type_ in module.inputs.values() if isinstance(type_, TensorType) and type_.is_static]
    if len(types) < len(module.inputs):
        return None
    try:
        forms = [(type_.static_shape, dtype_of(type_.element)) for type_ in types]
    except ValueError:  # a resource, say, which nobody can be given
        return None
    if sum(math.prod(shape) * dtype.itemsize for shape, dtype in forms) > MOST:
        return None
    with ScratchFolder() as folder:
        path = folder / f"model.{runtime.format}"
        try:
            resolve(host().get("writers", runtime.format).write)(module, path)
            run = resolve(runtime.open)(path)
            names = host().get("readers", runtime.format)(Source(path=path, name=path.name)).inputs
        except TransloadError:  # what cannot be written as a model of its own
            return None
        why = ""
        for make in (np.zeros, np.ones):
            try:
                run({name: make(*form) for name, form in zip(names, forms, strict=True)})
                return None
            except TransloadError as error:
                why = why or error.message.replace(f"{path}: ", "").replace(str(path), "it")
    return why


def refused_ops(
    module: Module, refusal: Callable[[Module], str | None], asked: Callable[[Op], bool] = lambda op: True,
) -> Iterator[tuple[Op, str]]:
    """The ops that are refused by themselves, with the reason; of nested ones the innermost; none but those that are `asked`."""
    outcomes: dict[str, str | None] = {}

    def refused(op: Op) -> Iterator[tuple[Op, str]]:
        inner = [found for region in op.regions for block in region.blocks for each in block for found in refused(each)]
        if inner:
            yield from inner
            return
        if op.dialect in STRUCTURE or (op.declaration is not None and "terminator" in op.declaration.traits):
            return
        if not asked(op):
            return
        key = _signature(op)
        if key not in outcomes:
            outcomes[key] = refusal(_alone(op))
        why = outcomes[key]
        if why is not None:
            yield op, why

    for function in module.functions.values():
        yield from refused(function)


def _signature(op: Op) -> str:
    """What decides whether an op is taken: its name, attributes, types, and constants that may be sizes; where it has regions,
    the op itself."""
    types = [str(value.type) for value in (*op.operands, *op.results)]
    sizes = [(place, constant.numpy().tolist()) for place, value in enumerate(op.operands)
             if (constant := constant_of(value)) is not None and math.prod(constant.shape) <= FEW]
    members = {key: value for key, value in op.attributes.items() if key != "value"}
    return f"{op.name} {members} {types} {sizes}" + (f" {id(op)}" if op.regions else "")


def _alone(op: Op) -> Module:
    """A module with a function that does nothing but `op`: what it takes are the arguments, but for constants."""
    taken = list(dict.fromkeys([*op.operands, *captured_values(op)]))
    captured = [value for value in taken if not is_constant(value)]
    made = new_module()
    function = made.add_function("main", [value.type for value in captured])
    block = function.regions[0].block
    mapping: dict[Value, Value] = dict(zip(captured, block.arguments, strict=True))
    for value in taken:
        if value not in mapping and value.op is not None:
            block.append(value.op.clone(mapping))
    copy = op.clone(mapping)
    block.append(copy)
    set_results(function, copy.results)
    bring_functions(op, made)
    return made


def bring_functions(op: Op, made: Module) -> None:
    """Copy into a module the functions that an op runs, or what is in its regions, and those that they run: what it names by
    symbols."""
    module: Op | None = op
    while module is not None and not isinstance(module, Module):
        module = module.parent_op
    functions, pending = module.functions if module is not None else {}, list(op.walk())
    while pending:
        for name in functions_named(pending.pop()):
            if name in functions and name not in made.functions:
                pending += functions[name].walk()
                made.body.append(functions[name].clone())
