"""Transload as an ONNX backend: the interface of `onnx.backend.base`, by which ONNX's own tests run.

    import transload_converters.onnx.backend as backend
    outputs = backend.prepare(model).run([x])

A model is converted when it is first run, for the shapes of the arrays it is given. An input that must
be known to convert it (the new shape of a Reshape, the axes of a reduction) becomes a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, numpy_helper
from onnx.backend.base import Backend, BackendRep

from transload.conversion import apply_conversion
from transload.errors import ConversionError, ReadError
from transload.ir import NONE, Module, TensorType
from transload.plugin import Source
from transload.plugin_host import host

from .bundles import element_name
from .reader import read

__all__ = ["TransloadBackend", "TransloadRep", "difference", "is_compatible", "prepare", "run_model", "supports_device"]


class TransloadRep(BackendRep):
    """A model ready to be run. `made_constant` names the inputs that had to become constants."""

    def __init__(self, model: ModelProto, engine: str = "reference") -> None:
        constants = {tensor.name for tensor in model.graph.initializer}
        self.model = model
        self.engine = engine
        self.inputs = [info.name for info in model.graph.input if info.name not in constants]
        self.made_constant: tuple[str, ...] = ()
        self._compiled: dict[Any, Callable[..., dict[str, np.ndarray]]] = {}

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs for inputs given in order, or by name."""
        given = dict(inputs) if isinstance(inputs, Mapping) else dict(zip(self.inputs, inputs, strict=False))
        arrays = {name: array for key, value in given.items() for name, array in _arrays(key, value)}
        failure: ConversionError | ReadError | None = None
        for names in _choices(arrays):
            try:
                execute = self._compile(arrays, names)
            except (ConversionError, ReadError) as error:
                failure = failure or error
                continue
            self.made_constant = names
            fed = {name: array for name, array in arrays.items() if name not in names and not name.endswith("[]")}
            outputs = execute(fed, False)
            return tuple(self._bundled(outputs))
        raise failure if failure is not None else ReadError("the model has no inputs to be run with")

    def _compile(self, arrays: Mapping[str, np.ndarray], constant: tuple[str, ...]) -> Callable[..., dict[str, np.ndarray]]:
        shapes = tuple((name, array.shape) for name, array in arrays.items())
        key = (shapes, tuple((name, arrays[name].tobytes()) for name in constant))
        if key not in self._compiled:
            module = self.module({name: array for name, array in arrays.items() if name not in constant},
                                 {name: arrays[name] for name in constant})
            self._compiled[key] = host().engine(self.engine)(module, "main")
        return self._compiled[key]

    def _bundled(self, outputs: Mapping[str, np.ndarray]) -> Iterator[Any]:
        """The model's outputs: arrays, and lists where it gives sequences, whose tensors have names with places in them."""
        infos = self.model.graph.output
        singles = iter([array for name, array in outputs.items() if not any(_is_in(name, info) for info in infos)])
        for info in infos:
            yield [array for name, array in outputs.items() if _is_in(name, info)] if _is_sequence(info.type) else next(singles)

    def module(self, arrays: Mapping[str, np.ndarray], constants: Mapping[str, np.ndarray]) -> Module:
        """The model in dialect `top`, for inputs of these shapes and others of these values."""
        model = self.model
        if constants:
            model = ModelProto()
            model.CopyFrom(self.model)
            model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
        module = read(Source(_data=model.SerializeToString(), name=model.graph.name or "<model>"),
                      {name: TensorType(array.shape, NONE) for name, array in arrays.items()})
        apply_conversion(host().conversions["onnx-to-top"], module)
        return module


def _is_sequence(type_: Any) -> bool:
    return type_.WhichOneof("value") == "sequence_type" or (
        type_.WhichOneof("value") == "optional_type" and _is_sequence(type_.optional_type.elem_type))


def _is_in(name: str, info: Any) -> bool:
    """Whether an output of ours is a tensor in a sequence that the model gives."""
    return _is_sequence(info.type) and name.startswith(f"{info.name}[")


def _arrays(name: str, value: Any) -> list[tuple[str, np.ndarray]]:
    """An input as arrays: none for one that is left out, one for each tensor of a sequence."""
    if value is None:
        return []
    if not isinstance(value, list):
        return [(name, _array(name, value))]
    items = [(element_name(name, place), _array(name, item)) for place, item in enumerate(value)]
    return items or [(f"{name}[]", np.zeros(0, np.float32))]


def _array(name: str, value: Any) -> np.ndarray:
    """An input as an array. Types that numpy lacks may come as `TensorProto`."""
    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    if value is None or isinstance(value, list | dict):
        raise ReadError(f"input {name!r} is {type(value).__name__}, and must be a tensor")
    return np.asarray(value)


def _choices(arrays: Mapping[str, np.ndarray]) -> list[tuple[str, ...]]:
    """Which inputs to make constant, the fewest first: none; small ones that are no data; all but the first; all."""
    names = [name for name in arrays if not name.endswith("]")]  # of sequences none
    numbers = tuple(n for n in names[1:] if arrays[n].ndim <= 1 and arrays[n].dtype.kind in "iub")
    small = tuple(n for n in names[1:] if arrays[n].ndim <= 1)
    return list(dict.fromkeys([(), numbers, small, tuple(names[1:]), tuple(names)]))


class TransloadBackend(Backend):
    """`onnx.backend.base.Backend` on Transload's reference engine."""

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> TransloadRep:
        """A model made ready to be run."""
        return TransloadRep(model, **kwargs)

    @classmethod
    def run_model(cls, model: ModelProto, inputs: Sequence[Any], device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """The outputs of a model."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether a device can be asked for: the CPU."""
        return device == "CPU"


prepare = TransloadBackend.prepare
run_model = TransloadBackend.run_model
supports_device = TransloadBackend.supports_device
is_compatible = TransloadBackend.is_compatible


def difference(wanted: Sequence[Any], got: Sequence[Any], rtol: float, atol: float) -> str | None:
    """How outputs differ from those that a test of ONNX wants; None where they do not.

    `rtol` and `atol` are the test's; 16-bit floats may differ by two units in the last place.
    """
    if len(got) != len(wanted):
        return f"{len(got)} outputs, not {len(wanted)}"
    for expected, value in zip(wanted, got, strict=True):
        if isinstance(expected, list):
            found = difference(expected, value, rtol, atol) if isinstance(value, list) else "is no sequence"
            if found:
                return found
            continue
        a = _array("output", expected)
        if (a.shape, a.dtype) != (value.shape, value.dtype):
            return f"{value.dtype}{value.shape}, not {a.dtype}{a.shape}"
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        coarse = {"bfloat16": 2e-2, "float16": 2e-3}.get(a.dtype.name, 1e-3)
        x, y = a.astype(wide), value.astype(wide)
        if not np.allclose(y, x, max(coarse, rtol), max(atol, 1e-5), equal_nan=True):
            return f"values differ by up to {np.nanmax(np.abs(y - x))}"
    return None
