"""GraphDefs for tests, made of the messages that the reader has, so that no tensorflow is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from transload.ir import Module, Op
from transload.plugin import Source
from transload_converters.tensorflow import messages_pb2 as messages
from transload_converters.tensorflow.reader import read

DTYPES = {
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "str": 7, "complex64": 8, "int64": 9, "bool": 10,
    "bfloat16": 14, "uint16": 17, "complex128": 18, "float16": 19, "uint32": 22, "uint64": 23, "qint8": 11, "quint8": 12,
    "qint32": 13, "qint16": 15, "quint16": 16, "resource": 20, "variant": 21}


class T(str):
    """A type as an attribute: `T("float32")`."""


class Func(str):
    """A function as an attribute, by its name."""


def attribute(value: Any) -> Any:
    """An `AttrValue` of a Python value; an array is a tensor, a tuple a shape."""
    if isinstance(value, list):
        made = messages.AttrValue(list=messages.AttrValue.ListValue())
        for item in value:
            one = attribute(item)
            kind = one.WhichOneof("value")
            field = getattr(made.list, kind)
            field.append(getattr(one, kind))
        return made
    if isinstance(value, T):
        return messages.AttrValue(type=DTYPES[value])
    if isinstance(value, Func):
        return messages.AttrValue(func=messages.NameAttrList(name=value))
    if isinstance(value, bool):
        return messages.AttrValue(b=value)
    if isinstance(value, int):
        return messages.AttrValue(i=value)
    if isinstance(value, float):
        return messages.AttrValue(f=value)
    if isinstance(value, str):
        return messages.AttrValue(s=value.encode())
    if isinstance(value, tuple) or value is None:
        return messages.AttrValue(shape=shape_proto(value))
    return messages.AttrValue(tensor=tensor_proto(value))


def shape_proto(sizes: tuple[int | None, ...] | None) -> Any:
    if sizes is None:
        return messages.TensorShapeProto(unknown_rank=True)
    return messages.TensorShapeProto(dim=[{"size": -1 if size is None else size} for size in sizes])


def tensor_proto(array: Any) -> Any:
    array = np.asarray(array)
    if array.dtype.kind in "USO":
        return messages.TensorProto(
            dtype=7, tensor_shape=shape_proto(array.shape), string_val=[str(text).encode() for text in array.flat])
    return messages.TensorProto(
        dtype=DTYPES[array.dtype.name], tensor_shape=shape_proto(array.shape), tensor_content=array.tobytes())


def node(name: str, op: str, *inputs: str, attributes: Mapping[str, Any] | None = None, **more: Any) -> Any:
    """A `NodeDef`; `T` is f32 where nothing else is said and the op has it."""
    made = messages.NodeDef(name=name, op=op, input=inputs)
    for key, value in {**(attributes or {}), **more}.items():
        made.attr[key].CopyFrom(attribute(value))
    return made


def placeholder(name: str, shape: tuple[int | None, ...] | None, dtype: str = "float32") -> Any:
    return node(name, "Placeholder", dtype=T(dtype), shape=shape)


def const(name: str, value: Any, *control: str) -> Any:
    array = np.asarray(value)
    dtype = "str" if array.dtype.kind in "USO" else array.dtype.name
    return node(name, "Const", *control, dtype=T(dtype), value=array)


def graph(*nodes: Any, producer: int = 1900) -> Any:
    return messages.GraphDef(node=nodes, versions={"producer": producer})


def read_graph(graph_def: Any, **inputs: Any) -> Module:
    """The module of a graph, by way of its bytes."""
    return read(Source(_data=graph_def.SerializeToString(), name="graph"), inputs)


def main_ops(module: Module) -> list[Op]:
    return list(module.main.regions[0].block)
