"""What quantizing cost, layer by layer: what `transload.quantization_report` measures.

Each layer has two errors. The *accumulated* one is how far its tensor is from the float model's. Its *own* is how far it is from
what the float op gives of the very operands that the quantized op has: which op makes the error, not which one has it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from .analysis.movement import is_cast, moves_of
from .contents import constant_bytes
from .engine import reference
from .engine.choice import work_of
from .engine.memory import peak_bytes
from .engine.quantized import dequantize, quantize
from .errors import UsageError
from .ir import (
    Dense,
    FloatType,
    Module,
    Op,
    QuantType,
    TensorType,
    Value,
    dtype_of,
    input_names,
    output_names,
    update_function_type,
)
from .ir.borders import NAME
from .ir.build import constant_of
from .metrics import as_numbers, comparable
from .passes.dce import eliminate_dead_code
from .plugin import Quantized
from .report import LayerReport, LayersReport, Nearness, SizeReport
from .samples.owned import owned
from .samples.samples import Samples

__all__ = ["layer_values", "layers_report"]

MOST = 8
"""Samples that are measured on, where nobody says how many."""
SECONDS = 1.0
"""How long measuring is to take, about, where nobody says how many samples: beside quantizing it is to be little."""
BARS = 32
"""Parts of a histogram."""


def layers_report(
    floats: Module, module: Module, samples: Iterable[Mapping[str, Any]], count: int | None = None,
) -> LayersReport:
    """Run a float module of the hub and its quantized form on samples: what of each layer is lost; see `quantization_report`."""
    measuring, taken = _Measuring(floats, module), 0
    for sample in _some(owned(samples, floats), count or _affordable(floats)):
        measuring.add(sample)
        taken += 1
    if not taken:
        raise UsageError("there are no samples to measure on")
    reasons = _reasons(module.quantization)
    layers = [layer.report(place, reasons) for place, layer in enumerate(measuring.layers)]
    outputs = {name: near for name, sums in measuring.outputs.items() if (near := sums.nearness()) is not None}
    both = (floats, module)
    sizes = SizeReport([_constant_bytes(each) for each in both], [peak_bytes(each.body_of_main) for each in both])
    return LayersReport(taken, outputs, layers, sizes)


def layer_values(
    floats: Module, module: Module, sample: Mapping[str, Any], most: int,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Numbers of each layer on a sample, for who draws them: the float model's, and those that stand for them.

    The layers are those of `layers_report`, in its order; of more than `most` numbers as many are taken, evenly spread, the same
    of both. Raises what running the modules raises.
    """
    return _Measuring(floats, module).values(sample, most)


def _constant_bytes(module: Module) -> int:
    """Bytes of the constants that are used, with the scales of blocks: a module whose weights were changed still holds what they
    were."""
    used = module.clone()
    eliminate_dead_code(used)
    kinds = [op.results[0].quant for op in used.walk() if op.results and constant_of(op.results[0]) is not None]
    scales = sum(kind.count * dtype_of(kind.expressed).itemsize for kind in kinds if kind is not None and kind.blocks is not None)
    return constant_bytes(used) + scales


def _reasons(said: Quantized | None) -> dict[str, str]:
    """Why tensors have more bits than others, or stay float: what a quantizer tells by tensor."""
    return {} if said is None else {**said.wide, **(said.floats or {})}


def _affordable(module: Module) -> int:
    return int(min(max(SECONDS / (3 * work_of(module).reference_seconds + 1e-9), 1), MOST))


