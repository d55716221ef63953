"""Reading TensorFlow's files: graphs (`.pb`, `.pbtxt`), SavedModels, meta graphs beside checkpoints (`.meta`).

One node is one op of dialect `tf`; nothing is decided here but the inputs' static shapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from transload.errors import ForeignContent, MissingPackage
from transload.ir import Module, TensorType
from transload.plugin import Source
from transload.protobuf import Layout, cut_out

from .model import DAMAGED, Model, switches_of_training
from .savedmodel import chosen_graph, module_of, outline_of
from .tensors import IN_GRAPH, Contents

__all__ = ["detect", "outline", "read"]

_MARK = 1000
"""The field of a tensor that stands for a content which was cut out; see messages.proto."""
_IN_META: Layout = {2: IN_GRAPH}
_BEGINNING = re.compile(rb"(?:\x0a|\x08\x01\x12)[\x80-\xff]{0,4}[\x00-\x7f]\x0a")
"""The field that holds a node, or a SavedModel's version and the field of a meta graph; a length; what either begins with."""
_VERSION = 0x08
"""The first byte of a SavedModel: its version, which no graph begins with."""


def detect(head: bytes, path: Path | None = None) -> bool:
    """Whether a file's first bytes look like a graph: a node, which begins with its name, and then its op or its versions.

    Or like a SavedModel: its version, and a meta graph, which begins with a message of what it is.
    """
    return len(head) >= 8 and _BEGINNING.match(head) is not None


def read(source: Source, inputs: Mapping[str, TensorType] | None = None) -> Module:
    """Import a graph or a SavedModel. `inputs` gives shapes of inputs that the file leaves open.

    Raises `ReadError` for anything that is wrong with the file, `UsageError` where `inputs` or the signature does not fit it.
    """
    GraphDef, MetaGraphDef, SavedModel = _messages()
    wanted, path = inputs or {}, source.path
    folder = path.parent if path is not None else None
    if _is_saved(source):
        saved, contents = _message(SavedModel(), source, {2: _IN_META})
        meta = chosen_graph(saved, source.name)
        prefix = folder / "variables" / "variables" if folder is not None else None
        function, source.function = source.function, None
        return module_of(meta, contents, wanted, function, prefix, folder, source.outputs)
    if path is not None and path.suffix.lower() == ".meta":
        meta, contents = _message(MetaGraphDef(), source, _IN_META)
        function, source.function = source.function, None
        return module_of(meta, contents, wanted, function, path.with_suffix(""), outputs=source.outputs)
    graph_def, contents = _message(GraphDef(), source, IN_GRAPH)
    if not graph_def.node:
        raise ForeignContent(f"{source.name}: has no nodes", hint=DAMAGED)
    return Model(graph_def, contents, outputs=source.outputs).module(wanted)


def outline(
    source: Source, inputs: Iterable[str], outputs: Sequence[str] = (),
) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """The tensors that a file's model is given and gives, by the names that we have for them, and its switches of training.

    inputs: the names of what a user gives, of which a graph that says no inputs makes some; outputs: what is asked for in place
    of the model's own.
    """
    GraphDef, MetaGraphDef, SavedModel = _messages()
    if _is_saved(source):
        saved, contents = _message(SavedModel(), source, {2: _IN_META})
        model = outline_of(chosen_graph(saved, source.name), contents, source.function)
    elif source.path is not None and source.path.suffix.lower() == ".meta":
        model = outline_of(*_message(MetaGraphDef(), source, _IN_META), source.function)
    else:
        model = Model(*_message(GraphDef(), source, IN_GRAPH))
    model.outputs = outputs
    graph, borders = model.bordered(inputs)
    given = {name: "{}:{}".format(*each.edge) for name, each in borders.inputs.items()}
    gives = {name: "{}:{}".format(*edge) for name, edge in borders.outputs.items()}
    return given, gives, sorted(switches_of_training(graph) - set(given))


def _messages() -> tuple[Any, Any, Any]:
    """The messages of graphs, meta graphs and SavedModels; `ReadError` where the package protobuf is missing, or too old."""
    try:
        from .messages_pb2 import GraphDef, MetaGraphDef, SavedModel
    except ImportError as error:
        raise MissingPackage(
            f"reading TensorFlow's files needs the package 'protobuf', 4.25 or later: {error}",
            hint="pip install 'transload[tensorflow]'") from None
    return GraphDef, MetaGraphDef, SavedModel


def _is_text(source: Source) -> bool:
    return source.path is not None and source.path.suffix.lower() == ".pbtxt"


def _is_saved(source: Source) -> bool:
    if _is_text(source):
        return source.path is not None and source.path.stem == "saved_model"
    return bytes(source.data[:1]) == bytes([_VERSION])


def _message(message: Any, source: Source, layout: Layout) -> tuple[Any, Contents]:
    """A message with the content of a file, and the large contents that were cut out; `ReadError` where that is none."""
    from google.protobuf import text_format
    from google.protobuf.message import DecodeError

    try:
        if _is_text(source):
            text_format.Parse(bytes(source.data).decode(), message, allow_unknown_field=True)
            return message, Contents(source.name)
        data, cuts = cut_out(source.data, layout, mark=_MARK)
        message.ParseFromString(bytes(data))
    except RecursionError:
        raise ForeignContent(
            f"{source.name}: its messages lie in each other deeper than text is read, hundreds of levels",
            hint=DAMAGED) from None
    except (DecodeError, text_format.ParseError, RuntimeError, ValueError) as error:
        raise ForeignContent(
            f"{source.name}: is not a protobuf message of a TensorFlow model: {str(error)[:200]}", hint=DAMAGED) from None
    return message, Contents(source.name, cuts)
