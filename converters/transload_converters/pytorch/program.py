"""A program of torch.export, as the JSON in the archive says it: graphs, nodes and their arguments, tensors, the signature.

Source: PyTorch, torch/_export/serde/schema.py, major version 8. What is read is checked as it is read: the file is hostile.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from transload.errors import ReadError
from transload.ir import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, UI8, UI16, UI32, UI64, ComplexType, FloatType, Type
from transload.json_text import values_of_json

from .archive import OLD_PROGRAM, Archive
from .payload import Payload, TensorMeta
from .storages import payloads_of
from .symbols import Expression, parse

__all__ = ["ELEMENTS", "Graph", "Json", "Node", "Payload", "Program", "Ref", "Spec", "Sym", "TensorMeta", "read_program"]

ELEMENTS: dict[int, Type] = {
    1: UI8, 2: I8, 3: I16, 4: I32, 5: I64, 6: F16, 7: F32, 8: F64, 10: ComplexType(F32), 11: ComplexType(F64), 12: BOOL, 13: BF16,
    28: UI16, 29: FloatType("f8E4M3FN"), 30: FloatType("f8E5M2"), 31: FloatType("f8E4M3FNUZ"), 32: FloatType("f8E5M2FNUZ"),
    33: FloatType("f8E8M0FNU"), 34: UI32, 35: UI64,
}
"""Element types by `ScalarType`'s numbers in the schema."""

MAJORS = range(2, 9)
"""The major versions of the schema that are read: of PyTorch 2.2 to 2.7 in old archives, of 2.8 and later in new ones."""
WRITTEN_BY = {1: "PyTorch 2.1", 2: "PyTorch 2.2", 3: "PyTorch 2.3", 4: "PyTorch 2.3", 5: "PyTorch 2.4", 6: "PyTorch 2.5",
              7: "PyTorch 2.5", 8: "PyTorch 2.6 or later"}
MAX_DEPTH = 32
"""How deep graphs may lie in each other."""
_STRIDED = 7
_TENSORS = {"parameter", "buffer", "tensor_constant", "buffer_mutation", "parameter_mutation", "user_input_mutation"}
"""Inputs and outputs of a program that are always tensors."""
_SELF = re.compile(r"^L\['\w+'\]\.?")
"""How paths of modules begin before PyTorch 2.5."""
_NUMBERS = {"Infinity": float("inf"), "-Infinity": float("-inf"), "NaN": float("nan")}


@dataclass(frozen=True)
class Ref:
    """A tensor, by its name in the graph."""

    name: str


@dataclass(frozen=True)
class Sym:
    """A number that is computed from sizes, by its name in the graph."""

    name: str


class _Omitted:
    """What says where a tensor lies in memory, and on which device."""


OMITTED = _Omitted()


@dataclass
class Node:
    """A call of an operator. `inputs` are arguments with their names, `path` is the module that calls it."""

    target: str
    name: str
    inputs: list[tuple[str, Any]]
    outputs: list[Any]
    path: str


@dataclass
class Graph:
    """Nodes in order, what they are given and give, the types of the tensors in it and the sizes computed in it."""

    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    tensors: dict[str, TensorMeta] = field(default_factory=dict)
    sizes: dict[str, float | Expression] = field(default_factory=dict)


@dataclass(frozen=True)
class Spec:
    """What an input or output of the program is: its `kind` in the schema, the `value` in the graph, and the `target` it is
    for."""

    kind: str
    value: Any
    target: str = ""


@dataclass
class Program:
    """All of it. `ranges` has the least and greatest value of each symbol, `payloads` the tensors by name, weights and
    constants."""

    graph: Graph
    inputs: list[Spec]
    outputs: list[Spec]
    ranges: dict[str, tuple[int | None, int | None]]
    payloads: dict[str, Payload]
    output_names: list[str | None]


