"""A function over tensors, and the module that it writes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import transload
from transload.errors import UsageError
from transload.ir import Module, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.ir.verify import verify
from transload.text import print_module

from .tensor import Tensor, constant, scope, type_of, writing

__all__ = ["Network", "network"]


def network(function: Callable[..., Any] | None = None, /, **inputs: Any) -> Any:
    """Make a network of a function: `@network(image=(1, 3, 32, 32))`, or `network(function, image=(1, 3, 32, 32))`.

    Each parameter of the function is an input; its type is a shape (of f32), a shape and an element type, text as "1x8xi8", or
    a `TensorType`. The function gives a tensor, a tuple of them, or a dictionary, whose keys are the names of the outputs.
    Raises `UsageError` where inputs and parameters differ, and what the ops raise, in the function's own line.
    """
    if function is None:
        return lambda given: Network(given, inputs)
    return Network(function, inputs)


class Network:
    """What a function wrote. `module` is the module, in the dialect of the hub.

    Called with arrays, it runs; called with tensors, while another network is written, it is written into that one.
    """

    def __init__(self, function: Callable[..., Any], inputs: Mapping[str, Any]) -> None:
        self.function = function
        self.name = function.__name__
        self.__doc__ = function.__doc__
        parameters = [name for name, parameter in inspect.signature(function).parameters.items()
                      if parameter.default is inspect.Parameter.empty or name in inputs]
        if set(parameters) != set(inputs):
            raise UsageError(
                f"the function {self.name!r} has the parameters {', '.join(parameters) or 'none'}, and types are given for "
                f"{', '.join(inputs) or 'none'}", hint=f"@network({', '.join(f'{name}=(1, 8)' for name in parameters)})")
        self.module = _written(function, {name: type_of(inputs[name]) for name in parameters})

    @property
    def inputs(self) -> dict[str, TensorType]:
        """The types of the inputs by name."""
        return dict(self.module.inputs)  # type: ignore[arg-type]

    @property
    def outputs(self) -> dict[str, TensorType]:
        """The types of the outputs by name."""
        return dict(self.module.outputs)  # type: ignore[arg-type]

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if any(isinstance(each, Tensor) for each in (*arguments, *named.values())):
            with scope(self.name):
                return self.function(*arguments, **named)
        results = self.run(*arguments, **named)
        values = tuple(results.values())
        return values[0] if len(values) == 1 else values

    def run(self, *arguments: Any, engine: str = "auto", **named: Any) -> dict[str, np.ndarray]:
        """Outputs by name, for arrays by position or name, in the dtypes of the inputs."""
        names = list(self.inputs)
        twice = [name for name in names[: len(arguments)] if name in named]
        if len(arguments) > len(names) or twice:
            why = f"is given {twice[0]!r} twice" if twice else f"takes {len(names)} inputs, and was given {len(arguments)}"
            raise UsageError(f"the network {self.name!r} {why}", hint=f"inputs: {', '.join(names) or 'none'}")
        given = dict(zip(names, arguments, strict=False)) | named
        return transload.run(self.module, {name: np.asarray(array) for name, array in given.items()}, engine=engine)

    def convert(self, target: str | None = None, out: str | Path = "build", **options: Any) -> Any:
        """`transload.convert` of the module: artifacts and a report in the folder `out`."""
        return transload.convert(self.module, target, out, **options)

    def lower(self, to: str | None = None, **options: Any) -> Module:
        """`transload.lower` of the module, to a dialect."""
        return transload.lower(self.module, to, **options)

    def __str__(self) -> str:
        return print_module(self.module, constants="elided")

    def __repr__(self) -> str:
        given, made = (", ".join(map(str, types.values())) for types in (self.inputs, self.outputs))
        return f"<network {self.name}: {given} -> {made}>"


def _written(function: Callable[..., Any], types: Mapping[str, TensorType]) -> Module:
    """The module that a function writes."""
    module = new_module()
    main = module.add_function("main", list(types.values()), list(types))
    block = main.regions[0].block
    with writing(Builder(block)):
        made = function(**{name: Tensor(argument) for name, argument in zip(types, block.arguments, strict=True)})
        if isinstance(made, Mapping):
            names, given = list(made), list(made.values())
        else:
            given = list(made) if isinstance(made, tuple | list) else [made]
            names = ["output"] if len(given) == 1 else [f"output{place}" for place in range(len(given))]
        if not given or any(each is None for each in given):
            raise UsageError(f"the function {function.__name__!r} gives no tensor", hint="return what the network computes")
        values = [(each if isinstance(each, Tensor) else constant(each)).value for each in given]
    set_results(main, values, names)
    verify(module)
    return module
