"""Reading `.onnx` files: one node, one op of dialect `onnx`; nothing is decided here but the inputs' static shapes.

Functions of the model are inlined (by `onnx.inliner`; those of another opset, where that makes a difference, by the importer of
graphs) and the shapes of values are inferred (by
`onnx.shape_inference`; where that fails, values have the types that the file gives them). Initializers
become `onnx.Constant` and look into the file, or into files of external data, without copying.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from transload.budget import VARIABLE, allowance, text_fault
from transload.errors import ForeignContent, MissingPackage, ReadError, TransloadError
from transload.ir import Module, Op, TensorType, Type, new_module, set_results
from transload.ir.verify import check
from transload.plugin import Source
from transload.worker import ChildEnded

from .bundles import spell_out
from .dialect import FIRST_OPSET, schema_of
from .graph import GraphImporter, Scope, types_of
from .isolated import ONNX, SHAPES
from .other_sizes import forget_other_sizes, has_other_sizes, write_other_sizes
from .shapes import fix_input_shapes, write_sizes
from .tensors import TensorReader
from .types import value_type
from .wire import RawData, cut_out_raw_data

__all__ = ["OPSET", "read"]

OPSET = "onnx.opset"
"""Module attribute: the opset version of each domain, ONNX's own under `ai.onnx`."""

_PROCESS = "transload_converters.onnx.process"
_INFERENCE = "transload_converters.onnx.inference:with_shapes_alone"
_STRICT = "transload_converters.onnx.inference:without_contradiction"
_NEXT = ("transload.journey", "transload.passes.manager", "transload_converters.onnx.legalize", "transload_hub.ops.elementwise",
         "transload_hub.ops.conv", "transload_hub.ops.movement", "transload_hub.ops.activation")
"""What nearly every model needs next: there is time to import it while the other process starts."""
INFERENCE_SECONDS, INFERENCE_SPEED = 5.0, 1e6
"""How long ONNX's inference of shapes may take: seconds, and bytes a second. On some models of a hundred bytes it never ends, or
takes twice as long for each operator more."""
_DAMAGED = "the file is damaged, was cut short, or is no ONNX model"


def read(source: Source, inputs: Mapping[str, TensorType] | None = None) -> Module:
    """Import an ONNX model. `inputs` gives shapes of inputs that the file leaves open.

    Raises `ReadError` for anything that is wrong with the file, `UsageError` where `inputs` does not fit it.
    """
    _need_onnx()
    SHAPES.start()  # which takes as long as what is done here before it is called
    where = source.name
    model, raw = _parse(source)
    if model.functions:
        model = _inline_functions(model, where)
    opsets = _opsets(model, where)
    if opsets["ai.onnx"] < FIRST_OPSET:
        model, raw = _upgrade(model, opsets["ai.onnx"], source), {}
        opsets = _opsets(model, where)
    graph = model.graph
    wanted, left_out = spell_out(graph, inputs or {}, where)
    source.obeyed |= (inputs or {}).keys() - wanted.keys()
    constants = {tensor.name for tensor in graph.initializer} | {sparse.values.name for sparse in graph.sparse_initializer}
    arguments = [info for info in graph.input if info.name not in constants]
    changed, notes = fix_input_shapes(arguments, wanted, where, partial(_fits, model))
    if changed or left_out:
        _forget_shapes(graph)
    types, more = _infer_types(model)
    tensors = TensorReader(where, source.path.parent if source.path else None)
    functions = {(function.domain, function.name, function.overload): function for function in model.functions}
    module = _build(graph, arguments, types, opsets, tensors, raw, functions)
    module.notes, module.beside = (*left_out, *notes, *more), tensors.files
    return module


def _need_onnx() -> None:
    if find_spec("onnx") is None:
        raise MissingPackage("reading ONNX models needs the package 'onnx'", hint="pip install 'transload[onnx]'")


