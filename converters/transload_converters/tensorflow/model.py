"""A graph with what it is given and gives, made a module: what readers of all forms of TensorFlow's files come to."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Any

from transload.errors import ReadError, UsageError
from transload.input_shapes import static_shapes
from transload.ir import BOOL, I32, NONE, Dense, IntAttr, Module, TensorType, Type, new_module, set_results
from transload.ir.verify import check

from .executor.importer import import_graph
from .graph import Importer, result_name
from .library import import_functions
from .nodes import CONTROL_FLOW, Edge, Graph, Node, Problems, op_def_of
from .tensors import Contents, Strings
from .types import STRING, sizes_of, tensor_of

__all__ = ["DAMAGED", "Borders", "Input", "Model"]

DAMAGED = "the file is damaged, was cut short, or is no model of TensorFlow"
_SCALARS_UNKNOWN = 24
"""Producers of graphs before this version wrote the shape of a scalar where they knew none."""
_NO_OUTPUTS = frozenset({
    "NoOp", "Const", "Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "Assert", "Print", "PrintV2", "VarHandleOp",
    "Variable", "VariableV2", "SaveV2", "Assign", "AssignVariableOp", "ScalarSummary", "HistogramSummary", "ImageSummary",
    "MergeSummary", "AudioSummaryV2", "AudioSummary", "MergeV2Checkpoints"})
"""Ops whose results are no outputs of a graph where nothing uses them."""

_TRAINING = frozenset({"training", "is_training", "train", "train_mode", "phase_train", "keras_learning_phase"})
"""What placeholders are called that say whether a model is trained."""


@dataclass(frozen=True)
class Input:
    """An input: the result of a node that is given in its place, and its sizes; None: not even the rank is known."""

    edge: Edge
    sizes: list[int | None] | None


@dataclass
class Borders:
    """What a graph is given and what it gives, by the names that users have for them."""

    inputs: dict[str, Input]
    outputs: dict[str, Edge]


@dataclass
class Model:
    """A `GraphDef`, and what else a file says of it.

    borders: inputs and outputs by the graph, where the file says them; else they are found (`frozen_borders`).
    variables: the value of a variable by the name of its node, where it has one; constants: those that other files hold.
    """

    graph_def: Any
    contents: Contents
    borders: Callable[[Graph], Borders] | None = None
    variables: Callable[[Graph], Mapping[str, Dense | Strings]] | None = None
    constants: Mapping[str, Strings] = field(default_factory=dict)

    def bordered(self, wanted: Container[str]) -> tuple[Graph, Borders]:
        """The graph, and what it is given and gives. Raises `ReadError` for one that is not valid."""
        problems = Problems(self.contents.name)
        functions = {entry.signature.name: op_def_of(entry.signature) for entry in self.graph_def.library.function}
        graph = Graph(self.graph_def.node, problems, functions)
        problems.refuse()
        if self.borders is not None:
            return graph, self.borders(graph)
        return graph, frozen_borders(graph, self.graph_def.versions.producer, wanted, self.contents.name)

    def module(self, wanted: Mapping[str, TensorType]) -> Module:
        """The module. Raises `ReadError` for what is not valid, `UsageError` where the wanted inputs do not fit."""
        name, library = self.contents.name, {entry.signature.name: entry for entry in self.graph_def.library.function}
        graph, borders = self.bordered(wanted)
        problems, producer = graph.problems, self.graph_def.versions.producer
        fed = {each.edge[0] for each in borders.inputs.values()}
        needed = graph.needed((edge[0] for edge in borders.outputs.values()), fed)
        used = {key: each for key, each in borders.inputs.items() if self.borders is not None or each.edge[0] in needed}
        elements = {key: graph.nodes[each.edge[0]].elements[each.edge[1]] for key, each in used.items()}
        types, notes = _input_types(used, elements, wanted, name)
        module = new_module()
        module.attributes["tf.versions"] = {"producer": IntAttr(producer, I32)}
        main = module.add_function("main", list(types.values()), list(types))
        block = main.regions[0].block
        values = {each.edge: argument for each, argument in zip(used.values(), block.arguments, strict=True)}
        importer = Importer(self.contents, problems, self.variables(graph) if self.variables else {}, self.constants)
        importer.switched_off = switches_of_training(graph) & needed - set(fed)
        nodes, outputs = graph.ordered(needed - {edge[0] for edge in values}), list(borders.outputs.values())
        if any(node.op in CONTROL_FLOW for node in nodes):
            results = block.append(import_graph(importer, nodes, values, outputs, graph)).results
        else:
            importer.nodes(nodes, block, values, graph)
            results = [values[edge] for edge in outputs]
        set_results(main, results, list(borders.outputs))
        import_functions(module, importer, library, graph.functions)
        problems.refuse()
        module.notes = notes
        if off := sorted(importer.switched_off):
            module.notes += (f"{', '.join(off)}: false, since this is no training; --shape {off[0]}:scalar makes it an input",)
        if findings := check(module):
            raise ReadError(f"{name}: the model's ops are not as TensorFlow defines them", findings)
        return module


def switches_of_training(graph: Graph) -> set[str]:
    """The placeholders that say whether a model is trained, where they have a default: it may be that it is."""
    return {
        name for name, node in graph.nodes.items()
        if node.op == "PlaceholderWithDefault" and node.elements == [BOOL] and name.rpartition("/")[2] in _TRAINING}


def frozen_borders(graph: Graph, producer: int, wanted: Container[str], where: str) -> Borders:
    """The borders of a graph that does not say them: it is given its placeholders, and gives what nothing in it uses."""
    uses = graph.uses()
    outputs = [
        (node.name, index) for node in graph.nodes.values()
        if not uses[node.name] and node.op not in _NO_OUTPUTS and not _is_saver(graph, node)
        for index in range(len(node.elements))]
    if not outputs:
        raise ReadError(f"{where}: the graph computes nothing that it gives out", hint=DAMAGED)
    inputs = {
        name: Input((name, 0), _declared_sizes(node, producer)) for name, node in graph.nodes.items()
        if _is_fed(graph, node, wanted)}
    return Borders(inputs, {result_name(edge): edge for edge in outputs})


def _is_saver(graph: Graph, node: Node) -> bool:
    """Whether a node says that a checkpoint is written or read."""
    return node.elements == [STRING] and any(
        graph.nodes[name].op in ("SaveV2", "RestoreV2") for name in graph.needed([node.name]))


def _is_fed(graph: Graph, node: Node, wanted: Container[str]) -> bool:
    """Whether a node is an input: a placeholder, or whatever the user speaks of as an input.

    A placeholder with a default is one where its default is not to be had from the graph alone (an iterator over a data set).
    """
    if node.op in ("Placeholder", "PlaceholderV2") or (node.name in wanted and len(node.elements) == 1):
        return True
    return node.op == "PlaceholderWithDefault" and not _is_constant(graph, node)


def _is_constant(graph: Graph, node: Node) -> bool:
    """Whether a node hands on a constant."""
    for _ in graph.nodes:
        if node.op == "Const":
            return True
        if node.op not in ("Identity", "PlaceholderWithDefault") or not node.inputs or node.inputs[0][0] not in graph.nodes:
            return False
        node = graph.nodes[node.inputs[0][0]]
    return False


def _input_types(
    inputs: Mapping[str, Input], elements: Mapping[str, Type], wanted: Mapping[str, TensorType], where: str,
) -> tuple[dict[str, TensorType], tuple[str, ...]]:
    """The types of inputs, made static, by name, and what was chosen that nobody said."""
    for name, type_ in wanted.items():
        if name in elements and type_.element not in (NONE, elements[name]):
            raise UsageError(f"{where}: input {name!r} has elements {elements[name]}, not {type_.element}")
    given = {name: type_.shape for name, type_ in wanted.items() if type_.shape is not None}
    found = static_shapes({name: each.sizes for name, each in inputs.items()}, given, where)
    return {name: tensor_of(elements[name], shape) for name, shape in found.shapes.items()}, found.notes


def _declared_sizes(node: Node, producer: int) -> list[int | None] | None:
    if "shape" not in node.attributes:
        return None  # it has no such attribute in old graphs, and elsewhere where it is no placeholder
    sizes = sizes_of(node.attributes["shape"].shape)
    if sizes is None or (not sizes and producer < _SCALARS_UNKNOWN):
        return None
    return list(sizes)
