"""Reading Keras files: the layers of a model become ops of dialect `tf`.

A file says which layers there are and how they call each other, not what they compute: that is said here, by a rule a class
(`layers`), which a plugin may add to. Layers that hold code (Lambda, classes of one's own) are refused by name, never run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from transload.errors import Finding, ReadError, Unsupported, UsageError, merge_findings
from transload.input_shapes import static_shapes
from transload.ir import BOOL, F32, NONE, Module, TensorType, Type, Value, element_type_of, new_module, set_results
from transload.ir.verify import check
from transload.plugin import Source

from .archive import DAMAGED, KerasFile, read_file
from .graph import LATEST, Graph
from .judged import CODE, refuse_code, refuse_other_form
from .layer import BROKEN, Layer, LayerFault, broken_words, call_layer, flatten, refuse_quantized
from .model import input_layers, layer_tree, output_refs
from .weights import find_weights

__all__ = ["CODE", "outline", "read"]

_MODELS = ("Functional", "Model", "Sequential")
_WAY = "export the model as a SavedModel (model.export('folder')) or to ONNX (tf2onnx), where its classes are defined"


def read(source: Source, inputs: Mapping[str, TensorType] | None = None) -> Module:
    """Import a Keras model. `inputs` gives shapes of inputs that the file leaves open.

    Raises `ReadError` for anything that is wrong with the file or not known here, `UsageError` where `inputs` does not fit it.
    """
    file = read_file(source)
    with _named(source.name):
        return _build(file, source.name, inputs or {})


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Have errors begin with the file's name, and what a config leads to that Keras did not write be one."""
    try:
        yield
    except ReadError as error:
        if error.message.startswith(f"{name}: "):
            raise
        raise ReadError(f"{name}: {error.message}", error.findings, error.hint) from None
    except Unsupported as error:
        raise ReadError(f"{name}: {error.why}", hint=error.hint) from None
    except BROKEN as error:
        raise ReadError(f"{name}: {broken_words(error)}", hint=DAMAGED) from None


def outline(source: Source) -> tuple[list[str], list[str]]:
    """The names of a model's inputs and outputs. Raises `ReadError` where it holds code, or what is not known here."""
    file = read_file(source)
    with _named(source.name):
        model = _tree(file)
        code = next((part for _, part in model.walk() if part.class_name in CODE), None)
        if code is not None:
            raise ReadError(f"layer {code.name!r} ({code.class_name}): it holds code, which is not run", hint=_WAY)
        refuse_code(file.config)
        if source.path is not None:
            refuse_other_form(source.path.resolve(), read_as_archive=not file.named)
        return list(_inputs(model, file)), _output_names(model)


def _tree(file: KerasFile) -> Layer:
    """The layers of a model, all of known classes."""
    model = layer_tree(file.config)
    if model.class_name not in _MODELS:
        raise ReadError(
            f"the model is of class {model.class_name!r}: what it computes is code, which the file does not hold", hint=_WAY)
    _refuse_unknown(model)
    refuse_quantized(model)
    return model


def _build(file: KerasFile, name: str, given: Mapping[str, TensorType]) -> Module:
    model = _tree(file)
    find_weights(model, file)
    layers = _inputs(model, file)
    types, notes = _input_types(layers, given, name)
    module = new_module()
    function = module.add_function("main", types, list(layers))
    arguments = list(function.regions[0].block.arguments)
    graph = Graph(function.regions[0].block, *_version(file.version))
    masks: dict[Value, Value] = {}
    try:
        result = call_layer(graph, model, arguments, {}, masks, outermost=True)
    except LayerFault:
        raise
    except ReadError as error:  # sizes that were chosen may be why layers do not fit
        raise ReadError(error.message, error.findings, "; ".join(filter(None, (error.hint, *notes)))) from None
    outputs = [value for value in flatten(result) if isinstance(value, Value)]
    names = _output_names(model, len(outputs))
    if not outputs or len(names) != len(outputs):
        raise ReadError(f"model {model.name!r} has {len(names)} outputs, and its layers give {len(outputs)}")
    set_results(function, outputs, names)
    module.notes = (*notes, *_stateful(model))
    findings = check(module, inferred=False)
    if findings:
        raise ReadError("the model's layers compute with what TensorFlow's ops do not take", findings)
    return module


def _version(version: str) -> tuple[int, int]:
    """The first numbers of Keras's version; files that say none are of the last that did not."""
    numbers = re.match(r"([0-9]{1,3})(?:\.([0-9]{1,3}))?(?![0-9])", version)
    if numbers is None:
        return (3 if version else 2), LATEST
    return int(numbers[1]), LATEST if numbers[2] is None else int(numbers[2])