def _parse(source: Source) -> tuple[Any, RawData]:
    """The model without its large weights, and those weights."""
    from google.protobuf.message import DecodeError
    from onnx import ModelProto

    text, raw = cut_out_raw_data(source.data)
    model = ModelProto()
    try:
        model.ParseFromString(bytes(text))
    except (DecodeError, RuntimeError, ValueError) as error:
        if "MaxDepth" in str(error):
            raise ReadError(f"{source.name}: its graphs lie in each other deeper than protocol buffers are read, 100 messages",
                            hint="let fewer If, Loop and Scan hold each other: each level is three messages") from None
        raise ForeignContent(f"{source.name}: is not a protobuf message of an ONNX model: {error}", hint=_DAMAGED) from None
    if not model.HasField("graph") or not (model.graph.node or model.graph.output):
        raise ForeignContent(f"{source.name}: has no graph", hint=_DAMAGED)
    if raw and len(model.graph.initializer) <= max(raw):
        raise ReadError(f"{source.name}: its weights are not where its index says", hint=_DAMAGED)
    if not all(isinstance(text, str) for text in _texts(model)):
        raise ReadError(f"{source.name}: holds a name that is not UTF-8 text", hint=_DAMAGED)
    return model, raw


def _texts(model: Any) -> Iterator[Any]:
    """The names in a model that mean something here. The parser gives those that are not UTF-8 as bytes."""
    for entry in (*model.opset_import, *model.functions):
        yield entry.domain
    for function in model.functions:
        yield from (function.name, *function.input, *function.output)
        yield from _texts_of_nodes(function.node)
    for info in model.graph.input:
        yield from (dim.dim_param for dim in info.type.tensor_type.shape.dim)
    yield from _texts_of_graph(model.graph)


def _texts_of_graph(graph: Any) -> Iterator[Any]:
    for group in (graph.input, graph.output, graph.value_info, graph.initializer):
        yield from (item.name for item in group)
    yield from (sparse.values.name for sparse in graph.sparse_initializer)
    yield from _texts_of_nodes(graph.node)


def _texts_of_nodes(nodes: Any) -> Iterator[Any]:
    for node in nodes:
        yield from (node.op_type, node.domain, node.name)
        yield from node.input
        yield from node.output
        for attribute in node.attribute:
            yield from (attribute.name, attribute.ref_attr_name)
            for graph in _graphs_of(attribute):
                yield from _texts_of_graph(graph)


def _graphs_of(attribute: Any) -> Any:
    """The subgraphs that an attribute holds."""
    return [attribute.g] if attribute.type == 5 else attribute.graphs


def _opsets(model: Any, where: str) -> dict[str, int]:
    """Opset version by domain; ONNX's own domain is `ai.onnx` here."""
    from onnx import defs

    opsets = {entry.domain or "ai.onnx": entry.version for entry in model.opset_import}
    if "ai.onnx" not in opsets:
        # A model of other domains alone; files before IR version 3 have no opset at all and mean 1.
        opsets["ai.onnx"] = defs.onnx_opset_version() if model.opset_import else 1
    newest = defs.onnx_opset_version()
    if not 1 <= opsets["ai.onnx"] <= newest:
        raise ReadError(
            f"{where}: uses ONNX opset {opsets['ai.onnx']}; the installed package 'onnx' knows 1 to {newest}",
            hint="install a newer one: pip install -U onnx")
    return opsets


def _upgrade(model: Any, opset: int, source: Source) -> Any:
    """A model older than what is read, brought up by ONNX's own converter (which needs all its weights)."""
    from onnx import ModelProto

    try:
        return ModelProto.FromString(ONNX.call(f"{_PROCESS}:upgraded", source.data, FIRST_OPSET + 1, about=0))
    except TransloadError as error:
        raise ReadError(
            f"{source.name}: uses ONNX opset {opset}, older than {FIRST_OPSET}, and ONNX's converter cannot bring it up: "
            f"{_reason(error, model)}",
            hint="export the model anew with a newer opset") from None


def _reason(error: TransloadError, model: Any) -> str:
    """Why ONNX's converter gave up: operators that it does not know, else its own words without the place in its source."""
    from onnx import defs

    names = {node.op_type for node in _all_nodes(model.graph.node) if node.domain in ("", "ai.onnx")}
    if unknown := sorted(name for name in names if not defs.has(name)):
        return f"ONNX has no operator {', '.join(unknown)}"
    said = next(reversed(error.message.strip().splitlines()), "")
    return re.sub(r"^(\w+: )?\S+:\d+: .*Assertion .* failed: ", "", said) or str(error)


def _is_standard(function: Any, model: Any) -> bool:
    """Whether a function has the name of an operator of ONNX's own, which onnxruntime and ONNX's reference take in its place."""
    version = max((entry.version for entry in model.opset_import if entry.domain in _OWN), default=0)
    return function.domain in _OWN and not function.overload and schema_of(function.name, version) is not None


_OWN = ("", "ai.onnx")
"""The names of ONNX's own domain."""


