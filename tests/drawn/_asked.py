"""Models of all formats that ask for something: sizes that are not known, names that a shell takes apart, several signatures."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

Size = int | str | None  # a number, a name, or neither: only the user knows it


@dataclass(frozen=True)
class Input:
    name: str
    sizes: tuple[Size, ...] | None
    """None where not even how many is known."""
    dtype: str

    def is_open(self) -> bool:
        """Whether somebody has to say a size: one that is open in front is a batch, and becomes 1."""
        return self.sizes is None or any(not isinstance(size, int) for size in self.sizes[1:])

    def open_batch(self) -> bool:
        return bool(self.sizes) and not isinstance(self.sizes[0], int)  # type: ignore[index]


@dataclass(frozen=True)
class Asked:
    """A model, and what its maker knows of it."""

    path: Path
    format: str
    inputs: tuple[Input, ...]
    outputs: tuple[str, ...]
    parts: tuple[str, ...] = ()
    """Functions or signatures, of which the user has to say one where there are several and none is called by custom."""
    fixed: bool = field(default=False)
    """Whether sizes are the file's alone (a `.pt2`, whose names of sizes have bounds)."""


PLAIN = ("x", "image", "input_1", "tokens", "serving/mask", "a.b", "data:0", "x2")
ODD = (
    "my image", "it's", 'a"b', "$HOME", "größe", "a=b", "-x", "--shape", "a:b:1x3", "x;ls", "a\\b", "*", "a#b", "!x", "%in",
    "(x)",
    "input[0]", "a,b", "~", "日本", "1", "x@y", "a&b", "{x}", "tab\there", "two\nlines", " x", "x ", "x:float32", "x:1x2", "NAME",
    "a`b")
SUFFIX = {"onnx": "onnx", "tflite": "tflite", "stablehlo": "mlir", "graph": "pb", "saved": "", "keras": "keras", "h5": "h5",
          "caffe": "prototxt", "pt2": "pt2"}
FILES = ("m", "my model", "größe", "it's", "a=b", "$x", "m.v2", "a,b", "x:y")
KINDS = {
    "onnx": ("float32", "float32", "float32", "float16", "float64", "uint8", "int8", "int32", "int64", "bool", "string"),
    "tflite": ("float32", "float32", "float32", "int32", "int64", "uint8", "int8", "bool"),
    "stablehlo": ("float32", "float32", "float16", "float64", "int32", "int64", "uint8", "bool"),
    "graph": ("float32", "float32", "float32", "int32", "int64", "uint8", "bool", "str"),
    "saved": ("float32", "float32", "int32", "uint8", "str"),
    "keras": ("float32",), "h5": ("float32",), "caffe": ("float32",), "pt2": ("float32",)}


def names(rng: Random, count: int, form: str) -> list[str]:
    """Names that the format may have: TensorFlow has letters and few signs, Keras no slash."""
    if form in ("graph", "saved"):
        return rng.sample(["x", "image", "input_1", "serving/mask", "a.b", "in-put", "_x2", "A>b"], count)
    pool = [*PLAIN, *ODD, *ODD]
    if form in ("keras", "h5"):
        pool = [name for name in pool if "/" not in name and ":" not in name]
    if form == "caffe":  # its text escapes as C does: not what is asked here
        pool = [name for name in pool if not set(name) & set('"\\\n\t')]
    if form == "stablehlo":  # names are locations, in quotes
        pool = [name for name in pool if not set(name) & set('"\\\n\t')]
    return rng.sample(sorted(set(pool)), count)


def sizes(rng: Random, form: str) -> tuple[Size, ...] | None:
    if form in ("onnx", "graph", "saved", "caffe") and rng.random() < 0.08:
        return None
    rank = rng.choice((1, 2, 2, 3, 4, 4))
    named = ("N", "batch size", "seq", "höhe", "?", "w=2", "2*N", "") if form == "onnx" else (None,)
    fixed = [rng.choice((1, 2, 3, 4, 8)) for _ in range(rank)]
    if form == "caffe":
        return tuple(fixed)
    open_: list[Size] = [rng.choice((*named, None)) if rng.random() < share else size
                         for size, share in zip(fixed, (0.6, *[0.3] * 3), strict=False)]
    return tuple(None if size in ("?", "") else size for size in open_)


