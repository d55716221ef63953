"""A program's calls, one after the other, by PyTorch's own kernels: as the process has it in which torch runs (`runtime`).

Only operators that compute are called: those of `schemas`, and arithmetic of sizes. Nothing else that a file may name is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import torch

from transload.errors import RunError
from transload.guard import FOREIGN, goes_through
from transload.plugin import Source

from .archive import Archive
from .importer import number_as_tensor, value_names
from .program import ELEMENTS, OMITTED, Graph, Node, Program, Ref, Sym, read_program
from .reader import output_names
from .schemas import op_name, overwriting, schema_of
from .tensors import tensor_of

__all__ = ["Session"]

_SIZES: dict[str, Callable[..., Any]] = {
    name: getattr(operator, name) for name in (
        "add", "sub", "mul", "floordiv", "truediv", "mod", "neg", "pow", "eq", "ne", "lt", "le", "gt", "ge", "and_", "or_",
        "not_")}
_DTYPES = {
    "ui8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "f16": torch.float16,
    "f32": torch.float32, "f64": torch.float64, "i1": torch.bool, "bf16": torch.bfloat16, "ui16": torch.uint16,
    "ui32": torch.uint32,
    "ui64": torch.uint64, "f8E4M3FN": torch.float8_e4m3fn, "f8E5M2": torch.float8_e5m2, "complex<f32>": torch.complex64,
    "complex<f64>": torch.complex128}
_PLACES = ("device", "layout", "pin_memory", "generator")
"""Arguments that say where a tensor lies."""
_ASSERTIONS = ("_assert", "sym_constrain", "_functional_assert", "_functional_sym")


class Session:
    """A program that can be called. `name` is what errors call it."""

    def __init__(self, path: str, name: str) -> None:
        torch.set_grad_enabled(False)
        self.name = name
        self.archive = Archive(Source(path=Path(path), name=name))
        self.program: Program = read_program(self.archive)
        self.held = {
            target: _tensor(tensor_of(self.archive, payload, target).numpy())
            for target, payload in self.program.payloads.items()}

    def __call__(self, inputs: Mapping[str, np.ndarray], keep: bool) -> dict[str, np.ndarray]:
        """Run once, from the state that the archive holds."""
        values: dict[str, Any] = {}
        names: list[str] = []
        for spec in self.program.inputs:
            if spec.kind == "user_input" and isinstance(spec.value, Ref):
                names.append(spec.value.name)
                values[spec.value.name] = self._given(spec.value.name, inputs)
            elif isinstance(spec.value, Ref) and spec.target in self.held:
                values[spec.value.name] = self.held[spec.target].clone()
        kept: dict[str, np.ndarray] = {}
        called = value_names(self.program.graph, names)
        self._run(self.program.graph, values, (kept, called) if keep else None)
        specs = [spec for spec in self.program.outputs if spec.kind in ("user_output", "loss_output")]
        found = [self._value(spec.value, values) for spec in specs if spec.value is not None and not isinstance(spec.value, str)]
        outputs = dict(zip(output_names(self.program), map(_output, found), strict=True))
        return {**{name: array for name, array in kept.items() if name not in outputs}, **outputs}

    def _given(self, name: str, inputs: Mapping[str, np.ndarray]) -> torch.Tensor:
        if name not in inputs:
            raise RunError(f"{self.name}: input {name!r} is not given")
        wanted = _DTYPES.get(str(self.program.graph.tensors[name].element))
        tensor = _tensor(np.asarray(inputs[name]))
        return tensor if wanted is None or tensor.dtype == wanted else tensor.to(wanted)

    def _run(self, graph: Graph, values: dict[str, Any], keep: tuple[dict[str, np.ndarray], Mapping[str, str]] | None) -> None:
        for node in graph.nodes:
            if any(part in node.target.rpartition(".ops.")[2] for part in _ASSERTIONS):
                continue
            made = self._call(node, values)
            for name, value in _assigned(node, made):
                values[name] = value
                if keep is not None and isinstance(value, torch.Tensor):
                    keep[0][keep[1].get(name, name)] = _array(value)

    def _call(self, node: Node, values: dict[str, Any]) -> Any:
        """What a call gives."""
        if node.target.startswith("torch.ops.higher_order."):
            return self._higher_order(node, values)
        function = self._function(node.target)
        positional, named = [], {}
        schema = schema_of(_functional(node.target))
        keywords = {argument.name for argument in schema.arguments} if schema is not None else set()
        for key, given in node.inputs:
            if given is OMITTED or key in _PLACES:
                continue
            value = self._value(given, values)
            if schema is not None and key in keywords:
                named[key] = value
            else:
                positional.append(value)
        try:
            return function(*positional, **named)
        except FOREIGN as error:  # whatever an operator of torch raises: some are Python, with assertions and divisions
            if goes_through(error):
                raise
            why = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise RunError(f"torch cannot run {node.target} of {self.name}: {why[:300]}") from None

    def _function(self, target: str) -> Callable[..., Any]:
        """The operator of a name, where it is one that computes."""
        if target.startswith("_operator.") and target.removeprefix("_operator.") in _SIZES:
            return _SIZES[target.removeprefix("_operator.")]
        if target in ("torch.sym_max", "torch.sym_min"):
            return max if target.endswith("max") else min
        if target == "torch.sym_sum":
            return sum
        if schema_of(_functional(target)) is None and not target.startswith("torch.ops.aten.sym_"):
            raise RunError(f"{self.name}: calls {target[:100]}, which is no operator that is known here")
        if target in _IN_ORDER:
            return _IN_ORDER[target]
        if ".quantized_decomposed." in target:
            import_module("torch.ao.quantization.fx._decomposed")  # declares them
        found: Any = torch
        for part in target.removeprefix("torch.").split("."):
            found = getattr(found, part, None)
            if found is None:
                raise RunError(f"{self.name}: this torch has no {target[:100]}")
        return found

    def _value(self, given: Any, values: Mapping[str, Any]) -> Any:
        if isinstance(given, Ref | Sym):
            if given.name not in values:
                raise RunError(f"{self.name}: uses {given.name!r}, which nothing computes")
            return values[given.name]
        if isinstance(given, list):
            return [self._value(each, values) for each in given]
        element = str(given)
        return _DTYPES[element] if given in ELEMENTS.values() and not isinstance(given, int | float | str) else given

    def _higher_order(self, node: Node, values: dict[str, Any]) -> Any:
        """The operators with graphs, by Python's own control flow."""
        graphs = [given for _, given in node.inputs if isinstance(given, Graph)]
        rest = [self._value(given, values) for _, given in node.inputs if not isinstance(given, Graph) and given is not OMITTED]
        kind = node.target.rpartition(".")[2]
        if kind == "cond":
            return self._graph(graphs[0 if bool(rest[0]) else 1], rest[-1], values)
        if kind == "while_loop":
            state, more = list(rest[0]), list(rest[1])
            while bool(self._graph(graphs[0], [*state, *more], values)[0]):
                state = self._graph(graphs[1], [*state, *more], values)
            return state
        if kind == "map_impl":
            steps = [self._graph(graphs[0], [*(x[i] for x in rest[0]), *rest[1]], values) for i in range(len(rest[0][0]))]
            return [torch.stack(parts) for parts in zip(*steps, strict=True)]
        if kind == "scan":
            state, columns = list(rest[0]), []
            for i in range(len(rest[1][0])):
                found = self._graph(graphs[0], [*state, *(x[i] for x in rest[1]), *rest[2]], values)
                state = found[: len(state)]
                columns.append(found[len(state) :])
            return [*state, *(torch.stack(parts) for parts in zip(*columns, strict=True))]
        if kind.startswith("wrap_with"):
            given = rest[-1] if isinstance(rest[-1], list) else [each for each in rest if isinstance(each, torch.Tensor)]
            with torch.autocast(*rest[:3]) if kind == "wrap_with_autocast" else nullcontext():
                return self._graph(graphs[0], given, values)
        raise RunError(f"{self.name}: calls {node.target}, which is not run here")

    def _graph(self, graph: Graph, given: Sequence[Any], outer: Mapping[str, Any]) -> list[Any]:
        values = {**outer, **{ref.name: value for ref, value in zip(graph.inputs, given, strict=False)
                              if isinstance(ref, Ref | Sym)}}
        self._run(graph, values, None)
        results = [each for output in graph.outputs for each in (output if isinstance(output, list) else [output])]
        return [self._value(result, values) for result in results]


