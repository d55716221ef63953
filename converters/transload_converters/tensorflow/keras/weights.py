"""Which arrays of a file are the variables of which layer.

A `.keras` file lays them out by path: the second kernel of a model is `layers/conv2d_1/vars/0`, whatever the layer is called.
An `.h5` file lists, for each outermost layer, the names of its weights: first all that are trained, in the order in which the
layer and those inside it made them, then all others. After `enable_lora` these have what was trained beside a kernel apart.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby

import numpy as np

from transload.errors import Finding, ReadError
from transload.ir import ArrayData, Dense

from .archive import KerasFile, Weights
from .layer import Layer, Variable

__all__ = ["find_weights"]

_Place = tuple[Layer, Variable, str]
_ADAPTERS = (Variable("lora/a"), Variable("lora/b"))
"""The two matrices that `enable_lora` trains in a kernel's place, and no path of a variable's own."""
_FORGETFUL = ("Dense", "Embedding")
"""Layers whose `lora_alpha` Keras writes, and leaves where it loads them (3.15)."""
_AS_KERAS = "save the model as .keras, where they are part of the kernel: model.save('model.keras')"


def find_weights(model: Layer, file: KerasFile) -> None:
    """Give every layer its weights.

    Raises `ReadError` where the file lists others than the layers have. A weight that is not there at all is missed when the
    layer is called, so that variables that are of no use need not be there.
    """
    places = _named(model, file.weights) if file.named else _laid_out(model, file.weights)
    read = file.weights.read(path for _, _, path in places)
    for layer, variable, path in places:
        layer.weights[variable.path] = read[path]
    for layer, variable, _ in places:
        if variable is _ADAPTERS[0]:
            _adapt(layer)


def _laid_out(model: Layer, weights: Weights) -> list[_Place]:
    """By path, as `.keras` files have it. Keras 2 called the list of a model's layers otherwise."""
    older = weights.has_group("_layer_checkpoint_dependencies")
    found: list[_Place] = []
    for path, layer in model.walk():
        counts: Counter[str] = Counter()
        for variable in layer.rule.variables_of(layer.config) if layer.rule else ():
            owner, number = variable.owner, counts[variable.owner]
            counts[owner] += 1
            places = []
            for name in (owner, f"_{owner}" if owner else owner):  # some attributes of Keras 3 were private in Keras 2
                place = "/".join(part for part in (path, name, "vars", str(number)) if part)
                if older:
                    place = place.replace("layers/", "_layer_checkpoint_dependencies/")
                places.append(place)
            there = next((place for place in places if place in weights), None)
            if there is not None:
                found.append((layer, variable, there))
            elif why := next(filter(None, map(weights.why_not, places)), None):
                layer.unread[variable.path] = why
    return found


def _named(model: Layer, weights: Weights) -> list[_Place]:
    """By the name of the outermost layer, as `.h5` files have it."""
    root = "model_weights" if weights.has_group("model_weights") else ""
    found: list[_Place] = []
    wrong: list[Finding] = []
    listed = _listed(model, weights, root)
    for layer in model.parts.values():
        wanted = _with_adapters(layer)
        wanted.sort(key=lambda place: not place[3])
        group = "/".join(part for part in (root, listed.get(layer.name, layer.name)) if part)
        paths = [f"{group}/{name}" for name in weights.texts(group, "weight_names")]
        if len(paths) != len(wanted):
            if paths or wanted:
                wrong.append(Finding(f"layer {layer.name!r} ({layer.class_name})",
                                     f"has {len(wanted)} weights, and the file lists {len(paths)} for it"))
            continue
        missing = [path for path in paths if path not in weights]
        if missing:
            why = weights.why_not(missing[0]) or "not in the file"
            wrong.append(Finding(f"layer {layer.name!r} ({layer.class_name})", f"its weight {missing[0]!r} is {why}"))
            continue
        found += [(owner, variable, path) for (owner, variable, _, _), path in zip(wanted, paths, strict=True)]
    if wrong:
        raise ReadError(f"{weights.name}: the weights are not those of the model's layers", wrong)
    return found


def _with_adapters(layer: Layer) -> list[tuple[Layer, Variable, str, bool]]:
    """The variables of a layer (`Layer.variables`), where those after `enable_lora` train two others in place of their first."""
    found = []
    for _, several in groupby(layer.variables(), key=lambda place: id(place[0])):
        own = list(several)
        owner, first, path, trained = own[0]
        if owner.config.get("lora_rank"):
            own = [(owner, first, path, False), *own[1:], *((owner, each, path, trained) for each in _ADAPTERS)]
        found += own
    return found


def _adapt(layer: Layer) -> None:
    """Let a layer's first variable be what it computes with after `enable_lora`: that plus a share of the adapters' product."""
    first = layer.rule.variables_of(layer.config)[0].path if layer.rule is not None else ""
    kernel = layer.weights[first].numpy()
    left, right = (layer.weights.pop(each.path).numpy() for each in _ADAPTERS)
    kept = (*kernel.shape[:-1], left.shape[-1:], kernel.shape[-1:])
    if kernel.ndim < 2 or left.ndim < 2 or (*left.shape[:-1], right.shape[:1], right.shape[1:]) != kept:
        raise _no_adapters(layer, f"its adapters of shapes {list(left.shape)} and {list(right.shape)} are none of a kernel of "
                                  f"shape {list(kernel.shape)}")
    wide = np.float64 if kernel.dtype == np.float64 else np.float32
    added = np.matmul(left.astype(wide), right.astype(wide)) * wide(_share(layer))
    layer.weights[first] = Dense(ArrayData(kernel.astype(wide) + added))


def _share(layer: Layer) -> float:
    """What the adapters' product is multiplied by. Raises `ReadError` where Keras itself would take another number."""
    rank, alpha = layer.config["lora_rank"], layer.config.get("lora_alpha")
    alpha = rank if alpha is None else alpha
    said = f"lora_alpha={alpha!r:.40} and lora_rank={rank!r:.40}"
    if not isinstance(rank, int | float) or not isinstance(alpha, int | float):
        raise _no_adapters(layer, f"it has {said}, which are no two numbers")
    if alpha != rank and layer.class_name in _FORGETFUL:
        raise _no_adapters(layer, f"it has {said}, and Keras takes these for equal where it loads the file")
    return alpha / rank


def _no_adapters(layer: Layer, why: str) -> ReadError:
    return ReadError(f"layer {layer.name!r} ({layer.class_name}): {why}", hint=_AS_KERAS)


def _listed(model: Layer, weights: Weights, root: str) -> dict[str, str]:
    """The names under which the file lists layers that have others here: those with weights follow each other then, as in Keras.

    A model inside a sequential one of Keras 1 and 2 has no name in the config.
    """
    names = weights.texts(root, "layer_names")
    if all(layer.name in names for layer in model.parts.values()):
        return {}
    held = [name for name in names if weights.texts("/".join(part for part in (root, name) if part), "weight_names")]
    layers = [layer.name for layer in model.parts.values() if next(layer.variables(), None) is not None]
    return dict(zip(layers, held, strict=True)) if len(layers) == len(held) else {}