def make(rng: Random, folder: Path, form: str | None = None) -> Asked:
    form = form or rng.choice(("onnx", "onnx", "tflite", *SUFFIX))
    count = 1 if form == "pt2" else rng.choice((1, 1, 2, 3))
    inputs = tuple(Input(name, sizes(rng, form), rng.choice(KINDS[form])) for name in names(rng, count, form))
    stem = rng.choice(FILES) if rng.random() < 0.4 else "m"
    path = folder / (f"{stem}.{SUFFIX[form]}" if SUFFIX[form] else stem)
    outputs = tuple(f"out{place}" for place in range(count))
    called = ("f", "g", "h") if form == "stablehlo" else ("f", "g", "the second", "größe")
    several = form in ("stablehlo", "tflite", "saved") and rng.random() < 0.3
    parts = tuple(rng.sample(called, 2)) if several else ()
    return MAKERS[form](rng, Asked(path, form, inputs, outputs, parts))


def _onnx(_: Random, asked: Asked) -> Asked:
    import onnx
    from onnx import TensorProto, helper

    code = {"float32": "FLOAT", "float16": "FLOAT16", "float64": "DOUBLE"}

    def info(name: str, one: Input) -> Any:
        return helper.make_tensor_value_info(name, getattr(TensorProto, code.get(one.dtype, one.dtype.upper())), one.sizes)

    nodes = []
    for one, out in zip(asked.inputs, asked.outputs, strict=True):
        does = "Add" if one.dtype.startswith(("float", "int32", "int64")) else "Identity"
        nodes.append(helper.make_node(does, [one.name] * (2 if does == "Add" else 1), [out]))
    graph = helper.make_graph(nodes, "g", [info(one.name, one) for one in asked.inputs], [
        helper.make_tensor_value_info(out, info(out, one).type.tensor_type.elem_type, None)
        for one, out in zip(asked.inputs, asked.outputs, strict=True)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), asked.path)
    return asked


def _tflite(_: Random, asked: Asked) -> Asked:
    from transload_converters.tflite.writer import ModelWriter

    model = ModelWriter()
    given, made = [], []
    for one, out in zip(asked.inputs, asked.outputs, strict=True):
        assert one.sizes is not None
        shape = tuple(size if isinstance(size, int) else 1 for size in one.sizes)
        said = tuple(size if isinstance(size, int) else -1 for size in one.sizes)
        pair = [model.add_tensor(name, shape, one.dtype, shape_signature=said) for name in (one.name, out)]
        number = one.dtype in ("float32", "int32", "int64")
        does = "ADD" if number else "LOGICAL_NOT" if one.dtype == "bool" else "MAXIMUM"
        model.add_operator(does, [pair[0]] * (1 if does == "LOGICAL_NOT" else 2), pair[1:])
        given.append(pair[0])
        made.append(pair[1])
    model.inputs, model.outputs = given, made
    for part in asked.parts:
        model.add_signature(part, dict(zip((one.name for one in asked.inputs), given, strict=True)),
                            dict(zip(asked.outputs, made, strict=True)))
    asked.path.write_bytes(model.finish())
    return asked


_MLIR = {"float32": "f32", "float16": "f16", "float64": "f64", "int32": "i32", "int64": "i64", "uint8": "ui8", "bool": "i1"}


def _stablehlo(_: Random, asked: Asked) -> Asked:
    def type_(one: Input) -> str:
        sizes = ["?" if not isinstance(size, int) else str(size) for size in one.sizes or ()]
        return f"tensor<{'x'.join([*sizes, _MLIR[one.dtype]])}>"

    text = ""
    for name in asked.parts or ("main",):
        ends = ", ".join(type_(one) for one in asked.inputs)
        body = "".join(f"  %r{place} = stablehlo.maximum %a{place}, %a{place} : {type_(one)}\n"
                       for place, one in enumerate(asked.inputs))
        arguments = ", ".join(f'%a{place}: {type_(one)} loc("{one.name}")' for place, one in enumerate(asked.inputs))
        results = ", ".join(f"%r{place}" for place in range(len(asked.inputs)))
        text += f"func.func @{name}({arguments}) -> ({ends}) {{\n{body}  return {results} : {ends}\n}}\n"
    asked.path.write_text(text)
    return asked