def _inline_functions(model: Any, where: str) -> Any:
    from onnx import ModelProto

    own = [function for function in model.functions if not _is_standard(function, model)]
    if len(own) < len(model.functions):
        del model.functions[:]
        model.functions.extend(own)
        if not own:
            return model
    _refuse_endless_functions(model, where)
    try:
        inlined = ModelProto.FromString(ONNX.call(f"{_PROCESS}:inlined", model.SerializeToString(), about=0))
    except TransloadError as error:
        raise ReadError(f"{where}: the model's functions cannot be inlined: {error.message[:300]}") from None
    for function in inlined.functions:  # in which operators are others than in the model: they are read as they are
        version = _opsets(function, f"{where}: function {function.name!r}")["ai.onnx"]
        if version < FIRST_OPSET:
            raise ReadError(f"{where}: function {function.name!r} is written in opset {version}, older than {FIRST_OPSET}",
                            hint="export the model anew with a newer opset")
    return inlined


def _refuse_endless_functions(model: Any, where: str) -> None:
    """Functions that call themselves would be inlined without end; those that each call the next twice, nearly so.

    Each call becomes the nodes of the function, with all that is in them: long names are copied for each, and constants.
    """
    calls = {(f.domain, f.name, f.overload): Counter(map(_call_of, _all_nodes(f.node))) for f in model.functions}
    own = {(f.domain, f.name, f.overload): _own_size(f) for f in model.functions}
    sizes: dict[tuple[str, str, str], _Size] = {}  # of functions, with all that they call inlined
    operator = _Size(1, 0, 0)

    def added(inner: Counter[tuple[str, str, str]], first: _Size) -> _Size:
        each = [(sizes.get(key, operator), count) for key, count in inner.items()]
        return _Size(*(start + sum(size[which] * count for size, count in each) for which, start in enumerate(first)))

    try:
        for key in TopologicalSorter({key: inner.keys() & calls.keys() for key, inner in calls.items()}).static_order():
            sizes[key] = added(calls[key], own[key])
    except CycleError as error:
        raise ReadError(f"{where}: function {error.args[1][0][1]!r} calls itself") from None
    total = added(Counter(map(_call_of, _all_nodes(model.graph.node))), _Size(0, 0, 0))
    most, size = allowance(), model.ByteSize()
    if total.nodes > most.ops:
        raise ReadError(
            f"{where}: with its functions inlined the model has {total.nodes:,} nodes and calls, and {most.ops:,} may be made",
            hint=f"{VARIABLE}=ops={4 * total.nodes} allows more")
    why, hint = text_fault(total.text, size)
    if why:
        raise ReadError(f"{where}: with its functions inlined, {why}", hint=hint)
    room = max(most.grown, 4 * size)
    if total.constants > room:
        raise ReadError(
            f"{where}: with its functions inlined, their constants are {total.constants:,} bytes, and {room:,} are the limit",
            hint=f"give functions what they share as an input; {VARIABLE}=grown={total.constants} allows more")


class _Size(NamedTuple):
    """What a function becomes where it is called: nodes, bytes of names and attributes, and bytes of constants."""

    nodes: int
    text: int
    constants: int


def _own_size(function: Any) -> _Size:
    """What is in a function itself. Its nodes are counted where they are called; a call counts as one itself."""
    constants = 0
    for node in _all_nodes(function.node):
        for attribute in node.attribute:
            inner = [tensor for graph in _graphs_of(attribute) for tensor in graph.initializer]
            for tensor in (attribute.t, attribute.sparse_tensor.values, *attribute.tensors, *inner):
                if not tensor.string_data:
                    constants += tensor.ByteSize() - len(tensor.name) - len(tensor.doc_string)
    return _Size(1, function.ByteSize() - constants, constants)


def _call_of(node: Any) -> tuple[str, str, str]:
    """What a node calls: domain, name and overload."""
    return node.domain, node.op_type, node.overload


def _all_nodes(nodes: Any) -> Any:
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in _graphs_of(attribute):
                yield from _all_nodes(graph.node)


def _forget_shapes(graph: Any) -> None:
    """Drop the shapes of values that were noted for other sizes of the inputs; inference finds them anew."""
    del graph.value_info[:]
    for info in graph.output:
        if info.type.WhichOneof("value") == "tensor_type":
            info.type.tensor_type.ClearField("shape")


