"""`Postprocess`: what is added behind a model, so that the program gives what is made of the model's outputs.

    post = Postprocess(module, "yolov3")         # or "yolov3{score=0.3 boxes=100}": with options of the pass
    post.passes                                  # what has to run at the hub
    post.outputs({"head": array, ...})           # what the program gives, where the model gives this

Verification has the model's own runtime run the model, and judges by what `outputs` makes of that.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from .errors import UsageError
from .ir import Module, TensorType, dtype_of, new_module, set_results
from .passes.manager import Pipeline
from .plugin_host import host

__all__ = ["ADD", "Postprocess"]

ADD = "add-postprocess"
"""The pass that adds it."""


class Postprocess:
    """Of a model, what is added behind it, by name. Raises `UsageError` where there is no such, or outputs do not fit it."""

    def __init__(self, module: Module, text: str) -> None:
        host().get("passes", ADD)
        name, brace, options = text.partition("{")
        self.passes = f"{ADD}{{type={name} {options}" + ("" if brace else "}")
        self._inputs, self._outputs = dict(module.inputs), dict(module.outputs)
        if not all(isinstance(type_, TensorType) and type_.is_static for type_ in self._outputs.values()):
            raise UsageError(f"{name} cannot be added: the outputs have no fixed shapes", hint="--shape gives inputs theirs")
        self._behind = self._made()

    def _made(self) -> Module:
        """A module of what is added alone: it takes what the model takes and gives, and gives what the program does."""
        module = new_module()
        names = [*(f"in:{name}" for name in self._inputs), *self._outputs]
        function = module.add_function("main", [*self._inputs.values(), *self._outputs.values()], names)
        set_results(function, module.body_of_main.arguments[len(self._inputs):], list(self._outputs))
        self.added(module)
        return module

    def added(self, module: Module) -> Module:
        """The module, with it added, in place."""
        Pipeline.parse(self.passes).run(module)
        return module

    @property
    def names(self) -> list[str]:
        """Of what the program gives."""
        return list(self._behind.outputs)

    def outputs(self, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """What the program gives, for what the model gives."""
        empty = {
            f"in:{name}": np.zeros(type_.static_shape, dtype_of(type_.element))
            for name, type_ in self._inputs.items() if isinstance(type_, TensorType)}
        made: dict[str, np.ndarray] = self._run({**empty, **dict(zip(self._outputs, given.values(), strict=True))}, False)
        return made

    @cached_property
    def _run(self) -> Any:
        return host().engine("reference")(self._behind, "main")
