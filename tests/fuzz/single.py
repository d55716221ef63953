"""Cases of valid files with one edit, each judged: by its framework's runtime, or on the way to a target, as it is or quantized.

Fuzzing changes much, and most of that is refused; one other number, operand or option mostly leaves a file that is valid, and
that nobody has tried. They are listed, not drawn, so that none is tried twice, and none is left out for long.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, MutableSequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from transload_converters.tflite import schema

from tests.fuzz import text_files, tflite_files
from tests.fuzz.archives import packed, unpacked
from tests.fuzz.caffe_files import NUMBER
from tests.fuzz.cases import Case, options_of
from tests.fuzz.edits import Edit, edits_of_bytes, edits_of_json, edits_of_list, edits_of_message, floats, integers
from tests.fuzz.onward import Onward

__all__ = ["OPENED", "single_case_of"]

Opened = tuple[Iterator[Edit], Callable[[], bytes]]
"""What can be edited in a file, and what writes it then."""
_MOST = 4000
"""Edits of one file, of which each turn takes one."""
_FACTORS = (1e-3, 0.01, 0.1, 0.5, 1.5, 3.0, 10.0, 300.0, 1e5)
"""By which scales are multiplied."""
_TARGETS = ("tosa", "stablehlo", "onnx", "tflite", "tp-small", "tp-large", "xla-cpu")


def single_case_of(number: int, seeds: Mapping[str, list[Path]]) -> Case:
    """The case with this number: as many in a row as there are files are an edit of each, in a shuffled order."""
    files = [(format, file) for format in sorted(seeds) if format in OPENED for file in seeds[format]]
    turn, place = divmod(number, len(files))
    random.Random(f"order {turn}").shuffle(files)
    format, file = files[place]
    content = file.read_bytes()
    edits, write = OPENED[format](content)
    listed = list(islice(edits, _MOST))
    random.Random(f"{format} {file.name}").shuffle(listed)
    if turn < len(listed):
        listed[turn]()
        content = write()
    dice = random.Random(f"single {number}")
    to = dice.choice(("tosa", "tosa", "stablehlo"))
    target, scheme = dice.choice(_TARGETS), dice.choice((None, None, "int8"))
    onward = Onward(target, scheme, True) if dice.randrange(2) else None
    return Case(number, format, content, to, True, options_of(dice, format, to), onward)


def _tflite(content: bytes) -> Opened:
    tree = tflite_files.decode(content)
    return _tflite_edits(tree), partial(tflite_files.encode, tree)


def _tflite_edits(tree: dict[str, Any]) -> Iterator[Edit]:
    """Operands and options of operators; shapes, scales, zero points and constants of tensors."""
    for graph in tree.get("subgraphs", ()):
        tensors = graph.get("tensors", [])
        for operator in graph.get("operators", ()):
            operands = operator.get("inputs", [])
            yield from edits_of_list(operands, lambda old, operands=operands: {-1, *operands} - {old})  # type: ignore[misc]
            options = operator.get("builtin_options") or operator.get("builtin_options_2")
            for key, field in schema.fields(options[""]).items() if options else ():
                if field.is_vector and field.code and isinstance(options.get(key, []), list):
                    yield from edits_of_list(options.setdefault(key, []), partial(_others, field.code))
                elif field.code and not field.is_vector:
                    for new in _others(field.code, options.get(key, field.default or 0)):
                        yield partial(options.__setitem__, key, new)
        for tensor in tensors:
            yield from edits_of_list(tensor.get("shape", []), lambda old: {0, 1, old + 1, 2 * old} - {old})
            quantization = tensor.get("quantization", {})
            for place, scale in enumerate(quantization.get("scale", [])[:3]):
                for new in (*(scale * factor for factor in _FACTORS), *floats(scale, 3.4e38)):
                    yield partial(quantization["scale"].__setitem__, place, new)
            for place, zero in enumerate(quantization.get("zero_point", [])[:3]):
                for new in (-128, -127, -5, 0, 3, 100, 127, 128, 200, 255, 256, *integers(zero)):
                    yield partial(quantization["zero_point"].__setitem__, place, new)
            yield from _tflite_constant(tree, tensor)


_TFLITE_CODES = {0: "f", 1: "e", 2: "i", 3: "B", 4: "q", 6: "?", 7: "h", 9: "b", 10: "d", 12: "Q", 15: "I", 16: "H"}
"""Formats of `struct` by the schema's `TensorType`."""


