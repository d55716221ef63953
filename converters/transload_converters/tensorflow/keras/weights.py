"""Which arrays of a file are the variables of which layer.

A `.keras` file lays them out by path: the second kernel of a model is `layers/conv2d_1/vars/0`, whatever the layer is called.
An `.h5` file lists, for each outermost layer, the names of its weights: first all that are trained, in the order in which the
layer and those inside it made them, then all others.
"""

from __future__ import annotations

from collections import Counter

from transload.errors import Finding, ReadError

from .archive import KerasFile, Weights
from .layer import Layer, Variable

__all__ = ["find_weights"]

_Place = tuple[Layer, Variable, str]


def find_weights(model: Layer, file: KerasFile) -> None:
    """Give every layer its weights.

    Raises `ReadError` where the file lists others than the layers have. A weight that is not there at all is missed when the
    layer is called, so that variables that are of no use need not be there.
    """
    places = _named(model, file.weights) if file.named else _laid_out(model, file.weights)
    read = file.weights.read(path for _, _, path in places)
    for layer, variable, path in places:
        layer.weights[variable.path] = read[path]


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
        wanted = list(layer.variables())
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