class Json:
    """A place in a JSON document, which says of itself where it is when something else is there than should be."""

    __slots__ = ("path", "value", "where")

    def __init__(self, value: Any, where: str, path: str) -> None:
        self.value, self.where, self.path = value, where, path

    def wrong(self, wanted: str) -> ReadError:
        return ReadError(
            f"{self.where}: {self.path or 'the document'} must be {wanted}, and is {json.dumps(self.value)[:80]}",
            hint="the file is damaged, or of a version of torch.export that is not known")

    def of(self, kind: type | tuple[type, ...], wanted: str) -> Any:
        if not isinstance(self.value, kind) or (isinstance(self.value, bool) and kind is int):
            raise self.wrong(wanted)
        return self.value

    def text(self) -> str:
        found: str = self.of(str, "text")
        return found

    def integer(self) -> int:
        found: int = self.of(int, "a whole number")
        if not -(1 << 63) <= found < 1 << 63:
            raise self.wrong("a number of 64 bits")
        return found

    def real(self) -> float:
        """A number as a float. Of integers JSON has greater ones; what is not finite is a text of the schema's, too."""
        if isinstance(self.value, str) and self.value in _NUMBERS:
            return _NUMBERS[self.value]
        if isinstance(self.value, bool):
            raise self.wrong("a number")
        try:
            return float(self.of((int, float), "a number"))
        except OverflowError:
            raise self.wrong("a number that a float holds") from None

    def __getitem__(self, key: str) -> Json:
        mapping = self.of(dict, "a dictionary")
        if key not in mapping:
            raise self.wrong(f"a dictionary with {key!r}")
        return Json(mapping[key], self.where, f"{self.path}.{key}")

    def get(self, key: str) -> Json | None:
        """What is under a key; None where nothing is."""
        found = self.of(dict, "a dictionary").get(key)
        return None if found is None else Json(found, self.where, f"{self.path}.{key}")

    def each(self) -> list[Json]:
        return [Json(value, self.where, f"{self.path}[{i}]") for i, value in enumerate(self.of(list, "a list"))]

    def items(self) -> list[tuple[str, Json]]:
        return [(key, Json(value, self.where, f"{self.path}.{key}")) for key, value in self.of(dict, "a dictionary").items()]

    def choice(self) -> tuple[str, Json]:
        """The one alternative of a union."""
        every = self.items()
        chosen = [(key, value) for key, value in every if value.value is not None and key != "as_none"]
        chosen = chosen or [(key, value) for key, value in every if key == "as_none"]  # before 2.3 all are there, with nulls
        if len(chosen) != 1:
            raise self.wrong("one of several alternatives")
        return chosen[0]


def document_of(archive: Archive, name: str) -> Json:
    """The JSON document in a member. Raises `ReadError` for what is none, is nested without end, or is too much."""
    try:
        return Json(values_of_json(archive.text(name), archive.size), archive.where, name)
    except ValueError as error:
        raise ReadError(f"{archive.where}: {name} cannot be read as JSON: {error}",
                        hint="the file is damaged or was cut short") from None


def read_program(archive: Archive) -> Program:
    """The program of an archive. Raises `ReadError` for what is wrong with it, and for programs of other versions."""
    member = OLD_PROGRAM if archive.is_old else _only_model(archive)
    document = document_of(archive, member)
    version = document["schema_version"]
    major = version.integer() if isinstance(version.value, int) else version["major"].integer()
    if major not in (MAJORS if archive.is_old else (MAJORS[-1],)):
        by = WRITTEN_BY.get(major, "a newer PyTorch than is known here")
        archive.fail(f"is of version {major} of torch.export's schema, of {by}, and {MAJORS[0]} to {MAJORS[-1]} are read",
                     "export the network again, with PyTorch 2.8 or later")
    module = document["graph_module"]
    payloads = _old_payloads(archive) if archive.is_old else _new_payloads(
        archive, member.removeprefix("models/").removesuffix(".json"))
    signature = module["signature"]
    inputs = [_spec(entry) for entry in signature["input_specs"].each()]
    outputs = [_spec(entry) for entry in signature["output_specs"].each()]
    ranges = {name: (_bound(entry.get("min_val")), _bound(entry.get("max_val")))
              for name, entry in document["range_constraints"].items()}
    try:
        graph = _graph(module["graph"])
    except RecursionError:
        archive.fail("holds graphs nested without end")
    return Program(graph, inputs, outputs, ranges, payloads, _output_names(module))


def _only_model(archive: Archive) -> str:
    """The member with the program."""
    models = [name for name in archive.names if name.startswith("models/") and name.endswith(".json")]
    if len(models) != 1:
        archive.fail(f"holds {len(models)} programs, and one is read", "torch.export.save writes an archive of one")
    return models[0]


def _new_payloads(archive: Archive, model: str) -> dict[str, Payload]:
    """The tensors of an archive, each in a member of its own."""
    payloads = {}
    for kind in ("weights", "constants"):
        config = f"data/{kind}/{model}_{kind}_config.json"
        if config in archive.names:
            payloads.update(_payloads(document_of(archive, config), f"data/{kind}/"))
    return payloads


