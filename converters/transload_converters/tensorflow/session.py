"""A model in TensorFlow, as the process has it in which it runs (`runtime`)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from transload.errors import RunError

from .judged import keep_computing
from .nodes import Graph, Problems, op_def_of
from .objects import OBJECTS, keys_of, objects_of_variables
from .savedmodel import chosen_graph

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # its sums are rounded in another order

__all__ = ["Session"]

_WAYS = frozenset({"Enter", "RefEnter", "Switch", "RefSwitch"})
_JOINS = frozenset({"Merge", "RefMerge", "Exit", "RefExit", "NextIteration", "RefNextIteration", "LoopCond"})
"""Ops that lead into branches and loops, and those without which nothing leads out of them."""


_FIRST = "__saved_model_init_op"
_FIRST_COLLECTIONS = ("saved_model_main_op", "legacy_init_op")
"""What names the op that brings a model into its first state: a signature, or a collection."""


class Session:
    """A model: `inputs` and `outputs` are tensors by the names that we have for them, `off` are switches that are false.

    A `part` has other outputs than the model, which may lie in branches and loops."""

    def __init__(
        self, path: str, name: str, inputs: Mapping[str, str], outputs: Mapping[str, str], off: Sequence[str],
        part: bool = False,
    ) -> None:
        import tensorflow as tf

        self.tf, self.name, self.inputs, self.outputs, self.off = tf.compat.v1, name, dict(inputs), dict(outputs), list(off)
        self.graph = self.tf.Graph()
        self.session = self.tf.Session(graph=self.graph)
        try:
            with self.graph.as_default():
                self._load(Path(path))
                self.variables = self._variables()
            if part:
                self._straighten()
        except Exception as error:  # whatever TensorFlow raises
            raise RunError(f"TensorFlow cannot load {name}: {_first_line(error)}") from None

    def _load(self, path: Path) -> None:
        """Import what of the file computes, and give its variables the values of its checkpoint."""
        meta, checkpoint = self._read(path)
        graph_def, saver = meta.graph_def, meta.saver_def
        first, restore, given = _beginning(meta), list[str](), [*self.inputs.values(), *self.off]
        has_checkpoint = checkpoint.with_name(f"{checkpoint.name}.index").exists()
        if saver.restore_op_name and has_checkpoint:
            restore, given = [saver.restore_op_name], [*given, saver.filename_tensor_name]
        del graph_def.library.gradient[:]
        named = keep_computing(graph_def, given, [*self.outputs.values(), *first], restore)
        self.inputs = {name: named.get(tensor, tensor) for name, tensor in self.inputs.items()}
        self.outputs = {name: named.get(tensor, tensor) for name, tensor in self.outputs.items()}
        self.tf.import_graph_def(graph_def, name="", producer_op_list=meta.meta_info_def.stripped_op_list)
        for name in restore:
            self.session.run(self.graph.as_graph_element(name), {named[saver.filename_tensor_name]: str(checkpoint)})
        if has_checkpoint:
            self._give_by_objects(meta, checkpoint)
        for name in first:
            self.session.run(self.graph.as_graph_element(name))

    def _give_by_objects(self, meta: Any, checkpoint: Path) -> None:
        """Give variables that the saver left without a value what their objects have in the checkpoint."""
        import tensorflow as tf

        functions = {function.signature.name: op_def_of(function.signature) for function in meta.graph_def.library.function}
        problems = Problems(self.name)
        objects = objects_of_variables(Graph(meta.graph_def.node, problems, functions), meta.object_graph_def)
        saved = tf.train.load_checkpoint(str(checkpoint)) if objects else None
        if saved is None or not saved.has_tensor(OBJECTS):
            return
        for name, key in keys_of(objects, meta.object_graph_def, saved.get_tensor(OBJECTS), str(checkpoint), problems).items():
            handle = self.graph.get_tensor_by_name(f"{name}:0")
            with self.graph.as_default():
                has_value = tf.raw_ops.VarIsInitializedOp(resource=handle)
                value = self.tf.placeholder(tf.dtypes.as_dtype(handle.op.get_attr("dtype")))
                assign = tf.raw_ops.AssignVariableOp(resource=handle, value=value)
            if not self.session.run(has_value):
                self.session.run(assign, {value: saved.get_tensor(key)})

    def _read(self, path: Path) -> tuple[Any, Path]:
        """The meta graph of a file, of a mere graph one without anything else, and the checkpoint that it has."""
        from google.protobuf import text_format
        from tensorflow.core.protobuf import saved_model_pb2

        meta = self.tf.MetaGraphDef()
        message, checkpoint = meta.graph_def, path.with_suffix("")
        if path.stem == "saved_model":
            message, checkpoint = saved_model_pb2.SavedModel(), path.parent / "variables" / "variables"
        elif path.suffix == ".meta":
            message = meta
        if path.suffix == ".pbtxt":
            text_format.Parse(path.read_text(), message)
        else:
            message.ParseFromString(path.read_bytes())
        return (chosen_graph(message, self.name) if path.stem == "saved_model" else meta), checkpoint

    def _straighten(self) -> None:
        """Where what is asked for lies in branches or loops that are not wholly needed, a graph without ways into them.

        A session can neither fetch nor feed in a loop's frame, and what is in a branch may be dead.
        """
        needed = self._needed()
        kinds = {op.type for op in needed}
        if not kinds & _WAYS or kinds & _JOINS:
            return
        graph_def, fed = self.tf.GraphDef(), dict(zip(self.inputs.values(), range(len(self.inputs)), strict=True))
        graph_def.library.CopyFrom(self.graph.as_graph_def().library)
        names = {tensor: f"given_{number}:0" for tensor, number in fed.items()}
        for op in needed:
            node = graph_def.node.add()
            node.CopyFrom(op.node_def)
            del node.input[:]
            node.input.extend(names.get(tensor.name, _from(tensor)) for tensor in op.inputs)
            if op.type in _WAYS:
                node.op = "Identity"
                node.attr.clear()
                node.attr["T"].type = op.inputs[0].dtype.base_dtype.as_datatype_enum
                del node.input[1:]
        straight = self.tf.Graph()
        with straight.as_default():
            for tensor, number in fed.items():
                self.tf.placeholder(self.graph.get_tensor_by_name(tensor).dtype.base_dtype, name=f"given_{number}")
            graph_def.versions.CopyFrom(self.graph.as_graph_def().versions)
            used = {name for node in graph_def.node for name in node.input} & set(names.values())
            self.tf.import_graph_def(graph_def, {name: straight.get_tensor_by_name(name) for name in used}, name="")
        self.outputs = {
            name: names.get(tensor) or _from(self.graph.get_tensor_by_name(tensor)) for name, tensor in self.outputs.items()}
        self.inputs = {name: names[tensor] for name, tensor in self.inputs.items()}
        self.graph, self.session = straight, self.tf.Session(graph=straight)

    def _needed(self) -> list[Any]:
        """The ops that compute the outputs from the inputs, by their data, where the branches are taken that these lie in."""
        fed, found = set(self.inputs.values()), {}
        pending = [self.graph.get_tensor_by_name(name) for name in self.outputs.values()]
        while pending:
            tensor = pending.pop()
            if tensor.name not in fed and tensor.op.name not in found:
                found[tensor.op.name] = tensor.op
                pending += tensor.op.inputs[:1] if tensor.op.type in _WAYS else tensor.op.inputs
        return list(found.values())

    def _variables(self) -> dict[str, tuple[Any, Any, Any]]:
        """Of each variable, by its name: what assigns it, of what, and its value."""
        import tensorflow as tf

        found = {}
        for op in self.graph.get_operations():
            if op.type == "VarHandleOp":
                name, dtype = op.get_attr("shared_name").decode() or op.name, tf.dtypes.as_dtype(op.get_attr("dtype"))
                value = self.tf.placeholder(dtype)
                found[name] = (
                    tf.raw_ops.AssignVariableOp(resource=op.outputs[0], value=value), value,
                    tf.raw_ops.ReadVariableOp(resource=op.outputs[0], dtype=dtype))
        return found

    def __call__(self, inputs: Mapping[str, np.ndarray], keep: bool) -> dict[str, np.ndarray]:
        """Run once."""
        feeds = {self.inputs[name]: value for name, value in inputs.items() if name in self.inputs}
        states = [name for name in inputs if name not in self.inputs and name in self.variables]
        unknown = [name for name in inputs if name not in self.inputs and name not in self.variables]
        if unknown:
            raise RunError(f"{self.name} has no input {unknown[0]!r}")
        try:
            for name in states:
                assign, value, _ = self.variables[name]
                self.session.run(assign, {value: inputs[name]})
            feeds.update({f"{name}:0": np.array(False) for name in self.off})
            feeds.update(self._texts(inputs))
            fetched = {**(self._intermediates(feeds) if keep else {}), **self.outputs}
            found = dict(zip(fetched, self.session.run(list(fetched.values()), feeds), strict=True))
            after = {f"{name}_next": self.session.run(self.variables[name][2]) for name in states}
        except Exception as error:  # whatever TensorFlow raises
            raise RunError(f"TensorFlow cannot run {self.name}: {_first_line(error)}") from None
        return {name: np.asarray(value) for name, value in {**found, **after}.items()}

    def _texts(self, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Empty texts for the inputs that the reader left out, since nothing needs them."""
        import tensorflow as tf

        tensors = [self.graph.get_tensor_by_name(tensor) for name, tensor in self.inputs.items() if name not in given]
        return {tensor.name: np.full([size or 1 for size in tensor.shape.as_list()] if tensor.shape.rank is not None else [], "")
                for tensor in tensors if tensor.dtype.base_dtype == tf.string}

    def _intermediates(self, feeds: Mapping[str, Any]) -> dict[str, str]:
        """The numbers that nodes give which the outputs need; none of a graph with control flow, where some are dead."""
        import tensorflow as tf

        needed, pending = set(), [self.graph.get_tensor_by_name(name).op for name in self.outputs.values()]
        while pending:
            op = pending.pop()
            if op not in needed:
                needed.add(op)
                pending += [tensor.op for tensor in op.inputs if tensor.name not in feeds]
        if any(op.type in ("Switch", "Merge", "Enter", "RefSwitch") for op in needed):
            return {}
        tensors = [
            tensor for op in self.graph.get_operations() if op in needed and op.type not in ("Const", "Placeholder")
            for tensor in op.outputs if tensor.dtype.base_dtype not in (tf.string, tf.resource, tf.variant)]
        return {tensor.name.removesuffix(":0"): tensor.name for tensor in tensors}


def _beginning(meta: Any) -> list[str]:
    """What a meta graph has run before anything else: by its signature for that, or, in TensorFlow 1, by a collection."""
    name = meta.signature_def[_FIRST].outputs[_FIRST].name if _FIRST in meta.signature_def else ""
    collected = [name for key in _FIRST_COLLECTIONS if key in meta.collection_def
                 for name in meta.collection_def[key].node_list.value]
    return [name] if name else collected[:1]


def _from(tensor: Any) -> str:
    """What a tensor is called once the ways into branches are identities."""
    return f"{tensor.op.name}:0" if tensor.op.type in _WAYS else str(tensor.name)


def _first_line(error: Exception) -> str:
    """What an error says; TensorFlow's of a run begin with a line that says nothing."""
    lines = [line for line in str(error).strip().splitlines() if line.strip() and line != "Graph execution error:"]
    return next((line for line in lines if not line.startswith("Detected at node")), type(error).__name__)[:400]