def _topk(
    self: torch.Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True,
) -> tuple[torch.Tensor, torch.Tensor]:
    """`topk` that takes of equal numbers those that come first, as nothing says which it takes."""
    torch.topk(self, k, dim, largest, sorted)  # what it refuses, it refuses
    numbers, places = torch.sort(self, dim=dim, descending=largest, stable=True)
    return (numbers.narrow(dim, 0, k), places.narrow(dim, 0, k)) if self.dim() else (numbers, places)


def _kthvalue(self: torch.Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """`kthvalue` with the place that is k-th where equal numbers stand in the order in which they came."""
    torch.kthvalue(self, k, dim, keepdim)
    numbers, places = torch.sort(self, dim=dim, stable=True)
    if not self.dim():
        return numbers, places
    one, place = numbers.narrow(dim, k - 1, 1), places.narrow(dim, k - 1, 1)
    return (one, place) if keepdim else (one.squeeze(dim), place.squeeze(dim))


_IN_ORDER: dict[str, Callable[..., Any]] = {
    "torch.ops.aten.topk.default": _topk, "torch.ops.aten.kthvalue.default": _kthvalue,
    "torch.ops.aten.sort.default": lambda self, dim=-1, descending=False: torch.sort(
        self, dim=dim, descending=descending, stable=True)}
"""Operators that leave open which of equal numbers comes first, by what PyTorch computes of them in order."""


def _functional(target: str) -> str:
    """The op of a target, or of one that overwrites the op that does not."""
    name = op_name(target)
    return overwriting(name) or name


def _assigned(node: Node, made: Any) -> list[tuple[str, Any]]:
    """The names that a call gives its results."""
    refs = [each for output in node.outputs for each in (output if isinstance(output, list) else [output])]
    values = list(made) if isinstance(made, tuple | list) else [made]
    return [(ref.name, value) for ref, value in zip(refs, values, strict=False) if isinstance(ref, Ref | Sym)]


def _tensor(array: np.ndarray) -> torch.Tensor:
    """A tensor of an array's numbers, of the 16-bit floats that numpy lacks by their bits."""
    array = np.array(array, order="C", copy=True)
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    if array.dtype.kind == "V" or array.dtype.name.startswith("float8"):
        return torch.from_numpy(array.view(np.uint8)).view(_DTYPES[f"f8{array.dtype.name.removeprefix('float8_').upper()}"])
    return torch.from_numpy(array)


def _output(value: torch.Tensor | bool | int | float) -> np.ndarray:
    """What a program gives: a tensor's numbers, or a number as the reader has it."""
    return _array(value) if isinstance(value, torch.Tensor) else number_as_tensor(value)[0]


def _array(tensor: torch.Tensor) -> np.ndarray:
    held = tensor.detach().contiguous()
    if held.dtype == torch.bfloat16:
        return held.view(torch.int16).numpy().view(ml_dtypes.bfloat16).copy()
    return np.array(held.numpy(), copy=True)