def _tflite_constant(tree: dict[str, Any], tensor: dict[str, Any]) -> Iterator[Edit]:
    place, buffers = tensor.get("buffer", 0), tree.get("buffers", [])
    code = _TFLITE_CODES.get(tensor.get("type", 0))
    if code and 0 < place < len(buffers) and isinstance(data := buffers[place].get("data"), bytes):
        yield from edits_of_bytes(data, code, partial(buffers[place].__setitem__, "data"))


def _others(code: str, old: Any) -> list[Any]:
    if code == "?":
        return [not old]
    width = {"b": 8, "B": 8, "i": 32, "I": 32}.get(code, 64)
    return floats(old, 3.4e38) if code in "fd" else integers(int(old), width, code.isupper())


_ONNX_WORDS = (
    "SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET", "constant", "reflect", "edge", "wrap", "linear", "nearest", "cubic",
    "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_crop_and_resize", "round_prefer_floor", "floor",
    "ceil", "reverse", "bidirectional", "forward", "Relu", "Tanh", "Sigmoid", "HardSigmoid", "LeakyRelu", "add", "mul", "max",
    "min", "none", "DCR", "CRD", "sum", "mean", "tanh", "not_largest", "bilinear", "zeros", "border", "reflection", "",
    "ij,jk->ik", "ij->ji", "ii")
_ONNX_CODES = {1: "f", 2: "B", 3: "b", 4: "H", 5: "h", 6: "i", 7: "q", 9: "?", 10: "e", 11: "d", 12: "I", 13: "Q"}
"""Formats of `struct` by ONNX's `TensorProto.DataType`."""


def _onnx(content: bytes) -> Opened:
    import onnx

    model = onnx.ModelProto.FromString(content)
    return _onnx_edits(model.graph), model.SerializeToString


def _onnx_edits(graph: Any) -> Iterator[Edit]:
    """Operands and attributes of nodes, constants, and sizes of inputs."""
    tensors = list(graph.initializer)
    for node in graph.node:
        yield from edits_of_list(node.input, lambda old, node=node: {"", *node.input} - {old})  # type: ignore[misc]
        for place, attribute in enumerate(node.attribute):
            yield from edits_of_message(attribute, _ONNX_WORDS, ("name", "type", "g", "graphs", "doc_string", "t", "tensors"))
            yield partial(node.attribute.__delitem__, place)
            if attribute.HasField("t"):
                tensors.append(attribute.t)
            if attribute.HasField("g"):
                yield from _onnx_edits(attribute.g)
    for tensor in tensors:
        if (code := _ONNX_CODES.get(tensor.data_type)) and tensor.raw_data:
            yield from edits_of_bytes(tensor.raw_data, code, partial(setattr, tensor, "raw_data"))
        else:
            yield from edits_of_message(tensor, ("x",), ("name", "data_type", "dims", "raw_data", "doc_string"))
    for value in graph.input:
        yield from edits_of_message(value, ("N",), ("name", "elem_type", "denotation"))


_TF_WORDS = (
    "SAME", "VALID", "EXPLICIT", "NCHW", "NHWC", "NDHWC", "NCDHW", "REFLECT", "SYMMETRIC", "HALF_TO_EVEN", "HALF_AWAY_FROM_ZERO",
    "SCALED", "MIN_FIRST", "MIN_COMBINED", "bilinear", "nearest", "linear", "ij,jk->ik", "...i->i", "ij->ji", "BILINEAR",
    "NEAREST", "CONSTANT", "WRAP", "left", "right", "LEFT_RIGHT", "RIGHT_LEFT")
_TF_CODES = {1: "f", 2: "d", 3: "i", 4: "B", 5: "h", 6: "b", 9: "q", 10: "?", 17: "H", 19: "e", 22: "I", 23: "Q"}
"""Formats of `struct` by TensorFlow's `DataType`."""


def _tensorflow(content: bytes) -> Opened:
    from transload_converters.tensorflow.messages_pb2 import GraphDef

    graph = GraphDef.FromString(content)
    return _tensorflow_edits(graph), partial(graph.SerializeToString, deterministic=True)


