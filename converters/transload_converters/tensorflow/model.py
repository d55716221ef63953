"""A graph with what it is given and gives, made a module: what readers of all forms of TensorFlow's files come to."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from transload.errors import Finding, ReadError, UsageError
from transload.extraction import names_among
from transload.input_shapes import static_shapes
from transload.ir import (
    BOOL,
    I32,
    NONE,
    Block,
    Dense,
    IntAttr,
    Module,
    Op,
    TensorType,
    Type,
    Value,
    new_module,
    set_results,
    update_function_type,
)
from transload.ir.verify import check
from transload.shell import quoted

from .executor.dialect import data_of
from .executor.importer import import_graph
from .executor.parts import surfaced
from .graph import Importer, result_name
from .library import import_functions
from .likely import likely_shape
from .nodes import CONTROL_FLOW, VARIABLES, Edge, Graph, Node, Problems, op_def_of
from .tensors import Contents, Strings
from .texts import LOOKED_UP, unneeded
from .types import RESOURCE, STRING, VARIANT, sizes_of, tensor_of

__all__ = ["DAMAGED", "Borders", "Input", "Model"]

DAMAGED = "the file is damaged, was cut short, or is no model of TensorFlow"
_SCALARS_UNKNOWN = 24
"""Producers of graphs before this version wrote the shape of a scalar where they knew none."""
_NO_OUTPUTS = frozenset({
    "NoOp", "Const", "Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "Assert", "Print", "PrintV2", "VarHandleOp",
    "Variable", "VariableV2", "VarIsInitializedOp", "IsVariableInitialized", "SaveV2", "Assign", "AssignVariableOp",
    "ScalarSummary", "HistogramSummary", "ImageSummary", "MergeSummary", "AudioSummaryV2", "AudioSummary", "MergeV2Checkpoints"})
"""Ops whose results are no outputs of a graph where nothing uses them."""

_READS_TEXTS = ("tf.Decode", "tf.Parse", "tf.StringTo", "tf.StringLength", "tf.LookupTable")
"""What the names of ops begin with that make numbers of texts."""
_TRAINING = frozenset({"training", "is_training", "train", "train_mode", "phase_train", "keras_learning_phase"})
"""What placeholders are called that say whether a model is trained."""
_KEPT = "it works on what is kept between runs, as a variable is, and is not part of the graph"
"""Why an op of a variable, or of another resource, that the graph is given is none that can be computed."""


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
    inner: list[str] = field(default_factory=list)
    """Those of the inputs that are tensors within the graph, given in place of what computes them."""


@dataclass
class Model:
    """A `GraphDef`, and what else a file says of it.

    borders: inputs and outputs by the graph, where the file says them; else they are found (`frozen_borders`).
    outputs: the tensors that are asked for in place of the outputs, where the graph has them; what only others need goes.
    variables: the value of a variable by the name of its node, where it has one; constants: those that other files hold.
    """

    graph_def: Any
    contents: Contents
    borders: Callable[[Graph], Borders] | None = None
    outputs: Sequence[str] = ()
    variables: Callable[[Graph], Mapping[str, Dense | Strings]] | None = None
    constants: Mapping[str, Strings] = field(default_factory=dict)

    def bordered(self, wanted: Iterable[str]) -> tuple[Graph, Borders]:
        """The graph, and what it is given and gives. Raises `ReadError` for one that is not valid."""
        problems = Problems(self.contents.name)
        functions = {entry.signature.name: op_def_of(entry.signature) for entry in self.graph_def.library.function}
        graph = Graph(self.graph_def.node, problems, functions)
        problems.refuse()
        if self.borders is not None:
            borders = self.borders(graph)
        else:
            borders = frozen_borders(graph, self.graph_def.versions.producer, self.contents.name)
        for name in wanted:
            edge = graph.edge(name)
            if name not in borders.inputs and edge is not None and _can_be_given(graph, edge):
                borders.inputs[name] = Input(edge, _declared_sizes(graph.nodes[edge[0]], self.graph_def.versions.producer))
                borders.inner.append(name)
        self._narrow(graph, borders)
        return graph, borders

    def _narrow(self, graph: Graph, borders: Borders) -> None:
        """Leave what computes the tensors that are asked for, where all of them are there."""
        asked = _Asked(graph, borders)
        names = names_among(self.outputs, asked)
        if names and all(name in asked for name in names):
            borders.outputs = {name: asked[name] for name in names}

    def module(self, wanted: Mapping[str, TensorType]) -> Module:
        """The module. Raises `ReadError` for what is not valid, `UsageError` where the wanted inputs do not fit."""
        name, library = self.contents.name, {entry.signature.name: entry for entry in self.graph_def.library.function}
        graph, borders = self.bordered(wanted)
        problems, producer = graph.problems, self.graph_def.versions.producer
        fed = {each.edge for each in borders.inputs.values()}
        needed = graph.needed(_roots(borders, fed), fed)
        taken = {edge for node in needed for edge in graph.nodes[node].inputs} | set(borders.outputs.values())
        used = {key: each for key, each in borders.inputs.items()
                if self.borders is not None or each.edge in taken or key in wanted}
        elements = {key: graph.nodes[each.edge[0]].elements[each.edge[1]] for key, each in used.items()}
        module = new_module()
        module.attributes["tf.versions"] = {"producer": IntAttr(producer, I32)}
        main = module.add_function("main", list(map(tensor_of, elements.values())), list(used))
        block = main.regions[0].block
        values = {each.edge: argument for each, argument in zip(used.values(), block.arguments, strict=True)}
        importer = Importer(self.contents, problems, self.variables(graph) if self.variables else {}, self.constants)
        importer.switched_off = switches_of_training(graph) & needed
        nodes, outputs = graph.ordered(needed), list(borders.outputs.values())
        if any(node.op in CONTROL_FLOW for node in nodes):
            results = self._executed(block.append(import_graph(importer, nodes, values, outputs, graph)))
        else:
            importer.nodes(nodes, block, values, graph)
            results = [values[edge] for edge in outputs]
        set_results(main, results, list(borders.outputs))
        import_functions(module, importer, library, graph.functions)
        problems.refuse()
        module, notes = self._with_types(module, graph, used, elements, wanted, bool(self.outputs or borders.inner))
        module.notes = notes
        if off := sorted(importer.switched_off):
            module.notes += (
                f"{', '.join(off)}: false, since this is no training; --shape {quoted(off[0] + ':scalar')} makes it an input",)
        if findings := check(module, inferred=False):
            raise ReadError(f"{name}: the model's ops are not as TensorFlow defines them", findings)
        return module


    def _with_types(
        self, module: Module, graph: Graph, inputs: Mapping[str, Input], elements: Mapping[str, Type],
        wanted: Mapping[str, TensorType], is_cut: bool,
    ) -> tuple[Module, tuple[str, ...]]:
        """The module with static inputs, and what was chosen that nobody said; those go that a cut leaves over, and texts."""
        block, keys = module.body_of_main, list(inputs)
        over = {place for place, key in enumerate(keys) if is_cut and not block.arguments[place].uses and key not in wanted}
        texts = [place for place, key in enumerate(keys) if elements[key] == STRING and place not in over]
        left_out, module = unneeded(module, texts)
        block = module.body_of_main
        self._refuse_handles({keys[place]: block.arguments[place] for place in range(len(keys)) if place not in over | left_out})
        if needed := [keys[place] for place in texts if place not in left_out]:
            raise ReadError(
                f"{self.contents.name}: the model is given texts",
                [Finding(f"input {key!r}", "is a tensor of texts") for key in needed],
                f"give tensors behind the parsing in their place, --shape {quoted((_behind_texts(block) or 'NODE') + ':SIZES')}, "
                "or read a signature that takes numbers")
        left = {key: each for place, (key, each) in enumerate(inputs.items()) if place not in over | left_out}
        given = {key: each for key, each in wanted.items() if key not in {keys[place] for place in left_out}}
        types, notes = _input_types(left, elements, given, self.contents.name, partial(self._likely, graph, left))
        for place, key in reversed(list(enumerate(keys))):
            argument = block.arguments[place]
            if key in left:
                argument.type = types[key]
                continue
            block.erase_argument(place)
            del module.main.attributes["arg_attrs"][place]
        update_function_type(module.main)
        if named := ", ".join(repr(keys[place]) for place in sorted(left_out)):
            notes += (f"left out, as nothing needs its text: input {named}",)
        return module, notes

    def _refuse_handles(self, inputs: Mapping[str, Value]) -> None:
        """Refuse inputs that nobody can give, by what uses them: tables and variables whose place alone a frozen graph has."""
        handles = [value for value in inputs.values() if value.element_or_none in (RESOURCE, VARIANT)]
        users = dict.fromkeys(user for handle in handles for user in handle.uses)
        if users:
            first = next((user.origin for user in users if user.origin), "NODE")
            raise ReadError(
                f"{self.contents.name}: the model is given what is kept outside of its graph",
                [Finding(user.name, LOOKED_UP if "Lookup" in user.name else _KEPT, (user.origin or "",)) for user in users],
                f"give what such an op computes in its place, --shape {quoted(first + ':SIZES')}")

    def _likely(self, graph: Graph, inputs: Mapping[str, Input], name: str) -> tuple[int, ...]:
        """A shape that an input may have."""
        return likely_shape(graph, graph.uses(), inputs[name].edge, self.contents)

    def _executed(self, graph: Op) -> Sequence[Value]:
        """The results of a graph of the executor; of one that is cut, those of the part in which they lie."""
        if not self.outputs:
            return graph.results
        fetched = data_of(graph.regions[0].block.terminator)
        inside = [value for value in dict.fromkeys(fetched) if value.op is not None and value.op.parent is not graph.parent]
        found = dict(zip(inside, surfaced(graph, inside), strict=True))
        return [found.get(value, value) for value in fetched]


class _Asked(Mapping[str, Edge]):
    """The tensors of a graph that can be asked for: its outputs by their names, and whatever its nodes give."""

    def __init__(self, graph: Graph, borders: Borders) -> None:
        self.graph, self.borders = graph, borders

    def __getitem__(self, name: str) -> Edge:
        edge = self.borders.outputs.get(name) or self.graph.edge(name)
        if edge is None:
            raise KeyError(name)
        return edge

    def __iter__(self) -> Iterator[str]:
        return iter(self.borders.outputs)

    def __len__(self) -> int:
        return len(self.borders.outputs)


def _roots(borders: Borders, fed: Container[Edge]) -> list[str]:
    """The nodes that give the outputs, but for those that are given."""
    return [edge[0] for edge in borders.outputs.values() if edge not in fed]


def switches_of_training(graph: Graph) -> set[str]:
    """The placeholders that say whether a model is trained, where they have a default: it may be that it is."""
    return {
        name for name, node in graph.nodes.items()
        if node.op == "PlaceholderWithDefault" and node.elements == [BOOL] and name.rpartition("/")[2] in _TRAINING}


def frozen_borders(graph: Graph, producer: int, where: str) -> Borders:
    """The borders of a graph that does not say them: it is given its placeholders, and gives what nothing in it uses."""
    uses = graph.uses()
    outputs = [
        (node.name, index) for node in graph.nodes.values()
        if not uses[node.name] and node.op not in _NO_OUTPUTS and not _is_saver(graph, node)
        for index in range(len(node.elements))]
    outputs = [edge for edge in outputs if not _is_way(graph, graph.nodes[edge[0]])] or outputs
    if not outputs:
        raise ReadError(f"{where}: the graph computes nothing that it gives out", hint=DAMAGED)
    inputs = {
        name: Input((name, 0), _declared_sizes(node, producer)) for name, node in graph.nodes.items()
        if _is_placeholder(graph, node)}
    return Borders(inputs, {result_name(edge): edge for edge in outputs})


def _is_saver(graph: Graph, node: Node) -> bool:
    """Whether a node says that a checkpoint is written or read."""
    return node.elements == [STRING] and any(
        graph.nodes[name].op in ("SaveV2", "RestoreV2") for name in graph.needed([node.name]))


def _is_way(graph: Graph, node: Node) -> bool:
    """Whether a node is a way into a branch, or its name: conditionals have both, and where nothing takes them they are dead."""
    for _ in graph.nodes:
        if node.op in ("Switch", "RefSwitch"):
            return True
        if node.op != "Identity" or not node.inputs or node.inputs[0][0] not in graph.nodes:
            return False
        node = graph.nodes[node.inputs[0][0]]
    return False


def _is_placeholder(graph: Graph, node: Node) -> bool:
    """Whether a node is an input: a placeholder.

    One with a default is one where its default is not to be had from the graph alone (an iterator over a data set).
    """
    if node.op in ("Placeholder", "PlaceholderV2"):
        return True
    return node.op == "PlaceholderWithDefault" and not _is_constant(graph, node)


def _can_be_given(graph: Graph, edge: Edge) -> bool:
    """Whether a user can give a result of a node: one that is a tensor of numbers."""
    node = graph.nodes[edge[0]]
    return node.op not in VARIABLES and node.elements[edge[1]] not in (RESOURCE, VARIANT)


def _is_constant(graph: Graph, node: Node) -> bool:
    """Whether a node hands on a constant."""
    for _ in graph.nodes:
        if node.op == "Const":
            return True
        if node.op not in ("Identity", "PlaceholderWithDefault") or not node.inputs or node.inputs[0][0] not in graph.nodes:
            return False
        node = graph.nodes[node.inputs[0][0]]
    return False


def _behind_texts(block: Block) -> str:
    """The node that reads numbers out of the texts that are given, pictures and examples among them; '' where none is found."""
    pending = [argument for argument in block.arguments if argument.element_or_none == STRING]
    seen = set(pending)
    while pending:
        for user in pending.pop(0).uses:
            if user.name.startswith(_READS_TEXTS):
                return user.origin or ""
            found = [result for result in user.results if result not in seen and result.element_or_none == STRING]
            seen.update(found)
            pending += found
    return ""


def _input_types(
    inputs: Mapping[str, Input], elements: Mapping[str, Type], wanted: Mapping[str, TensorType], where: str,
    likely: Callable[[str], Sequence[int]],
) -> tuple[dict[str, TensorType], tuple[str, ...]]:
    """The types of inputs, made static, by name, and what was chosen that nobody said."""
    for name, type_ in wanted.items():
        if name in elements and type_.element not in (NONE, elements[name]):
            raise UsageError(f"{where}: input {name!r} has elements {elements[name]}, not {type_.element}")
    given = {name: type_.shape for name, type_ in wanted.items() if type_.shape is not None}
    found = static_shapes({name: each.sizes for name, each in inputs.items()}, given, where, likely)
    return {name: tensor_of(elements[name], shape) for name, shape in found.shapes.items()}, found.notes


def _declared_sizes(node: Node, producer: int) -> list[int | None] | None:
    if "shape" not in node.attributes:
        return None  # it has no such attribute in old graphs, and elsewhere where it is no placeholder
    sizes = sizes_of(node.attributes["shape"].shape)
    if sizes is None or (not sizes and producer < _SCALARS_UNKNOWN):
        return None
    return list(sizes)
