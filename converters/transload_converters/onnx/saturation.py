"""Products of u8 by i8 in onnxruntime, on x86 processors without VNNI: exact there, too.

Its kernels for such processors (AVX2 alone, and early AVX-512) add the products of two pairs of numbers in 16 bits, where they
saturate: 255 * 127 twice is 32767. A judge must not, so a model that is run by `session` on such a processor gets the weights of
these operators as u8, 128 more, beside zero points of 128 more: the same numbers, by kernels that are exact.

Source: onnxruntime, "Quantize ONNX models", on U8S8 and saturation; its pull request 12088.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from . import imported

__all__ = ["made_exact", "saturates"]

_PRODUCTS: dict[str, list[tuple[tuple[int, ...], int, int]]] = {
    "MatMulInteger": [((2, 0), 1, 3)], "ConvInteger": [((2, 0), 1, 3)], "QLinearMatMul": [((2, 0), 3, 5)],
    "QLinearConv": [((2, 0), 3, 5)], "QGemm": [((2, 0), 3, 5)], "MatMulIntegerToFloat": [((4, 0), 1, 5)],
    "DynamicQuantizeMatMul": [((), 1, 3)], "QAttention": [((6, 0), 1, 7)], "DynamicQuantizeLSTM": [((), 1, 9), ((), 2, 11)],
    "DequantizeLinear": [((), 0, 2)]}
"""Inputs that have the activations' type, their zero point first (none: it quantizes to u8); the weights; their zero points."""
_SHIFT = 128


@lru_cache(maxsize=1)
def saturates() -> bool:
    """Whether onnxruntime's product of u8 by i8 saturates on this processor: 2 * 255 * 127 is asked for."""
    from onnx import TensorProto, helper

    onnxruntime = imported.onnxruntime()

    a, b, y = (helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in (
        ("a", TensorProto.UINT8, [1, 8]), ("b", TensorProto.INT8, [8, 8]), ("y", TensorProto.INT32, [1, 8])))
    graph = helper.make_graph([helper.make_node("MatMulInteger", ["a", "b"], ["y"])], "probe", [a, b], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (made,) = session.run(None, {"a": np.full((1, 8), 255, np.uint8), "b": np.full((8, 8), 127, np.int8)})
    return bool((made != 8 * 255 * 127).any())


def made_exact(model: Any) -> bool:
    """Give the products of u8 by i8 of an ONNX model, and the weights in QDQ form, unsigned weights. Returns whether any has."""
    if not any(node.op_type in _PRODUCTS for graph in _graphs(model.graph) for node in graph.node):
        return False
    types = _types(model)
    changed = [_Exact(graph, types).run() for graph in _graphs(model.graph)]
    return any(changed)


def _graphs(graph: Any) -> Iterator[Any]:
    """A graph, and those of its branches and loops."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _graphs(attribute.g)


def _types(model: Any) -> dict[str, int]:
    """The element types of values, by name, as far as ONNX's inference knows them."""
    import onnx

    try:
        known = onnx.shape_inference.infer_shapes(model)
    except Exception:  # what inference cannot follow, runtimes may all the same
        known = model
    types: dict[str, int] = {}
    for graph in _graphs(known.graph):
        types |= {each.name: each.type.tensor_type.elem_type for each in (*graph.value_info, *graph.input, *graph.output)}
        types |= {each.name: each.data_type for each in graph.initializer}
    return types


class _Exact:
    """The change of one graph."""

    def __init__(self, graph: Any, types: dict[str, int]) -> None:
        from onnx import TensorProto

        self.graph, self.types = graph, types
        self.signed, self.unsigned = TensorProto.INT8, TensorProto.UINT8
        self.constants = {each.name: each for each in graph.initializer}
        self.moved: dict[str, str] = {}
        self.nodes: list[Any] = []
        """Those of the graph, each behind what computes its unsigned weights."""

    def run(self) -> bool:
        for node in list(self.graph.node):
            for typed, weights, zero in _PRODUCTS.get(node.op_type, ()):
                self._change(node, typed, weights, zero)
            self.nodes.append(node)
        if self.moved:
            del self.graph.node[:]
            self.graph.node.extend(self.nodes)
        return bool(self.moved)

    def _change(self, node: Any, typed: tuple[int, ...], weights: int, zero: int) -> None:
        if len(node.input) <= weights or self.types.get(node.input[weights]) != self.signed:
            return
        if node.op_type == "DequantizeLinear" and node.input[weights] not in self.constants:
            return  # activations
        kinds = [self.types.get(node.input[index]) for index in typed if index < len(node.input) and node.input[index]]
        if typed and self.unsigned not in kinds:
            return
        node.input[weights] = self._unsigned(node.input[weights])
        node.input.extend([""] * (zero + 1 - len(node.input)))
        node.input[zero] = self._unsigned(node.input[zero]) if node.input[zero] else self._none(node, weights)

    def _none(self, node: Any, weights: int) -> str:
        """A zero point of 0, unsigned: for each of the scales where an operator wants as many."""
        from onnx import numpy_helper

        scales = self.constants.get(node.input[1]) if node.op_type == "DequantizeLinear" else None
        shape = tuple(scales.dims) if scales is not None else ()
        name = f"{node.input[weights]}/zero{len(self.moved)}"
        self.graph.initializer.append(numpy_helper.from_array(np.full(shape, _SHIFT, np.uint8), name))
        return name

    def _unsigned(self, name: str) -> str:
        """The name of what is 128 more than an i8, a constant where that is one."""
        from onnx import TensorProto, helper, numpy_helper

        if name in self.moved:
            return self.moved[name]
        made = self.moved[name] = f"{name}/unsigned"
        held = self.constants.get(name)
        if held is not None and not held.external_data:
            array = numpy_helper.to_array(held).astype(np.int16) + _SHIFT
            self.graph.initializer.append(numpy_helper.from_array(array.astype(np.uint8), made))
            return made
        shift = f"{made}/shift"
        self.graph.initializer.append(numpy_helper.from_array(np.array(_SHIFT, np.int32), shift))
        self.nodes += [
            helper.make_node("Cast", [name], [f"{made}/wide"], to=TensorProto.INT32),
            helper.make_node("Add", [f"{made}/wide", shift], [f"{made}/sum"]),
            helper.make_node("Cast", [f"{made}/sum"], [made], to=self.unsigned)]
        return made