def _refuse_unknown(model: Layer) -> None:
    """Raise `ReadError` with every layer whose class has no rule."""
    unknown = [
        Finding(f"{part.class_name.removeprefix('operation_')}",
                "is an operation that is not known here" if part.class_name.startswith("operation_")
                else "is a class of layers that is not known here", (part.name,))
        for _, part in model.walk() if part.rule is None]
    if unknown:
        raise ReadError(
            f"the model has {len(unknown)} layer(s) of classes that are not known here", merge_findings(unknown), hint=_WAY)


def _stateful(model: Layer) -> Iterator[str]:
    names = [part.name for _, part in model.walk() if part.config.get("stateful") is True]
    if names:
        yield f"the states of {', '.join(map(repr, names[:8]))}, which Keras keeps from call to call, are zeros in each run"


# --- what the model is given and gives


def _inputs(model: Layer, file: KerasFile) -> dict[str, tuple[Any, Type]]:
    """Shape and element type of each input by name."""
    found: dict[str, tuple[Any, Type]] = {}
    for layer in input_layers(model):
        shape = layer.config.get("batch_shape", layer.config.get("batch_input_shape"))
        found[layer.name] = shape, _element(layer.config.get("dtype"))
    if not found and model.class_name == "Sequential":
        first = next(iter(model.parts.values()), None)
        if first is None:
            raise ReadError(f"model {model.name!r} has no layers")
        shape = first.config.get("batch_input_shape", first.config.get("batch_shape"))
        if shape is None and first.class_name in _MODELS:
            return _inputs(first, file)
        built = model.entry.get("build_config")
        later = built.get("input_shape") if isinstance(built, Mapping) else None
        found[f"{first.name}_input"] = shape or model.config.get("build_input_shape") or later, F32
    if not found:
        raise ReadError(f"model {model.name!r} has no inputs")
    return found


def _element(dtype: Any) -> Type:
    if isinstance(dtype, Mapping):
        config = dtype.get("config")
        dtype = config.get("name") if isinstance(config, Mapping) else None
    import ml_dtypes  # noqa: F401 - gives numpy bfloat16 by its name
    import numpy as np

    try:
        return BOOL if dtype == "bool" else element_type_of(np.dtype(str(dtype or "float32")))
    except (TypeError, KeyError, ValueError):
        raise ReadError(f"the model has an input of type {str(dtype)[:80]!r}, which holds no numbers") from None


def _input_types(
    layers: Mapping[str, tuple[Any, Type]], given: Mapping[str, TensorType], name: str,
) -> tuple[list[TensorType], tuple[str, ...]]:
    for key, type_ in given.items():
        if key in layers and type_.element not in (NONE, layers[key][1]):
            raise UsageError(f"{name}: input {key!r} has elements {layers[key][1]}, not {type_.element}")
    declared = {}
    for key, (shape, _) in layers.items():
        if shape is not None and not (isinstance(shape, list | tuple) and all(
                size is None or (isinstance(size, int) and not isinstance(size, bool) and size >= 0) for size in shape)):
            raise ReadError(f"input {key!r} has the shape {str(shape)[:80]}")
        declared[key] = None if shape is None else list(shape)
    found = static_shapes(declared, {key: type_.shape for key, type_ in given.items() if type_.shape is not None}, name)
    return [TensorType(found.shapes[key], element) for key, (_, element) in layers.items()], found.notes


def _output_names(model: Layer, count: int = 1) -> list[str]:
    """Each output by its key where the model gives a dictionary, else by the name of its layer; those of one name are counted.
    `count` is how many a sequential model has."""
    if model.class_name == "Sequential":
        names = [next(reversed(model.parts.values())).name] * count
    else:
        names = list(_keyed(output_refs(model)))
    counts: dict[str, int] = {}
    found: list[str] = []
    for name in names:
        made = name
        while made in found or (made != name and made in names):
            counts[name] = counts.get(name, 0) + 1
            made = f"{name}_{counts[name]}"
        found.append(made)
    return found


def _keyed(structure: Any, keys: tuple[str, ...] = ()) -> Iterator[str]:
    """A name for each leaf, in the order of `flatten`: the keys that lead to it, or the name of its layer."""
    if isinstance(structure, Mapping):
        for key in sorted(structure):
            yield from _keyed(structure[key], (*keys, str(key)))
    elif isinstance(structure, list | tuple):
        for item in structure:
            yield from _keyed(item, keys)
    else:
        yield "_".join(keys) or structure.layer