def _is_told(model: Any) -> bool:
    """Whether a file says the sizes of all its values: inference adds what is missing, and takes what is there as it is."""
    graph = model.graph
    told = {info.name for group in (graph.value_info, graph.output, graph.input) for info in group if _is_static(info.type)}
    if model.functions or any(_graphs_of(attribute) for node in graph.node for attribute in node.attribute):
        return False  # values inside have types, too
    return all(name in told for node in graph.node for name in node.output if name)


def _is_static(type_: Any) -> bool:
    """Whether a type is that of a tensor of known elements and sizes."""
    if type_.WhichOneof("value") != "tensor_type" or not type_.tensor_type.elem_type or not type_.tensor_type.HasField("shape"):
        return False
    return all(dim.HasField("dim_value") and dim.dim_value >= 0 for dim in type_.tensor_type.shape.dim)


def _fits(model: Any, shapes: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether ONNX's inference finds no contradiction where the inputs have these shapes."""
    trial = type(model)()
    trial.CopyFrom(model)
    for info in trial.graph.input:
        if info.name in shapes:
            write_sizes(info.type.tensor_type, shapes[info.name])
    _forget_shapes(trial.graph)
    content = trial.SerializeToString()
    try:
        return bool(SHAPES.call(_STRICT, content, within=INFERENCE_SECONDS + len(content) / INFERENCE_SPEED, about=0))
    except TransloadError:
        return False


_MOST_OTHER = 16
"""How often shapes are inferred anew: as many as there are behind each other of sizes that inference finds otherwise."""


def _inferred(model: Any) -> Any:
    """The model with the shapes that ONNX's inference finds."""
    content = model.SerializeToString()
    within = INFERENCE_SECONDS + len(content) / INFERENCE_SPEED
    return type(model).FromString(SHAPES.call(_INFERENCE, content, within=within, about=0))


def _infer_types(model: Any) -> tuple[dict[str, Type], tuple[str, ...]]:
    from google.protobuf.message import DecodeError

    forget_other_sizes(model.graph)
    if _is_told(model):
        return types_of(model.graph), ()
    for name in _NEXT:
        import_module(name)
    notes: tuple[str, ...] = ()
    try:  # inference is a help, not a condition: legalization infers for itself
        known, own = _inferred(model), set[str]()
        for _ in range(_MOST_OTHER):
            if not write_other_sizes(model, known, own):
                break
            known = _inferred(model)
        _tell_inside(model.graph, known.graph)
        model = known
    except ChildEnded as error:
        notes = (f"{error.message} while it inferred shapes: they are those that the file gives",)
    except (TransloadError, DecodeError):
        pass  # the second: a type lies deeper than the graph that it is noted in, and may be deeper than is read
    return types_of(model.graph), notes


def _tell_inside(graph: Any, inferred: Any) -> None:
    """Note the types that inference found of values in subgraphs, of which the file says none, in these; none where it finds
    other sizes than the operators say."""
    for node, other in zip(graph.node, inferred.node, strict=False):
        for attribute, found in zip(node.attribute, other.attribute, strict=False):
            for inner, known in zip(_graphs_of(attribute), _graphs_of(found), strict=False):
                told = {info.name for group in (inner.value_info, inner.output, inner.input) for info in group}
                if not has_other_sizes(inner):
                    inner.value_info.extend(info for info in known.value_info if info.name not in told)
                _tell_inside(inner, known)


def _build(
    graph: Any, arguments: list[Any], types: dict[str, Type], opsets: dict[str, int], tensors: TensorReader, raw: RawData,
    functions: Mapping[tuple[str, str, str], Any],
) -> Module:
    module = new_module()
    module.attributes[OPSET] = opsets
    versions = {"" if domain == "ai.onnx" else domain: version for domain, version in opsets.items()}
    importer = GraphImporter(tensors, versions, functions=functions)
    importer.fresh.taken.update(_texts_of_graph(graph) if functions else ())
    names = [info.name for info in arguments]
    function: Op = module.add_function("main", [value_type(info.type) for info in arguments], names)
    block = function.regions[0].block
    scope = Scope(types=types)
    for name, argument in zip(names, block.arguments, strict=True):
        importer.define(name, argument, scope, "input")
    importer.initializers(graph, block, scope, raw)
    importer.nodes(graph.node, block, scope)
    outputs = [info.name for info in graph.output]
    values = importer.outputs(outputs, scope, "graph")
    importer.finish()
    set_results(function, values, outputs)
    findings = check(module, inferred=False)  # operands, attributes and subgraphs against ONNX's own schemas
    if findings:
        raise ReadError(f"{tensors.name}: the model's operators are not as ONNX defines them", findings)
    return module
