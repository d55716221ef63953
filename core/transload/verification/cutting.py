"""Modules cut at tensors: each becomes an input, and what computes it an output.

So the numbers of another runtime go on in the place of ours, and what each part of a module computes can be compared without
what came before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..ir import Module, TensorType, Value, input_names
from ..ir.build import constant_of
from ..ir.module import NAME, update_function_type
from ..passes.dce import eliminate_dead_code
from ..plugin_host import host

__all__ = ["cut", "cut_behind", "cut_module", "execute", "given_by_name", "named_values"]

Wanted = Callable[[TensorType], bool]


def named_values(module: Module, shapes: Mapping[str, tuple[int, ...]], wanted: Wanted) -> dict[str, Value]:
    """The computed tensors of the main function of a type that is `wanted`, with these names and, but for sizes of 1, shapes."""
    found = {}
    for op in module.body_of_main:
        for value in op.results:
            name, type_ = value.name, value.type
            if name is None or name not in shapes or constant_of(value) is not None or not isinstance(type_, TensorType):
                continue
            if wanted(type_) and _without_ones(value.shape) == _without_ones(shapes[name]):
                found[name] = value  # the last of a name is the tensor itself
    return found


def given_by_name(hub: Module, values: Sequence[Value], reference: Mapping[str, np.ndarray]) -> dict[str, Value]:
    """Tensors by their names; none where a runtime, whose tensors are the `reference`, does not give all of them."""
    names = {value.name: value for value in values if value.name is not None and value.name in reference}
    found = named_values(hub, {name: reference[name].shape for name in names}, lambda _: True)
    is_whole = len(names) == len(values) and all(found.get(name) is value for name, value in names.items())
    return names if is_whole and all(isinstance(value.type, TensorType) for value in values) else {}


def cut_module(
    module: Module, shapes: Mapping[str, tuple[int, ...]], wanted: Wanted,
) -> tuple[Module, list[tuple[str, tuple[int, ...]]]]:
    """A copy in which the tensors of these names and shapes are inputs, and what computes them outputs; what they are there."""
    module = module.clone()
    found = named_values(module, shapes, wanted)
    for name, value in found.items():
        cut(module, value, name)
    terminator = module.body_of_main.terminator
    terminator.operands = (*terminator.operands, *found.values())
    if "res_attrs" in module.main.attributes:
        module.main.attributes["res_attrs"] = [*module.main.attributes["res_attrs"], *({} for _ in found)]
    update_function_type(module.main)
    return module, [(name, value.shape) for name, value in found.items()]  # type: ignore[misc]


def cut(module: Module, value: Value, name: str) -> None:
    """Make `value` an input of the main function for all that uses it."""
    main = module.main
    names = input_names(main)
    value.replace_all_uses_with(module.body_of_main.add_argument(value.type, name))
    noted = [*(main.attributes.get("arg_attrs") or [{} for _ in names]), {}]
    main.attributes["arg_attrs"] = [
        {**attributes, NAME: each} for attributes, each in zip(noted, (*names, f"{name}:given"), strict=True)]


def cut_behind(
    module: Module, place: int, shapes: Mapping[str, tuple[int, ...]],
) -> tuple[Module, list[tuple[str, tuple[int, ...]]]]:
    """A copy that computes one output alone, of the values of these names and the module's inputs; what `cut_module` found."""
    behind = module.clone()
    behind.body_of_main.terminator.operands = (behind.body_of_main.terminator.operands[place],)
    behind, found = cut_module(behind, shapes, lambda _: True)
    behind.body_of_main.terminator.operands = behind.body_of_main.terminator.operands[:1]
    behind.main.attributes.pop("res_attrs", None)
    update_function_type(behind.main)
    eliminate_dead_code(behind)
    return behind, found


def execute(module: Module, arrays: Sequence[Any], engine: str) -> list[np.ndarray]:
    """The outputs of a module, on arrays in the order of its inputs."""
    run = host().engine(engine)(module, "main")
    return list(run(dict(zip(input_names(module.main), arrays, strict=True)), False).values())


def _without_ones(shape: Sequence[int | None]) -> list[int | None]:
    return [size for size in shape if size != 1]