def _graph_def(asked: Asked) -> Any:
    from tests.support.tensorflow_graphs import T, graph, node, placeholder

    nodes = []
    for one, out in zip(asked.inputs, asked.outputs, strict=True):
        does = "AddV2" if one.dtype in ("float32", "int32", "int64", "uint8") else "Identity"
        sizes = None if one.sizes is None else tuple(size if isinstance(size, int) else None for size in one.sizes)
        nodes += [placeholder(one.name, sizes, one.dtype),
                  node(out, does, *[one.name] * (2 if does == "AddV2" else 1), T=T(one.dtype))]
    return graph(*nodes)


def _graph(_: Random, asked: Asked) -> Asked:
    asked.path.write_bytes(_graph_def(asked).SerializeToString())
    return asked


def _saved(_: Random, asked: Asked) -> Asked:
    from transload_converters.tensorflow import messages_pb2 as messages

    from tests.support.tensorflow_graphs import DTYPES, shape_proto

    meta = messages.MetaGraphDef(graph_def=_graph_def(asked), meta_info_def={"tags": ("serve",)})
    for part in asked.parts or ("serving_default",):
        signature = meta.signature_def[part]
        for one, out in zip(asked.inputs, asked.outputs, strict=True):
            sizes = None if one.sizes is None else tuple(size if isinstance(size, int) else None for size in one.sizes)
            for entry, name in ((signature.inputs[one.name], one.name), (signature.outputs[out], out)):
                entry.name, entry.dtype = f"{name}:0", DTYPES[one.dtype]
                entry.tensor_shape.CopyFrom(shape_proto(sizes))
    asked.path.mkdir()
    saved = messages.SavedModel(saved_model_schema_version=1, meta_graphs=[meta])
    (asked.path / "saved_model.pb").write_bytes(saved.SerializeToString())
    return asked


def _keras(rng: Random, asked: Asked) -> Asked:
    from tests.support.keras_models import entry, functional, h5_file, input_entry, keras_file

    known = tuple(replace(one, sizes=(None, *(one.sizes or ())[1:])) for one in asked.inputs)
    layers = [input_entry(one.name, [size if isinstance(size, int) else None for size in one.sizes or ()]) for one in known]
    layers += [entry("ReLU", out, one.name) for one, out in zip(known, asked.outputs, strict=True)]
    config = functional(layers, [one.name for one in known], list(asked.outputs))
    if asked.format == "keras":
        keras_file(asked.path, config, {})
    else:
        h5_file(asked.path, config, {}, version="3.5.0")
    return replace(asked, inputs=known)


def _caffe(_: Random, asked: Asked) -> Asked:
    text = ""
    for one, out in zip(asked.inputs, asked.outputs, strict=True):
        shape = "" if one.sizes is None else f" input_param {{ shape {{ {' '.join(f'dim: {size}' for size in one.sizes)} }} }}"
        text += f'layer {{ name: "{one.name}" type: "Input" top: "{one.name}"{shape} }}\n'
        text += f'layer {{ name: "{out}" type: "ReLU" bottom: "{one.name}" top: "{out}" }}\n'
    asked.path.write_text(text)
    return asked


def _pt2(rng: Random, asked: Asked) -> Asked:
    """What it asks is the file's, and of no matter here: only what is said is followed."""
    kept = Path(__file__).parents[1] / "converters" / "pytorch" / "kept"
    shutil.copy(kept / f"{rng.choice(('cnn', 'dynamic_sizes', 'slices'))}.pt2", asked.path)
    return replace(asked, inputs=(), outputs=(), fixed=True)


MAKERS: dict[str, Callable[[Random, Asked], Asked]] = {
    "onnx": _onnx, "tflite": _tflite, "stablehlo": _stablehlo, "graph": _graph, "saved": _saved, "keras": _keras, "h5": _keras,
    "caffe": _caffe, "pt2": _pt2}

