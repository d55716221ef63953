"""SavedModels, of TensorFlow 1 and 2, and meta graphs beside checkpoints: graphs with signatures, variables and assets.

A SavedModel is a folder: `saved_model.pb`, the checkpoint `variables/variables`, and files in `assets/`. Source:
tensorflow/core/protobuf/saved_model.proto and meta_graph.proto, tensorflow/cc/saved_model/loader.cc.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from transload.digits import whole_number
from transload.errors import ForeignContent, MissingFunction, ReadError
from transload.ir import Dense, Module, TensorType
from transload.suggest import nearest

from .checkpoint import Checkpoint
from .model import DAMAGED, Borders, Input, Model
from .nodes import Edge, Graph
from .objects import OBJECTS, keys_of, objects_of_variables
from .tensors import Contents, Strings, stored_element
from .types import element_of, sizes_of
from .variables import Restored, restored

__all__ = ["chosen_graph", "module_of", "outline_of", "signature_of"]

_DEFAULT = "serving_default"
_SERVE = "serve"
_MAIN = "main"
"""What the default signature is called as a function, unless another has that name."""
_INTERNAL = "__saved_model"
"""How the names of signatures begin that are no models: `__saved_model_init_op`."""


def chosen_graph(saved_model: Any, where: str) -> Any:
    """The meta graph for serving, or the only one."""
    graphs = list(saved_model.meta_graphs)
    if not graphs:
        raise ForeignContent(f"{where}: holds no graph", hint=DAMAGED)
    serving = [graph for graph in graphs if _SERVE in graph.meta_info_def.tags]
    if len(graphs) > 1 and not serving:
        tags = "; ".join(", ".join(graph.meta_info_def.tags) or "no tags" for graph in graphs)
        raise ReadError(f"{where}: holds {len(graphs)} graphs, and none with the tag {_SERVE!r}: {tags}",
                        hint="save the one that is meant with tag 'serve'")
    return min(serving or graphs, key=lambda graph: len(graph.meta_info_def.tags))


def module_of(
    meta: Any, contents: Contents, wanted: Mapping[str, TensorType], signature: str | None, checkpoint: Path | None,
    folder: Path | None = None, outputs: Sequence[str] = (),
) -> Module:
    """The module of a meta graph. `checkpoint` is the prefix of the files with its variables, `folder` that of a SavedModel,
    `outputs` what is asked for in place of the signature's.

    Raises `MissingFunction` for a signature that there is not.
    """
    name, files = signature_of(meta, signature, contents.name), _Variables(meta, contents, checkpoint)
    model = Model(
        meta.graph_def, contents, _borders_of(meta, name, contents), outputs, files, _assets(meta, folder, contents.name))
    module = model.module(wanted)
    if name is not None:
        if name != signature_of(meta, None, contents.name, choose=False) or _MAIN in meta.signature_def:
            module.entry = name  # where one is called main, main is not the default one
        others = [key for key in meta.signature_def if key != name and not key.startswith(_INTERNAL)]
        if others:
            module.notes += (f"signature {name!r} is read; --signature takes {', '.join(sorted(others))}, too",)
    module.beside = files.files
    return module


def outline_of(meta: Any, contents: Contents, signature: str | None = None) -> Model:
    """A meta graph of which only what it is given and gives is asked; `signature` is as `Module.entry` has it."""
    if signature == _MAIN and signature not in meta.signature_def:
        signature = None
    return Model(meta.graph_def, contents, _borders_of(meta, signature_of(meta, signature, contents.name), contents))


def _borders_of(meta: Any, name: str | None, contents: Contents) -> _Borders | None:
    return None if name is None else _Borders(meta.signature_def[name], contents.name)


def signature_of(meta: Any, wanted: str | None, where: str, choose: bool = True) -> str | None:
    """The signature that is the model: the one asked for, else the default one or the only one; None where there is none.

    Raises `MissingFunction` where there is not the one asked for, `ReadError` where one has to be said, unless not to `choose`.
    """
    names = sorted(name for name in meta.signature_def if not name.startswith(_INTERNAL))
    if wanted is not None:
        if wanted not in names:
            guess = nearest(wanted, names)
            raise MissingFunction(
                f"{where} has no signature {wanted!r}",
                hint=(f"did you mean {guess!r}? " if guess else "") + f"signatures: {', '.join(names) or 'none'}")
        return wanted
    if _DEFAULT in names or len(names) < 2 or not choose:
        return _DEFAULT if _DEFAULT in names else names[0] if len(names) == 1 else None
    raise ReadError(f"{where}: has {len(names)} signatures, and none is {_DEFAULT!r}",
                    hint=f"say which with --signature: {', '.join(names)}")


class _Borders:
    """The inputs and outputs that a signature says, in the order of their names (`output_10` after `output_2`)."""

    def __init__(self, signature: Any, where: str) -> None:
        self.signature = signature
        self.where = where

    def __call__(self, graph: Graph) -> Borders:
        inputs = {
            name: Input(self._edge(graph, name, info), None if (sizes := sizes_of(info.tensor_shape)) is None else list(sizes))
            for name, info in sorted(self.signature.inputs.items(), key=_in_order)}
        outputs = {
            name: self._edge(graph, name, info) for name, info in sorted(self.signature.outputs.items(), key=_in_order)}
        if not outputs:
            raise ReadError(f"{self.where}: the signature has no outputs", hint="say another with --signature")
        return Borders(inputs, outputs)

    def _edge(self, graph: Graph, name: str, info: Any) -> Edge:
        edge = graph.edge(info.name)
        if not info.name:
            raise ReadError(f"{self.where}: {name!r} is a sparse or composite tensor, which is not read",
                            hint="export a signature that takes and gives dense tensors")
        if edge is None:
            raise ReadError(f"{self.where}: {name!r} is {info.name!r}, which nothing in the graph computes", hint=DAMAGED)
        return edge


def _in_order(entry: tuple[str, Any]) -> list[Any]:
    return [(1, 0, part) if (number := whole_number(part)) is None else (0, number, "")
            for part in re.split(r"([0-9]+)", entry[0]) if part]


class _Variables:
    """The values of variables by the names of their nodes, looked up in the checkpoint when the graph is there."""

    def __init__(self, meta: Any, contents: Contents, prefix: Path | None) -> None:
        self.meta, self.contents, self.prefix = meta, contents, prefix
        self.files: tuple[Path, ...] = ()

    def __call__(self, graph: Graph) -> Mapping[str, Dense | Strings]:
        if self.prefix is None:
            return {}
        sources = self._restored(graph)
        objects = objects_of_variables(graph, self.meta.object_graph_def, sources)
        if not sources and not objects:
            return {}
        checkpoint = Checkpoint(self.prefix)
        values = {name: checkpoint.read(source.name, source.part) for name, source in sources.items()}
        values.update(self._held(graph, objects, checkpoint))
        self.files = checkpoint.files
        return values

    def _restored(self, graph: Graph) -> dict[str, Restored]:
        """What the saver gives variables, by name."""
        restore = self.meta.saver_def.restore_op_name
        if not restore or (graph.edge(restore) is None and restore not in graph.nodes):
            return {}
        functions = {function.signature.name: function for function in self.meta.graph_def.library.function}
        return restored(graph, functions, restore, self.contents)

    def _held(self, graph: Graph, objects: Mapping[str, int], checkpoint: Checkpoint) -> dict[str, Dense]:
        """The values of variables, by name, that their objects have in the checkpoint."""
        content = checkpoint.text(OBJECTS) if objects else None
        if content is None:
            return {}
        keys = keys_of(objects, self.meta.object_graph_def, content, str(checkpoint.index), graph.problems)
        found = {}
        for name, key in keys.items():
            value, node = checkpoint.read(key), graph.nodes[name]
            if isinstance(value, Dense) and _fits(value, node.attributes):
                found[name] = value
            else:
                held = value.type if isinstance(value, Dense) else "texts"
                graph.problems.add(node.op, f"has another type than its value in the checkpoint, {held} {key[:200]!r}", name)
        return found


def _fits(value: Dense, attributes: Mapping[str, Any]) -> bool:
    """Whether a value is of the type that the attributes of a variable's node say, as far as they say one."""
    element = element_of(attributes["dtype"].type) if "dtype" in attributes else None
    sizes = sizes_of(attributes["shape"].shape) if "shape" in attributes else None
    return (element is None or stored_element(element) == value.type.element) and (sizes is None or (
        len(sizes) == len(value.shape) and all(size in (None, held) for size, held in zip(sizes, value.shape, strict=True))))


def _assets(meta: Any, folder: Path | None, where: str) -> dict[str, Strings]:
    """The paths of asset files, by the constants that are to hold them."""
    found = {}
    for asset in meta.asset_file_def:
        path = PurePosixPath(asset.filename.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or "\0" in asset.filename or not path.parts:
            raise ReadError(f"{where}: names an asset at {asset.filename!r}, outside the model's folder",
                            hint="assets must lie in the folder 'assets' of the model")
        if folder is not None:
            found[asset.tensor_info.name.partition(":")[0]] = Strings([str(folder / "assets" / path)], ())
    return found
