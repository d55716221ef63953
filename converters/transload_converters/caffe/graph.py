"""From layers to ops: bottoms and tops are looked up by name, in the file's order, as Caffe runs them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from transload.errors import Finding, ReadError, ShapeError, merge_findings
from transload.ir import (
    F32,
    NONE,
    Block,
    Dense,
    ElidedData,
    FusedLocation,
    Module,
    Op,
    SplatData,
    TensorType,
    Value,
    new_module,
    set_results,
)
from transload.ir.verify import check

from .blobs import MAX_ELEMENTS, Weights, fits, missing
from .dialect import PYTHON, Signature, attributes_of, bottoms_of, infer_types, signature_of
from .network import DATA, Layer, Network
from .shapes import BLOBS
from .signatures import ALIASES

__all__ = ["build", "output_names", "value_names"]

_SEVERAL = ("Convolution", "Deconvolution")
"""Layers that do the same with each of their bottoms, of one shape: an op for each, with the same blobs."""
_SEVERAL_MOST = 64


def value_names(network: Network) -> list[list[str]]:
    """What each layer's tops are called: the blob's name, or, where a later layer writes it anew, `blob@layer`."""
    last = {top: place for place, layer in enumerate(network.layers) for top in layer.tops}
    return [
        [top if last[top] == place else f"{top}@{layer.name}" for top in layer.tops]
        for place, layer in enumerate(network.layers)]


def output_names(network: Network) -> list[str]:
    """The blobs that no layer takes, Silence neither, in the order in which they are given: the network's outputs."""
    left: dict[str, int] = {}
    for place, layer in enumerate(network.layers):
        for bottom in layer.bottoms:
            left.pop(bottom, None)
        if layer.type not in DATA:
            for top in layer.tops:
                left.pop(top, None)
                left[top] = place
    return [name for name, place in left.items() if place >= network.silenced.get(name, 0)]


def build(network: Network, weights: Weights | None, inputs: Mapping[str, tuple[int, ...]], where: str) -> Module:
    """The module of a network. Raises `ReadError` with everything that is wrong with the layers."""
    return _Builder(network, weights, inputs, where).module()