def _old_payloads(archive: Archive) -> dict[str, Payload]:
    """The tensors of an archive from before PyTorch 2.8."""
    payloads = {}
    for kind in ("state_dict", "constants"):
        for member in (f"serialized_{kind}.pt", f"serialized_{kind}.json"):
            if member in archive.names and len(archive.view(member)):
                payloads.update(payloads_of(archive.inside(member)))
    return payloads


def _bound(entry: Json | None) -> int | None:
    return None if entry is None else entry.integer()


def _payloads(config: Json, folder: str) -> dict[str, Payload]:
    found = {}
    for name, entry in config["config"].items():
        pickled = entry.get("use_pickle")
        meta = entry.get("tensor_meta")
        if (pickled is not None and pickled.value is not False) or meta is None:
            raise ReadError(
                f"{entry.where}: {name!r} is kept as a pickle, which may run code when it is loaded, and is not read",
                hint="it is no ordinary tensor: export the network without custom objects and tensor subclasses")
        found[name] = Payload(folder + entry["path_name"].text(), _meta(meta))
    return found


_COMPLEX_OF_HALVES = 9


def _element(entry: Json) -> Type:
    number = entry.integer()
    if number == _COMPLEX_OF_HALVES:
        raise ReadError(f"{entry.where}: {entry.path} is complex32, complex numbers of halves, which are not read",
                        hint="compute in complex64: make floats of halves first")
    element = ELEMENTS.get(number)
    if element is None:
        raise entry.wrong("the number of an element type that holds numbers")
    return element


def _meta(entry: Json) -> TensorMeta:
    element = _element(entry["dtype"])
    if entry["layout"].integer() != _STRIDED:
        raise entry["layout"].wrong(f"{_STRIDED}, of a dense tensor")
    sizes, strides = (tuple(map(_size, entry[key].each())) for key in ("sizes", "strides"))
    if len(sizes) != len(strides) or len(sizes) > 64:
        raise entry.wrong("a tensor with as many strides as sizes, of at most 64 dimensions")
    if any(isinstance(size, int) and size < 0 for size in sizes):
        raise entry["sizes"].wrong("sizes that are not negative")
    offset = entry["storage_offset"]
    return TensorMeta(element, sizes, strides, offset.integer() if isinstance(offset.value, int) else _size(offset))


def _size(entry: Json) -> int | Expression:
    kind, value = entry.choice()
    if kind == "as_int":
        return value.integer()
    if kind == "as_bool":
        return int(value.of(bool, "true or false"))
    if kind != "as_expr":
        raise entry.wrong("a size")
    try:
        return parse(value["expr_str"].text())
    except ValueError as error:
        raise ReadError(f"{entry.where}: {entry.path}: {error}") from None


def _graph(entry: Json, depth: int = 0) -> Graph:
    if depth > MAX_DEPTH:
        raise ReadError(f"{entry.where}: graphs are nested more than {MAX_DEPTH} deep")
    sizes: dict[str, float | Expression] = {}
    for key in ("sym_int_values", "sym_bool_values", "sym_float_values"):
        values = entry.get(key)
        for name, value in () if values is None else values.items():
            kind, number = value.choice()
            sizes[name] = number.real() if kind == "as_float" else _size(value)
    return Graph(
        [_argument(each, depth) for each in entry["inputs"].each()], [_argument(each, depth) for each in entry["outputs"].each()],
        [_node(each, depth) for each in entry["nodes"].each()],
        {name: _meta(meta) for name, meta in entry["tensor_values"].items()}, sizes)


def _node(entry: Json, depth: int) -> Node:
    metadata: Mapping[str, Any] = entry["metadata"].of(dict, "a dictionary")
    outputs = [_argument(each, depth) for each in entry["outputs"].each()]
    given = entry.get("name")
    first = next((output.name for output in outputs if isinstance(output, Ref | Sym)), "")
    return Node(
        entry["target"].text(), first if given is None else given.text(),
        [(each["name"].text(), _argument(each["arg"], depth)) for each in entry["inputs"].each()], outputs,
        _module_path(metadata.get("nn_module_stack", "")))


def _module_path(stack: Any) -> str:
    """The innermost module of a stack `KEY,PATH,CLASS;...`: `layer1.0.conv1`."""
    if not isinstance(stack, str):
        return ""
    fields = stack.rpartition(";")[2].split(",")
    return _SELF.sub("", fields[1]) if len(fields) > 2 else ""


