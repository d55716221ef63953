"""The module: the outermost op, with functions in it, and what is known of the model as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import MissingFunction, UsageError
from ..kinds import need
from .attributes import own_attributes
from .borders import NAME, input_names, input_types, output_names, output_types
from .constants import Dense
from .core import Block, Op, Region, Value
from .given import items_of, need_part
from .locations import Location
from .readable import module_html, module_text
from .types import FunctionType, Type

if TYPE_CHECKING:
    from ..plugin import Quantized

__all__ = [
    "NAME", "Cut", "Module", "State", "add_state", "asked_inputs", "initial_states", "input_names", "new_module", "output_names",
    "set_results", "update_function_type", "update_function_types",
]


@dataclass(frozen=True)
class State:
    """An input and an output of the main function that are one state, and what the first run is given (storage numbers)."""

    input: str
    output: str
    initial: Dense

    def __post_init__(self) -> None:
        for part, kind, wanted in (("input", str, "a text"), ("output", str, "a text"), ("initial", Dense, "a constant")):
            need_part(getattr(self, part), kind, "State", part, wanted)


@dataclass(frozen=True)
class Cut:
    """Where a file's model was cut: what its main function gives are these tensors of the file."""

    outputs: tuple[str, ...]
    """The file's names of the tensors, in the order of the function's outputs."""
    unused: Mapping[str, Type]
    """The inputs of the file that none of them needs, with their types."""
    whole: tuple[str, ...] = ()
    """What the outputs are called that the model had before."""
    tensors: frozenset[str] = frozenset()
    """What all its tensors are called."""


class Module(Op):
    """A `builtin.module`: functions by name, and where the model came from.

    `source` is the file it was read from (for messages and verification) or None, `states` are the inputs and
    outputs that a caller hands on from run to run, `notes` what was decided on the way that nobody said, in words for the
    user, `entry` what the file calls the main function, `beside` the other files that were read with `source` (weights),
    `quantization` what its quantizer said of a quantized one (`transload.plugin.Quantized`) or None, `cut` where the file's model
    was cut, or None, `reading` how it was read, as words of a command line (`transload.read_again`); they are not part of the IR
    and do not appear in text.
    """

    __slots__ = ("__weakref__", "beside", "cut", "entry", "notes", "quantization", "reading", "source", "source_format", "states")

    def __init__(self, attributes: dict | None = None, location: Location = None) -> None:
        super().__init__("builtin.module", (), (), attributes, (Region([Block()]),), location)
        self.source: Path | None = None
        self.source_format: str | None = None
        self.states: tuple[State, ...] = ()
        self.notes: tuple[str, ...] = ()
        self.entry = "main"
        self.beside: tuple[Path, ...] = ()
        self.quantization: Quantized | None = None
        self.cut: Cut | None = None
        self.reading: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<{module_text(self)}>"

    def _repr_html_(self) -> str:
        return module_html(self)

    @property
    def body(self) -> Block:
        """The block that holds the functions."""
        return self.regions[0].blocks[0]

    @property
    def functions(self) -> dict[str, Op]:
        """All `func.func` ops by name, in order."""
        return {str(op.attributes.get("sym_name")): op for op in self.body if op.name == "func.func"}

    def function(self, name: str = "main") -> Op:
        """The function called `name`; `MissingFunction` lists what there is where it is not there.

        `main` is also the only function of a module, or the only one that is not private, whatever it is called.
        """
        need(name, str, "function", "name")
        functions = self.functions
        if name == "main" and name not in functions:
            public = [each for each, op in functions.items() if op.attributes.get("sym_visibility") != "private"]
            name = public[0] if len(public) == 1 else next(iter(functions)) if len(functions) == 1 else name
        if name in functions and functions[name].regions[0].is_empty:
            raise UsageError(f"the function {name!r} of the module is only declared: it has no body")
        if name not in functions:
            there = ", ".join(functions) or "none"
            which = "; --function NAME says which is meant" if name == "main" and functions else ""
            raise MissingFunction(f"the module has no function {name!r}", hint=f"functions: {there}{which}")
        return functions[name]

    @property
    def main(self) -> Op:
        return self.function("main")

    @property
    def inputs(self) -> dict[str, Type]:
        """The types of what the main function is given, by name, in order: arrays for `transload.run` are of these."""
        return dict(zip(input_names(self.main), input_types(self.main), strict=True))

    @property
    def outputs(self) -> dict[str, Type]:
        """The types of what the main function gives, by name, in order."""
        return dict(zip(output_names(self.main), output_types(self.main), strict=True))

    @property
    def body_of_main(self) -> Block:
        return self.main.regions[0].block

    def add_function(
        self, name: str, inputs: Sequence[Type], input_names: Sequence[str | None] = (), location: Location = None,
    ) -> Op:
        """Append a function with one empty block; finish it with `set_results`."""
        need_part(name, str, "add_function()", "name", "a text")
        inputs = items_of(inputs, Type, "add_function()", "inputs", "a type")
        input_names = items_of(input_names, str | None, "add_function()", "input names", "a text, or None,")
        block = Block(inputs, input_names)
        function = Op(
            "func.func", (), (), {"sym_name": name, "function_type": FunctionType(tuple(inputs), ())}, (Region([block]),),
            location)
        if any(input_names):
            function.attributes["arg_attrs"] = [{NAME: n} if n else {} for n in input_names]
        self.body.append(function)
        return function

    def clone(self, mapping: dict[Value, Value] | None = None) -> Module:
        """A copy that shares the constants."""
        mapping = {} if mapping is None else mapping
        copy = Module(own_attributes(self.attributes), self.location)
        copy.source, copy.source_format, copy.entry = self.source, self.source_format, self.entry
        copy.states, copy.notes, copy.beside, copy.quantization = self.states, self.notes, self.beside, self.quantization
        copy.cut, copy.reading = self.cut, self.reading
        for op in self.body:
            copy.body.append(op.clone(mapping))
        return copy

    def __copy__(self) -> Module:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, object]) -> Module:
        return self.clone()

    def become(self, other: Module) -> None:
        """Take everything that is in another module, which is empty then; whoever has this one has that."""
        need(other, Module, "become", "module")
        if other is self:
            return
        self.attributes, self.location = other.attributes, other.location
        for op in list(self.body):
            op.erase()
        for op in list(other.body):
            self.body.append(other.body.remove(op))
        self.source, self.source_format, self.entry = other.source, other.source_format, other.entry
        self.states, self.notes, self.beside, self.quantization = other.states, other.notes, other.beside, other.quantization
        self.cut, self.reading = other.cut, other.reading

    def ops(self) -> Iterator[Op]:
        """Every op in every function, the functions themselves left out."""
        return (op for op in self.walk() if op.name not in ("builtin.module", "func.func"))