class _Builder:
    def __init__(self, network: Network, weights: Weights | None, inputs: Mapping[str, tuple[int, ...]], where: str) -> None:
        self.network, self.weights, self.inputs, self.where = network, weights, inputs, where
        self.findings: list[Finding] = []
        self.values: dict[str, Value] = {}
        """The blobs as they are now, by name."""
        self.shared: dict[str, Value] = {}
        """The blobs that layers share, by the name that they have for them."""
        self.lent = self._lent()
        self.missing: list[str] = []
        self.passed_over: list[str] = []
        """What layers of known types say in fields that are not known."""

    def _lent(self) -> dict[str, Any]:
        """What the file has of blobs that layers share: Caffe copies its layers in its order, so that the last is left."""
        layers = {layer.name: layer for layer in reversed(self.network.layers)}
        return {
            name: blob for layer, held in ({} if self.weights is None else self.weights.blobs).items() if layer in layers
            for name, blob in zip(layers[layer].shared, held, strict=False) if name}

    def module(self) -> Module:
        filled = self._filled()
        names = [name for name in self.inputs if name not in filled]
        module = new_module()
        function = module.add_function("main", [TensorType(self.inputs[name], F32) for name in names], names)
        self.block: Block = function.regions[0].block
        self.values = dict(zip(names, self.block.arguments, strict=True))
        for name, value in filled.items():
            if name in self.inputs:
                shape = self.inputs[name]
                self.values[name] = self._constant(Dense(SplatData(value, shape, np.float32), TensorType(shape, F32)), name)
        for layer, tops in zip(self.network.layers, value_names(self.network), strict=True):
            if layer.type not in DATA:
                self._layer(layer, tops)
        outputs = [name for name in output_names(self.network) if name in self.values]
        self._finish(outputs)
        set_results(function, [self.values[name] for name in outputs], outputs)
        module.notes = self._notes()
        problems = check(module, inferred=False)
        if problems:
            raise ReadError(f"{self.where}: the layers are not as Caffe defines them", problems)
        return module

    def _filled(self) -> dict[str, float]:
        """Tops of layers DummyData that hold one number everywhere."""
        found: dict[str, float] = {}
        for layer in self.network.layers:
            fillers = layer.parameters["dummy_data_param"].data_filler if "dummy_data_param" in layer.parameters else ()
            if layer.type == "DummyData" and all(filler.type == "constant" for filler in fillers):
                numbers = [filler.value for filler in fillers] or [0.0]
                numbers = numbers * len(layer.tops) if len(numbers) == 1 else numbers
                found |= dict(zip(layer.tops, numbers, strict=False))
        return found

    def _finish(self, outputs: list[str]) -> None:
        if not outputs and not self.findings:
            self._wrong("the network", "gives nothing: no layer is left whose result no other takes")
        if self.findings:
            raise ReadError(f"{self.where}: the network is not valid", merge_findings(self.findings))

    def _notes(self) -> tuple[str, ...]:
        if not self.missing:
            return tuple(self.passed_over)
        shown = ", ".join(self.missing[:12]) + (f", and {len(self.missing) - 12} more" if len(self.missing) > 12 else "")
        file = "no file of weights was given" if self.weights is None else f"{self.weights.where} has none for them"
        return (
            f"the weights of {len(self.missing)} layers are missing ({shown}): {file}; --weights FILE.caffemodel says where "
            "they are", *self.passed_over)

    def _wrong(self, what: str, why: str, name: str = "", hint: str = "") -> None:
        self.findings.append(Finding(what, why, (name,) if name else (), hint))

    # --- one layer

    def _layer(self, layer: Layer, tops: list[str]) -> None:
        type_ = ALIASES.get(layer.type, layer.type)
        what = f"layer {layer.name!r} ({layer.type or 'without a type'})"
        if not type_ or not all(c.isascii() and (c.isalnum() or c in "_.") for c in type_):
            self._wrong(what, "has no type that could be one of Caffe", layer.name)
            return
        bottoms = self._bottoms(layer, what)
        if bottoms is None:
            return
        if len(set(layer.tops)) != len(layer.tops):
            self._wrong(what, "gives two tops of one name", layer.name)
            return
        declared = signature_of(type_)
        if declared is None:
            made = [self._other(layer, type_, bottoms, tops)]
        elif type_ in _SEVERAL and len(bottoms) > 1:
            made = self._several(layer, declared, bottoms, tops, what)
        else:
            op = self._declared(layer, declared, bottoms, tops, what)
            made = [] if op is None else [op]
        results = [result for op in made for result in op.results]
        for top, result in zip(layer.tops, results, strict=False):
            self.values[top] = result
        for top in layer.tops[len(results):]:
            self.values.pop(top, None)

    def _bottoms(self, layer: Layer, what: str) -> list[Value] | None:
        found = []
        for bottom in layer.bottoms:
            value = self.values.get(bottom)
            if value is None:
                later = any(bottom in other.tops for other in self.network.layers)
                if not (self.findings and later):  # else it may be one that could not be made
                    why = "which only a later layer gives" if later else "which nothing gives"
                    self._wrong(what, f"takes {bottom!r}, {why}", layer.name)
                return None
            found.append(value)
        return found

    def _several(
        self, layer: Layer, declared: Signature, bottoms: list[Value], tops: list[str], what: str,
    ) -> list[Op]:
        if len(bottoms) != len(layer.tops) or len(bottoms) > _SEVERAL_MOST:
            self._wrong(what, f"has {len(bottoms)} bottoms and {len(layer.tops)} tops", layer.name)
            return []
        shapes = {type_.shape for type_ in (bottom.type for bottom in bottoms)
                  if isinstance(type_, TensorType) and type_.shape is not None}
        if len(shapes) > 1:
            self._wrong(what, f"has bottoms of several shapes: {', '.join(map(str, map(list, sorted(shapes))))}", layer.name)
            return []
        first = self._declared(layer, declared, bottoms[:1], tops[:1], what)
        if first is None:
            return []
        blobs, types = first.operands[1:], [result.type for result in first.results]
        return [first, *(
            self.block.append(Op(first.name, [bottom, *blobs], types, dict(first.attributes), (), top))
            for bottom, top in zip(bottoms[1:], tops[1:], strict=True))]

    def _attributes(self, layer: Layer, names: list[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in names:
            if name in layer.parameters:
                found.update(attributes_of(layer.parameters[name]))
        return found

    def _declared(
        self, layer: Layer, declared: Signature, bottoms: list[Value], tops: list[str], what: str,
    ) -> Op | None:
        """The op of a layer of a known type, with its blobs."""
        attributes = self._attributes(layer, declared.parameters)
        if layer.unknown:
            self.passed_over.append(
                f"layer {layer.name!r} ({layer.type}) has {', '.join(layer.unknown)}, which it does not take: left out")
        name = f"caffe.{declared.type}"
        location = FusedLocation(tuple(tops)) if len(tops) > 1 else tops[0] if tops else layer.name
        results = self._n_results(declared, len(tops), layer, what)
        probe = Op(name, self._places(declared, bottoms, attributes), [TensorType(None, F32)] * max(results, 0), attributes, (),
                   location)
        try:
            if results < 0:
                return None
            if not self._fits(declared, len(bottoms), what, layer):
                return None
            shapes = bottoms_of(probe, declared)
            blobs = self._blobs(layer, declared, probe, None if None in shapes else shapes)
            operands = [*probe.operands, *blobs]
        except ShapeError as error:
            self.findings += [Finding(what, each.why, (layer.name,), each.hint) for each in error.findings]
            return None
        finally:
            probe.drop_references()
        op = Op(name, operands, [TensorType(None, F32)] * results, attributes, (), location)
        try:
            types = infer_types(op)
        except ShapeError as error:
            self.findings += [Finding(what, each.why, (layer.name,), each.hint) for each in error.findings]
            op.drop_references()
            return None
        op.results = [Value(type_, op, index) for index, type_ in enumerate(types[:results])]
        return self.block.append(op)

    def _fits(self, declared: Signature, count: int, what: str, layer: Layer) -> bool:
        """Whether there are as many bottoms as the layer takes; Scale and Bias take theirs from blobs where they have but one."""
        if any(word.endswith("*") for word in declared.bottoms):
            return count >= 1 or self._refuse(what, "has no bottoms", layer)
        least = sum(not word.endswith("?") for word in declared.bottoms)
        least -= declared.type in _OWN_OPERAND
        if least <= count <= len(declared.bottoms):
            return True
        return self._refuse(what, f"has {count} bottoms, and takes {' '.join(declared.bottoms) or 'none'}", layer)

    def _refuse(self, what: str, why: str, layer: Layer) -> bool:
        self._wrong(what, why, layer.name)
        return False

    def _n_results(self, declared: Signature, given: int, layer: Layer, what: str) -> int:
        """How many results the op has: as many as tops are given; -1 where it cannot have so many."""
        if any(word.endswith("*") for word in declared.results):
            return given if given else -1 + 0 * self._refuse(what, "has no tops", layer)
        least = sum(not word.endswith("?") for word in declared.results)
        if least <= given <= len(declared.results):
            return given
        self._refuse(what, f"has {given} tops, and gives {' '.join(declared.results)}", layer)
        return -1

    def _places(self, declared: Signature, bottoms: list[Value], attributes: Mapping[str, Any]) -> list[Value]:
        """The bottoms as operands: absent ones before others have a value that stands for them."""
        if any(word.endswith("*") for word in declared.bottoms) or not declared.blobs:
            return bottoms
        if declared.type in ("LSTM", "RNN"):
            return self._recurrent(declared, bottoms, bool(attributes.get("expose_hidden", False)))
        return bottoms + [self._none() for _ in declared.bottoms[len(bottoms):]]

    def _recurrent(self, declared: Signature, bottoms: list[Value], exposed: bool) -> list[Value]:
        """x and cont, what is the same at all steps where it is there, and the states where they are exposed."""
        n_states = len(declared.bottoms) - 3
        states = bottoms[-n_states:] if exposed and len(bottoms) >= 2 + n_states else []
        rest = bottoms[: len(bottoms) - len(states)]
        static = rest[2:3] or [self._none()]
        return [*rest[:2], *static, *(states or [self._none() for _ in range(n_states)])]

    def _none(self) -> Value:
        return self.block.append(Op("caffe.NoValue", (), (NONE,))).results[0]

    def _other(self, layer: Layer, type_: str, bottoms: list[Value], tops: list[str]) -> Op:
        """The op of a layer of a type that is not declared; what a plugin may need to know of it are its attributes."""
        attributes: dict[str, Any] = dict(layer.unknown)
        for key, message in layer.parameters.items():
            attributes |= attributes_of(message) if type_ == "Python" else {key: attributes_of(message)}
        name = f"caffe.{type_}"
        if type_ == "Python":
            class_ = str(attributes.get("layer") or "")
            name = PYTHON + class_ if class_.isidentifier() and class_.isascii() else "caffe.Python"
        blobs = self._blobs(layer, None, None, None)
        location = FusedLocation(tuple(tops)) if len(tops) > 1 else tops[0] if tops else layer.name
        op = Op(name, [*bottoms, *blobs], [TensorType(None, F32)] * len(layer.tops), attributes, (), location)
        return self.block.append(op)

    # --- its blobs

    def _blobs(self, layer: Layer, declared: Signature | None, op: Op | None, shapes: list[Any] | None) -> list[Value]:
        """The layer's blobs as values; where the file does not have them, places for them."""
        if declared is not None and not declared.blobs and declared.type not in _OWN_OPERAND:
            return []
        held = None if self.weights is None else self.weights.blobs.get(layer.name)
        rule = BLOBS.get(declared.type) if declared is not None else None
        wanted: list[Any] = [None] * (len(held) if held is not None else 0)
        if rule is not None and shapes is not None:
            wanted = list(rule(op, shapes, len(held) if held is not None else None))
        if held is not None and len(held) < len(wanted):
            self._wrong(f"weights of layer {layer.name!r}", f"has {len(held)} blobs, and needs {len(wanted)}", layer.name)
            return []
        if held is None and (large := next((shape for shape in wanted if math.prod(shape) > MAX_ELEMENTS), None)):
            self._wrong(f"layer {layer.name!r}", f"would need weights of the shape {list(large)}", layer.name)
            return []
        made = [self._blob(layer, place, shape, held) for place, shape in enumerate(wanted)]
        if declared is not None and any(
                dense is not None and isinstance(dense.data, ElidedData) and self._of_others(layer, place, dense) is None
                for place, dense in enumerate(made)):
            self.missing.append(layer.name)
        return self._all_named(layer, declared, made)

    def _blob(self, layer: Layer, place: int, shape: Any, held: Sequence[Any] | None) -> Dense | None:
        """A blob as a constant: that of all who share it, or the layer's own, or the place for one; None where it is damaged."""
        weights = self.weights
        if weights is None or held is None:
            own: Dense | None = missing(shape)
        else:
            own = weights.dense(held[place], shape, layer.name, self.findings)
        lent = self.lent.get(_shared_name(layer, place))
        if own is None or weights is None or lent is None or not fits(lent, own.data.shape):
            return own
        return weights.dense(lent, own.data.shape, layer.name, self.findings)

    def _of_others(self, layer: Layer, place: int, dense: Any) -> Value | None:
        """The value of a layer before that shares a blob of these sizes by a name that both have for it; None where none does."""
        found = self.shared.get(_shared_name(layer, place))
        return found if found is not None and dense is not None and found.type == TensorType(dense.type.shape, F32) else None

    def _all_named(self, layer: Layer, declared: Signature | None, made: list[Any]) -> list[Value]:
        """Constants under the names that the layer has for its blobs, or those of other layers that share them.

        Blobs that lie between others and are not there have a value that stands for them.
        """
        words = _blob_words(declared, len(made))
        names = [f"{layer.name}.{word}" for word in words if word is not None]
        values: list[Value] = []
        for place, (dense, name) in enumerate(zip(made, names or [f"{layer.name}.{n}" for n in range(len(made))], strict=False)):
            if dense is None:
                continue
            if (other := self._of_others(layer, place, dense)) is not None:
                values.append(other)
                continue
            value = self._constant(dense, name)
            values.append(value)
            if shared := _shared_name(layer, place):
                self.shared[shared] = value
        if None not in words or len(values) != len(names):
            return values
        queue = iter(values)
        return [self._none() if word is None else next(queue) for word in words]

    def _constant(self, dense: Dense, name: str) -> Value:
        return self.block.append(Op("caffe.Blob", (), (dense.type,), {"value": dense}, (), name)).results[0]


def _shared_name(layer: Layer, place: int) -> str:
    """The name by which a layer shares a blob, "" where it does not."""
    return layer.shared[place] if place < len(layer.shared) else ""


_OWN_OPERAND = {"Scale": "scale", "Bias": "bias"}
"""Layers whose second operand is a blob where it is no bottom."""


def _blob_words(declared: Signature | None, count: int) -> list[str | None]:
    """The names of a layer's blobs in the order of its operands; None for one that is not there."""
    if declared is None:
        return [str(number) for number in range(count)]
    words: list[str | None] = [word.rstrip("?") for word in declared.blobs]
    if declared.type in _OWN_OPERAND:
        words = ["scale", "bias"] if declared.type == "Scale" else ["bias"]
    if declared.type in ("LSTM", "RNN") and count == len(words) - 1:
        words[2] = None
        return words
    return words[:count]