def _argument(entry: Json, depth: int) -> Any:
    """An argument as Python's value; of tensors and sizes their names."""
    kind, value = entry.choice()
    if kind == "as_none":
        return None
    if kind == "as_tensor":
        return Ref(value["name"].text())
    if kind in ("as_tensors", "as_nested_tensors"):
        return [Ref(each["name"].text()) for each in value.each()] if kind == "as_tensors" else _unknown(entry, kind)
    if kind in ("as_optional_tensors", "as_optional_tensor"):
        parts = value.each() if kind == "as_optional_tensors" else [value]
        found = [_argument(each, depth) for each in parts]
        return found if kind == "as_optional_tensors" else found[0]
    if kind in ("as_sym_int", "as_sym_float", "as_sym_bool"):
        return _symbolic(value)
    if kind in ("as_sym_ints", "as_sym_floats", "as_sym_bools"):
        return [_symbolic(each) for each in value.each()]
    if kind == "as_scalar_type":
        return _element(value)
    if kind in ("as_memory_format", "as_layout", "as_device"):
        return OMITTED
    if kind == "as_graph":
        return _graph(value["graph"], depth + 1)
    return _plain(entry, kind, value)


def _plain(entry: Json, kind: str, value: Json) -> Any:
    """An argument that is a number, a text, or a list of such."""
    if kind == "as_int":
        return value.integer()
    if kind == "as_float":
        return value.real()
    if kind == "as_bool":
        return value.of(bool, "true or false")
    if kind == "as_complex":
        return complex(value["real"].real(), value["imag"].real())
    if kind in ("as_string", "as_operator"):
        return value.text()
    if kind in ("as_ints", "as_floats", "as_bools", "as_strings"):
        return [_plain(entry, kind[:-1], each) for each in value.each()]
    return _unknown(entry, kind)


def _symbolic(entry: Json) -> Any:
    kind, value = entry.choice()
    if kind == "as_name":
        return Sym(value.text())
    if kind == "as_int":
        return value.integer()
    return value.of(bool, "true or false") if kind == "as_bool" else value.real()


def _unknown(entry: Json, kind: str) -> Any:
    raise ReadError(f"{entry.where}: {entry.path} is of a kind that is not read ({kind})")


def _spec(entry: Json) -> Spec:
    kind, value = entry.choice()
    if kind == "constant_input":
        return Spec(kind, None, value["name"].text())
    argument = value.get("arg")
    given = None if argument is None else argument
    target = next((value[key].text() for key in (
        "parameter_name", "buffer_name", "tensor_constant_name", "custom_obj_name",
        "user_input_name") if value.get(key) is not None), "")
    if given is None:
        raise entry.wrong("an input or output with an argument")
    made = Ref(given["name"].text()) if "name" in given.of(dict, "a dictionary") else _argument(given, 0)
    if kind in _TENSORS and not isinstance(made, Ref):
        raise given.wrong(f"a tensor, as the argument of a {kind}")
    return Spec(kind, made, target)


def _output_names(module: Json) -> list[str | None]:
    """The names of a program's outputs where it gives a dictionary: its keys. Empty where they are not known."""
    for entry in module["module_call_graph"].each():
        signature = entry.get("signature")
        if entry["fqn"].text() == "" and signature is not None:
            try:
                tree = values_of_json(signature["out_spec"].text(), 0)
                return _leaves(tree[1], None, 0)
            except (ValueError, TypeError, KeyError, IndexError, RecursionError, AttributeError):
                return []
    return []


def _leaves(tree: Any, name: str | None, depth: int) -> list[str | None]:
    """The leaves of a tree of containers, each by the keys that lead to it."""
    if depth > MAX_DEPTH:
        raise RecursionError
    children = tree["children_spec"]
    if tree["type"] is None:
        return [name]
    keys: list[Any] = [None] * len(children)
    if "dict" in str(tree["type"]).lower() or "output" in str(tree["type"]).lower():
        context = values_of_json(tree["context"], 0) if isinstance(tree["context"], str) else tree["context"]
        keys = context if isinstance(context, list) and len(context) == len(children) else keys
    found: list[str | None] = []
    for place, (key, child) in enumerate(zip(keys, children, strict=True)):
        inner = key if isinstance(key, str) else None if name is None else str(place)
        found += _leaves(child, inner if name is None else f"{name}.{inner}", depth + 1)
    return found