def new_module() -> Module:
    """A module with nothing in it."""
    return Module()


def set_results(function: Op, values: Sequence[Value], names: Sequence[str | None] = ()) -> Op:
    """End a function: append `func.return`, name the results, and complete the function's type."""
    need(function, Op, "set_results", "function")
    names = items_of(names, str | None, "set_results()", "names", "a text, or None,")
    block = function.regions[0].block
    terminator = block.append(Op("func.return", values))
    if any(names):
        function.attributes["res_attrs"] = [{NAME: name} if name else {} for name in names]
    elif len(function.attributes.get("res_attrs") or ()) != len(values):
        function.attributes.pop("res_attrs", None)  # of the results that the function had before
    update_function_type(function)
    return terminator


def update_function_type(function: Op) -> None:
    """Make a function's type say what its arguments and its return are, after they changed."""
    need(function, Op, "update_function_type", "function")
    block = function.regions[0].block
    function.attributes["function_type"] = FunctionType(
        tuple(argument.type for argument in block.arguments), tuple(value.type for value in block.terminator.operands))


def update_function_types(module: Module) -> None:
    """The same for all functions of a module."""
    need(module, Module, "update_function_types", "module")
    for function in module.functions.values():
        if function.regions[0].blocks:
            update_function_type(function)


def add_state(module: Module, name: str, type_: Type, initial: Dense) -> tuple[Value, int]:
    """Add an input `name` of the main function, and an output `name_next` that so far gives the input itself.

    A name that is taken gets a number behind it. Returns the input's value, and which operand of the
    function's return the output is, for the caller to set.
    """
    need(module, Module, "add_state", "module")
    need_part(name, str, "add_state()", "name", "a text")
    need_part(initial, Dense, "add_state()", "initial", "a constant", "as `Dense(array)`")
    main = module.main
    block = main.regions[0].block
    inputs, outputs = input_names(main), output_names(main)
    taken = {*inputs, *(output.removesuffix("_next") for output in outputs)}
    unique, number = name, 1
    while unique in taken:
        unique, number = f"{name}_{number}", number + 1
    for kind, names, added in (("arg_attrs", inputs, unique), ("res_attrs", outputs, f"{unique}_next")):
        noted = main.attributes.get(kind) or [{} for _ in names]
        main.attributes[kind] = [{NAME: each, **own} for each, own in zip(names, noted, strict=True)] + [{NAME: added}]
    value = block.add_argument(type_, unique)
    terminator = block.terminator
    terminator.operands = (*terminator.operands, value)
    main.attributes["function_type"] = FunctionType(
        tuple(argument.type for argument in block.arguments), tuple(each.type for each in terminator.operands))
    module.states = (*module.states, State(unique, f"{unique}_next", initial))
    return value, len(terminator.operands) - 1


def asked_inputs(module: Module) -> dict[str, Type]:
    """The inputs of a module but its states."""
    need(module, Module, "asked_inputs", "module")
    states = {state.input for state in module.states}
    return {name: type_ for name, type_ in module.inputs.items() if name not in states}


def initial_states(module: Module) -> dict[str, np.ndarray]:
    """What the first run is given for each state, by input name."""
    need(module, Module, "initial_states", "module")
    return {state.input: state.initial.numpy() for state in module.states}