def _some(samples: Iterable[Mapping[str, Any]], count: int) -> Iterable[Mapping[str, Any]]:
    if isinstance(samples, Samples):
        return samples.some(count)
    if isinstance(samples, Sequence):
        taken = min(count, len(samples))
        return [samples[place * len(samples) // taken] for place in range(taken)]
    return islice(samples, count)


# --- measuring


@dataclass
class _Sums:
    """What nearness over several samples is computed from."""

    signal: float = 0.0
    other: float = 0.0
    both: float = 0.0
    noise: float = 0.0
    count: int = 0
    """Of how many tensors."""
    held: tuple[float, float] | None = None
    """Between what all numbers are that are given out, where those are that are measured before it."""

    def add(self, wanted: np.ndarray, found: np.ndarray) -> None:
        if self.held is not None:
            wanted = np.clip(wanted, *self.held)
        a, b = as_numbers(wanted, found)
        with np.errstate(invalid="ignore"):
            short = a - b
        if not np.isfinite(short @ short):
            a, b = comparable(a, b)
            short = a - b
        self.count += 1
        self.signal += float(a @ a)
        self.other += float(b @ b)
        self.both += float(a @ b)
        self.noise += float(short @ short)

    def nearness(self) -> Nearness | None:
        """As `transload.metrics` has them of one tensor; None where nothing was measured."""
        if not self.count:
            return None
        if not self.noise:
            return Nearness(1.0, 1.0, float("inf"))
        with np.errstate(divide="ignore", invalid="ignore"):
            cos = self.both / np.sqrt(self.signal * self.other) if self.signal and self.other else 0.0
            euclid = 1.0 - np.sqrt(self.noise / self.signal) if self.signal else 0.0
            sqnr = 10.0 * np.log10(self.signal / self.noise)
        return Nearness(float(min(cos, 1.0)), float(euclid), float(sqnr))


@dataclass
class _Layer:
    """A tensor of the float module with the one that stands for it, and what was measured of both."""

    name: str
    op: Op | None
    """The float op; None of an input."""
    quantized: Op | None
    floats: Value
    held: Value
    """The quantized module's tensor, or float where it stays such."""
    own: _Sums = field(default_factory=_Sums)
    accumulated: _Sums = field(default_factory=_Sums)
    seen: tuple[float, float] = (np.inf, -np.inf)
    outside: int = 0
    counts: np.ndarray = field(default_factory=lambda: np.zeros(BARS, np.int64))
    bounds: tuple[float, float] = (0.0, 0.0)

    @property
    def range(self) -> tuple[float, float] | None:
        """What the type holds."""
        return _range(self.held.quant)

    def count(self, array: np.ndarray) -> None:
        """Take in the float model's numbers; what lies beyond the bounds of the first sample counts in the last bars."""
        if not array.size:
            return
        low, high = float(array.min()), float(array.max())
        kept = self.range
        if not self.counts.any():
            self.bounds = (min(low, kept[0]), max(high, kept[1])) if kept is not None else (low, high)
        self.seen = min(self.seen[0], low), max(self.seen[1], high)
        span = self.bounds[1] - self.bounds[0]
        if not np.isfinite(span):
            return
        share = np.subtract(array.ravel(), self.bounds[0], dtype=np.float64) / (span if span > 0.0 else 1.0)
        places = np.clip(share[~np.isnan(share)] * BARS, 0, BARS - 1)
        self.counts += np.bincount(places.astype(np.intp), minlength=BARS)
        if kept is not None and self.held.quant is not None:
            half = self.held.quant.scale / 2
            if low < kept[0] - half or high > kept[1] + half:
                self.outside += int(((array < kept[0] - half) | (array > kept[1] + half)).sum())

    def report(self, place: int, reasons: Mapping[str, str]) -> LayerReport:
        quant, kept, accumulated = self.held.quant, self.range, self.accumulated.nearness()
        assert accumulated is not None, "each tensor of a layer is looked at"
        low, high = kept if kept is not None else (None, None)
        element = self.held.element if quant is None else quant.storage
        return LayerReport(
            self.name, self.op.name if self.op is not None else "input", place, str(element),
            quant.scale if quant is not None else None, quant.zero_point if quant is not None else None, low, high,
            max(map(abs, kept)) if kept is not None else None, *(self.seen if self.counts.any() else (0.0, 0.0)),
            self.outside / max(int(self.counts.sum()), 1), self.own.nearness() if quant is not None else None,
            accumulated, [_constants_of(self.op), _constants_of(self.quantized)],
            self.counts.tolist(), *self.bounds, reasons.get(self.name, ""))


def _range(quant: QuantType | None) -> tuple[float, float] | None:
    """The least and the greatest number that a type of one scale holds."""
    if quant is None:
        return None
    low, high = ((end - quant.zero_point) * quant.scale for end in (quant.storage_min, quant.storage_max))
    return low, high


def _constants_of(op: Op | None) -> int:
    """Bytes of the constants that an op takes."""
    constants = (constant_of(value) for value in op.operands) if op is not None else ()
    return sum(dense.nbytes for dense in constants if isinstance(dense, Dense))


class _Measuring:
    """The float module, the quantized one, and one in which each float op is given the operands of the quantized op."""

    def __init__(self, floats: Module, quantized: Module) -> None:
        self.layers = _layers(floats, quantized)
        self._inputs = dict(zip(input_names(floats.main), floats.body_of_main.arguments, strict=True))
        self._taken = dict(zip(input_names(quantized.main), quantized.body_of_main.arguments, strict=True))
        self._floats, self._quantized = reference.prepare(floats), reference.prepare(quantized)
        self._forced = _Forced(floats, self.layers)
        self.outputs: dict[str, _Sums] = {}
        self._beside: dict[Value, list[tuple[Value, _Layer | None, _Sums]]] = {}
        """By float tensor what stands for it, the layer that is counted, and where their nearness is summed."""
        for layer in self.layers:
            self._beside.setdefault(layer.floats, []).append((layer.held, layer, layer.accumulated))
        returned = zip(floats.body_of_main.terminator.operands, quantized.body_of_main.terminator.operands, strict=True)
        for name, (given, held) in zip(output_names(floats.main), returned, strict=True):
            kept = _range(given.quant) if given.quant is not None and given.quant.per_tensor else None
            value, self.outputs[name] = _before_cast(given), _Sums(held=kept)
            if constant_of(held) is None and (isinstance(value.element_or_none, FloatType) or value.quant is not None):
                self._beside.setdefault(value, []).append((held, None, self.outputs[name]))

    def add(self, sample: Mapping[str, Any]) -> None:
        """Measure on one more sample."""
        given = {name: np.asarray(sample[name]) for name in self._inputs}
        held = self._held(given)

        def compare(value: Value, array: Any) -> None:
            for other, layer, sums in self._beside.get(value, ()):
                sums.add(_real(value, np.asarray(array)), held[other])
                if layer is not None:
                    layer.count(np.asarray(array))

        for name, argument in self._inputs.items():
            compare(argument, given[name])
        self._floats(given, watch=compare)
        self._forced.add(given, held)

    def values(self, sample: Mapping[str, Any], most: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Some numbers of each layer on a sample, of the float model and of the quantized one."""
        given = {name: np.asarray(sample[name]) for name in self._inputs}
        held = self._held(given)
        places = {id(layer): place for place, layer in enumerate(self.layers)}
        found = [(np.zeros(0), np.zeros(0))] * len(self.layers)

        def note(value: Value, array: Any) -> None:
            for other, layer, _ in self._beside.get(value, ()):
                if layer is not None:
                    found[places[id(layer)]] = _thinned(np.asarray(array), most), _thinned(held[other], most)

        for name, argument in self._inputs.items():
            note(argument, given[name])
        self._floats(given, watch=note)
        return found

    def _held(self, given: Mapping[str, np.ndarray]) -> dict[Value, np.ndarray]:
        """The tensors of the quantized module that are looked at, as the real numbers that they stand for."""
        wanted = {other for beside in self._beside.values() for other, _, _ in beside} | set(self._forced.given)
        found: dict[Value, np.ndarray] = {}

        def keep(value: Value, array: Any) -> None:
            if value in wanted:
                found[value] = _real(value, np.asarray(array))

        stored = {name: _stored(value, array) for (name, value), array in zip(self._taken.items(), given.values(), strict=True)}
        for name, value in self._taken.items():
            keep(value, stored[name])
        self._quantized(stored, watch=keep)
        return found


class _Forced:
    """A module of the float ops of layers, each of which is given what the quantized op has."""

    def __init__(self, floats: Module, layers: Sequence[_Layer]) -> None:
        self.given: dict[Value, tuple[str, np.dtype]] = {}
        """Which tensors of the quantized module it is given, by which names and as what."""
        self._ends: dict[Value, _Layer] = {}
        mine: dict[Value, Value] = {}
        copy = floats.clone(mine)
        block = copy.body_of_main
        names = input_names(copy.main)
        arguments: dict[Value, Value] = {}
        for layer in layers:
            if layer.op is None or layer.quantized is None or layer.held.quant is None or layer.op.regions:
                continue
            forced = mine[layer.op.results[0]].op
            assert forced is not None
            for index, (value, source) in enumerate(zip(layer.op.operands, layer.quantized.operands, strict=False)):
                if constant_of(value) is not None or not isinstance(value.type, TensorType):
                    continue
                if source not in arguments:
                    name = f"transload.operand{len(arguments)}"
                    arguments[source] = block.add_argument(value.type, name)
                    self.given[source] = (name, dtype_of(value.element))
                forced.set_operand(index, arguments[source])
            self._ends[mine[layer.floats]] = layer
        block.terminator.operands = tuple(self._ends)
        eliminate_dead_code(copy)
        self._inputs = [name for name, argument in zip(names, block.arguments, strict=False) if argument.uses]
        for index in reversed(range(len(names))):
            if not block.arguments[index].uses:
                block.erase_argument(index)
        copy.main.attributes["arg_attrs"] = [
            {NAME: name} for name in (*self._inputs, *(name for name, _ in self.given.values()))]
        copy.main.attributes.pop("res_attrs", None)
        update_function_type(copy.main)
        self._execute = reference.prepare(copy) if self._ends else None

    def add(self, given: Mapping[str, np.ndarray], held: Mapping[Value, np.ndarray]) -> None:
        """Take in the layers' own errors on a sample."""
        if self._execute is None:
            return

        def compare(value: Value, array: Any) -> None:
            if value in self._ends:
                layer = self._ends[value]
                layer.own.add(array, held[layer.held])

        operands = {name: held[value].astype(dtype, copy=False) for value, (name, dtype) in self.given.items()}
        self._execute({**{name: given[name] for name in self._inputs}, **operands}, watch=compare)


def _thinned(array: np.ndarray, most: int) -> np.ndarray:
    """At most so many numbers, evenly spread over a tensor."""
    flat = array.reshape(-1)
    return flat if flat.size <= most else flat[np.linspace(0, flat.size - 1, most).astype(np.int64)]


def _before_cast(value: Value) -> Value:
    """Of a result that a float module gives as stored integers, the real numbers that these are made of."""
    maker = value.op
    return maker.operands[0] if value.quant is not None and maker is not None and is_cast(maker) else value


def _real(value: Value, array: np.ndarray) -> np.ndarray:
    return dequantize(array, value.quant) if value.quant is not None and array.dtype.kind in "iu" else array


def _stored(value: Value, array: np.ndarray) -> np.ndarray:
    return quantize(array, value.quant) if value.quant is not None and array.dtype.kind == "f" else array


# --- which tensor stands for which


def _layers(floats: Module, quantized: Module) -> list[_Layer]:
    """The tensors that both modules compute, in the order of the network."""
    there: dict[tuple[str, str | None], deque[Op]] = {}
    for op in quantized.body_of_main:
        if op.results:
            there.setdefault((op.name, op.results[0].name), deque()).append(op)
    found: list[_Layer] = []
    for argument, held in zip(floats.body_of_main.arguments, quantized.body_of_main.arguments, strict=True):
        casts = [held] if held.quant is not None else [user.results[0] for user in held.uses if _quantizes(user)]
        cast = min(casts, key=_width, default=None)
        if cast is not None and argument.quant is None:  # what takes integers before, too, loses nothing
            layer = _Layer(argument.name or "input", None, None, argument, cast)
            layer.own = layer.accumulated
            found.append(layer)
    for op in floats.body_of_main:
        if not op.results or constant_of(op.results[0]) is not None or is_cast(op) or moves_of(op) is not None:
            continue
        twins = there.get((op.name, op.results[0].name))
        if not twins:
            continue
        twin = twins.popleft()
        for result, held in zip(op.results, twin.results, strict=False):
            if isinstance(result.element_or_none, FloatType) and result.tensor_type.shape == held.tensor_type.shape:
                end, seen = _as_seen(result, held)
                found.append(_Layer(end.name or op.name, op, twin, end, seen))
    return found


def _quantizes(op: Op) -> bool:
    return is_cast(op) and op.results[0].quant is not None


def _width(value: Value) -> int:
    """How many bits a quantized tensor's numbers have."""
    return value.quant.storage.width if value.quant is not None else 0


def _as_seen(floats: Value, held: Value) -> tuple[Value, Value]:
    """A tensor as those that use it see it: behind a cast to fewer bits, and behind an activation that its range does already."""
    while held.quant is not None and len(held.uses) == 1:
        (user,) = held.uses
        if _quantizes(user) and user.results[0].name == held.name and _width(user.results[0]) <= _width(held):
            held = user.results[0]
            continue
        moves = moves_of(user)
        cut = moves is not None and moves.by_value and bool(moves.constants) and user.results[0].quant == held.quant
        (behind,) = floats.uses if len(floats.uses) == 1 else (None,)
        if not cut or behind is None or behind.name != user.name:
            break
        floats, held = behind.results[0], user.results[0]
    return floats, held
