"""A model before and after it was quantized, and the float model run as its framework does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.first_run import from_first
from ..engine.quantized import dequantize
from ..errors import PluginFailure, RunError, TransloadError
from ..guard import noted
from ..ir import Module, QuantType, TensorType, asked_inputs
from ..plugin import resolve
from ..plugin_host import host
from ..worker import ChildEnded
from .runtimes import judged_format, run_of, runtime_for

if TYPE_CHECKING:
    from ..postprocess import Postprocess
    from ..samples.fused import Fused

__all__ = ["FloatModel", "Outputs", "QuantizedModel", "named_inputs", "real_outputs", "runs_from_first"]

Outputs = dict[str, np.ndarray]
_REFUSED = (RunError, ChildEnded, PluginFailure)
"""What says that a runtime does not run the model."""


@dataclass(frozen=True)
class QuantizedModel:
    """A model before and after it was quantized."""

    source: Module
    """As it was read."""
    floats: Module
    """In the hub, before."""
    module: Module
    """In the hub, after."""
    is_integer: bool
    """Whether all between the inputs and the outputs is integers."""
    fused: Fused | None = None
    """Inputs that take pixels, in the hub, and numbers made of these in the source."""
    post: Postprocess | None = None
    """What was added behind the quantized module, and is not in the others."""

    @property
    def taken(self) -> Module:
        """A module with the inputs that samples are for."""
        return self.source if self.fused is None else self.fused.outside


class _Remembering:
    """What runs a model, and knows what it gave of its last inputs: the first sample is asked for twice, where the floats are
    judged, and where the result is."""

    def __init__(self, run: Callable[..., Outputs]) -> None:
        self._run = run
        self._last: tuple[Mapping[str, np.ndarray], Outputs] | None = None

    def __call__(self, given: Mapping[str, np.ndarray], **how: Any) -> Outputs:
        if how:
            return self._run(given, **how)
        if self._last is None or not _are_same(self._last[0], given):
            self._last = dict(given), self._run(given)
        return dict(self._last[1])


def _are_same(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(array, other[name]) for name, array in one.items())


class FloatModel:
    """The float model on its inputs: in its framework's runtime, or in an engine where there is none, or it refuses.

    What it gives are real numbers, where the model was quantized already, too.
    """

    def __init__(self, model: QuantizedModel, engine: str) -> None:
        self._floats, self._engine, self._fused, self._post = model.floats, engine, model.fused, model.post
        self._source = model.source
        self._own: Callable[..., Outputs] | None = None
        self._execute: Callable[..., Outputs] | None = None
        self._padded: Mapping[str, int | None] = {}
        self._undefined: Callable[..., str] | None = None
        self.who = f"engine {engine}"
        self.notes: list[str] = []
        source = model.source
        runtime, _ = runtime_for(judged_format(source))
        if runtime is None or source.source is None or not (runtime.functions or source.entry == "main"):
            return
        try:
            made = model.floats if model.post is None else None
            self._own, self.who = _Remembering(run_of(runtime, source, made)), runtime.name
            self._padded = resolve(runtime.padded)(source) if runtime.padded is not None else {}
            self._undefined = resolve(runtime.undefined) if runtime.undefined is not None else None
        except _REFUSED as error:
            self._note(error)

    @property
    def padded(self) -> Mapping[str, int | None]:
        """The outputs of which its framework's runtime gives what is found alone (`Runtime.padded`)."""
        return self._padded if self._own is not None and self._post is None else {}

    @property
    def opened(self) -> Callable[..., Outputs] | None:
        """What runs the model's file, where its framework's runtime does."""
        return self._own

    def leaves_open(self, arrays: Mapping[str, np.ndarray]) -> str:
        """Why its framework does not say what the outputs are on these inputs (`Runtime.undefined`); nothing where it does."""
        if self._own is None or self._undefined is None or self._fused is not None:
            return ""
        return str(self._undefined(self._source, self._floats, arrays))

    def __call__(self, arrays: Mapping[str, np.ndarray]) -> Outputs:
        outputs = self._outputs(arrays)
        return outputs if self._post is None else self._post.outputs(outputs)

    def _outputs(self, arrays: Mapping[str, np.ndarray]) -> Outputs:
        if self._own is not None:
            try:
                return real_outputs(self._source, self._own(arrays if self._fused is None else self._fused.inside(arrays)))
            except _REFUSED as error:
                self._note(error)
                self._own, self.who = None, f"engine {self._engine}"
        if self._execute is None:
            self._execute = runs_from_first(self._floats, self._engine)
        return real_outputs(self._floats, self._execute(named_inputs(self._floats, arrays.values())))

    def _note(self, error: TransloadError) -> None:
        """A runtime that refuses a model says nothing of itself; one that fails is to be mended."""
        if isinstance(error, PluginFailure):
            self.notes.append(noted(error))


def runs_from_first(module: Module, engine: str = "reference") -> Callable[[Mapping[str, np.ndarray]], Outputs]:
    """A module as a function of its inputs, run by an engine."""
    return from_first(host().engine(engine)(module, "main"), module)


def named_inputs(module: Module, arrays: Iterable[np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays by the names of a module's inputs: all of these, where the model that they were given to says its states, too."""
    given = [*arrays]
    names = module.inputs if len(given) == len(module.inputs) else asked_inputs(module)
    return dict(zip(names, given, strict=True))


def real_outputs(module: Module, outputs: Outputs) -> Outputs:
    """What the outputs of a module stand for, where they are quantized."""
    made = dict(outputs)
    for type_, (name, array) in zip(module.outputs.values(), outputs.items(), strict=False):  # states follow
        element = type_.element if isinstance(type_, TensorType) else None
        made[name] = dequantize(array, element) if isinstance(element, QuantType) and array.dtype.kind in "iu" else array
    return made