def _tensorflow_edits(graph: Any) -> Iterator[Edit]:
    """Inputs of nodes, their attributes, and constants among these."""
    for node in graph.node:
        yield from edits_of_list(node.input, lambda old, node=node: set(node.input) - {old})  # type: ignore[misc]
        for key in sorted(node.attr):
            value = node.attr[key]
            yield from edits_of_message(value, _TF_WORDS, ("tensor_content", "tensor_shape", "func"))
            yield partial(node.attr.pop, key)
            if (code := _TF_CODES.get(value.tensor.dtype)) and value.tensor.tensor_content:
                yield from edits_of_bytes(
                    value.tensor.tensor_content, code, partial(setattr, value.tensor, "tensor_content"))


def _caffe(content: bytes) -> Opened:
    from transload_converters.caffe import caffe_pb2
    from transload_converters.caffe.network import is_binary

    if is_binary(content[:4096]):
        net: Any = caffe_pb2.NetParameter.FromString(content)
        return edits_of_message(net, ("x",), ("name", "type", "top")), net.SerializeToString
    pieces: list[str] = []
    end = 0
    for found in NUMBER.finditer(content):
        pieces += [content[end : found.start()].decode("latin-1"), found[0].decode()]
        end = found.end()
    pieces.append(content[end:].decode("latin-1"))
    return _numbers(pieces, range(1, len(pieces), 2)), lambda: "".join(pieces).encode("latin-1")


def _numbers(pieces: MutableSequence[str], places: range | list[int]) -> Iterator[Edit]:
    """Each number of a text another."""
    for place in places:
        old = pieces[place]
        others = integers(int(old)) if re.fullmatch(r"-?\d+", old) else floats(float(old))
        for new in others:
            yield partial(pieces.__setitem__, place, repr(new))


def _mlir(content: bytes) -> Opened:
    tokens = text_files.tokens_of(content)
    kinds = [text_files.kind_of(token) if len(token) < 100 and not token.isspace() else "" for token in tokens]
    numbers = [place for place, kind in enumerate(kinds) if kind in ("integer", "float")]
    values = [place for place, kind in enumerate(kinds) if kind == "%"]
    words = sorted({tokens[place] for place in values})[:8]

    def edits() -> Iterator[Edit]:
        yield from _numbers(tokens, numbers)
        for place in values:
            for word in words:
                yield partial(tokens.__setitem__, place, word)
        for place, kind in enumerate(kinds):
            if tokens[place] in ("true", "false"):
                yield partial(tokens.__setitem__, place, "false" if tokens[place] == "true" else "true")
            elif kind == "type":
                for word in text_files.TYPES:
                    yield partial(tokens.__setitem__, place, word)

    return edits(), lambda: "".join(tokens).encode("utf-8", "replace")


def _keras(content: bytes) -> Opened:
    if not content.startswith(b"PK"):
        return iter(()), lambda: content
    return _archived(content, "config.json", ("same", "valid", "causal", "channels_first", "relu", "tanh", "int8", "sum", "ave"))


def _pytorch(content: bytes) -> Opened:
    return _archived(content, next(name for name in unpacked(content) if "/models/" in name and name.endswith(".json")), ())


def _archived(content: bytes, name: str, words: tuple[str, ...]) -> Opened:
    """Edits of a file of JSON within an archive: texts become one of `words`, or what other texts by that key are."""
    held = unpacked(content)
    document = json.loads(held[name])
    said: dict[str, set[str]] = {}
    pending = [document]
    while pending:
        value = pending.pop()
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(each, dict | list):
                pending.append(each)
            elif isinstance(each, str):
                said.setdefault(str(key), set()).add(each)

    def write() -> bytes:
        held[name] = json.dumps(document).encode()
        return packed(held)

    return edits_of_json(document, lambda key: (*words, *sorted(said.get(key, ()))[:8])), write


OPENED: dict[str, Callable[[bytes], Opened]] = {
    "tflite": _tflite, "onnx": _onnx, "tensorflow": _tensorflow, "caffe": _caffe, "mlir": _mlir, "keras": _keras,
    "pytorch": _pytorch}
"""What opens a file of each format."""
