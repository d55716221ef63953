"""A part of a model as a model: what computes some tensors from others, by the framework's names of the tensors.

    features = transload.extract(module, outputs=["pooled"])
    head = transload.extract(module, inputs={"pooled": "features"})
    renamed = transload.extract(module, inputs={"serving_default_x:0": "image"})

A model of a file that is cut at its outputs alone stays that file's model (`cut_at`): the file judges it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from .contents import STRUCTURE, dialects_in
from .errors import UsageError
from .ir import Block, Cut, Module, Op, Value, input_names, note_elements, noted_elements, output_names, update_function_type
from .ir.borders import NAME
from .ir.build import is_constant
from .ir.locations import FusedLocation, Location, NamedLocation, location_names
from .ir.names import FreshNames
from .kinds import ITERABLE, MODULE, TEXT, Kind, is_iterable, listed, takes
from .passes.needed import keep_needed
from .plugin_host import host
from .roles import hub
from .routes import read_with
from .suggest import nearest
from .valid import module_given

__all__ = ["Names", "Nested", "cut_at", "extract", "names_among", "tensors_of"]

_APART = "extract from the model as its file has it (`transload.load`), where each tensor is itself; lower that part"

Names = Iterable[str] | Mapping[str, str]
"""Names of tensors, or these and the names that they are to have."""
_NAMES = Kind("names of tensors", lambda value: ITERABLE.fits(value) or TEXT.fits(value), taken=listed)


@dataclass(frozen=True)
class Nested:
    """How a model is cut at tensors in an op's regions: a fact of kind "nested" about the op.

    `tensors(op)` gives them by name. `surfaced(op, values)` gives for such values those outside of the op that take their place;
    it may replace the op. It raises `UsageError` for values that there cannot be outside.
    """

    tensors: Callable[[Op], Mapping[str, Value]]
    surfaced: Callable[[Op, Sequence[Value]], Sequence[Value]]


@takes(module=MODULE, outputs=_NAMES, inputs=_NAMES)
def extract(module: Module, outputs: Names | None = None, inputs: Names = ()) -> Module:
    """The ops of a module that compute the tensors `outputs`, from the tensors `inputs` and the module's own inputs.

    Tensors are named as in the model's file (`op.origin`, `transload run --all`); a mapping gives them other names. Without
    `outputs`, they are the module's own. Inputs of the module that nothing needs any more go, and states that lose their input or
    output become plain ones. An op that nobody needs goes whatever it does, and stays where it changes what a needed one sees
    (`keep_needed`). The argument is unchanged. No file holds the result (`source` is None), so none judges it.

    A lowered module has tensors of the same numbers as one value (a copy and what it copies, two of the same ops). Which
    of them an input would stand for is not known: where names of several are left it is refused, and where one is, it stands for
    all of them. In the file's own dialect each is itself.
    Raises `UsageError` for tensors that there are not, for inputs that are all of no use, for such as are one value with another
    input or, in a lowered module, with another tensor, and where two would have one name: two inputs, two outputs or one of each,
    as files have the names of all tensors together. A tensor within that was called as they newly are gets a number.
    """
    copy = module_given(module, "extract").clone()
    copy.source, copy.source_format, copy.beside, copy.cut, copy.reading = None, None, (), None, ()
    tensors, borders, block = tensors_of(copy), _borders(copy), copy.body_of_main
    given, taken = _renamed(inputs), _renamed(output_names(module.main) if outputs is None else outputs)
    if not taken:
        raise UsageError("a part of a model needs an output")
    _need_apart(module, copy, given, tensors)
    made: dict[Value, str] = {}
    block.terminator.operands = tuple(_tensor(name, tensors) for name in taken)
    for name, new_name in given.items():
        value = _tensor(name, tensors)
        if value.op is None:
            borders[value] = replace(borders[value], name=new_name)
            continue
        if is_constant(value):
            raise UsageError(f"tensor {name!r} is a constant, and cannot be an input")
        argument = block.add_argument(value.type, new_name)
        made[argument] = name
        borders[argument] = replace(borders.get(value, _Border()), name=new_name)
        value.replace_all_uses_with(argument)
    _surface(block)
    keep_needed(copy)
    if made and not any(argument.uses for argument in made):
        raise UsageError(f"no output is computed from {', '.join(map(repr, made.values()))}: it cannot be an input")
    for argument in reversed(block.arguments.copy()):
        if not argument.uses:
            block.erase_argument(argument.index)
    _name(copy, [borders[argument] for argument in block.arguments],
          [replace(borders.get(value, _Border()), name=name)
           for value, name in zip(block.terminator.operands, taken.values(), strict=True)])
    _leave_names(copy, {new_name for name, new_name in (*given.items(), *taken.items()) if new_name != name})
    own = {border.own_name: border.name for border in (borders[argument] for argument in block.arguments)}
    copy.states = tuple(
        replace(state, input=own[state.input], output=taken[state.output]) for state in module.states
        if state.input in own and state.output in taken)
    return copy


def _need_apart(module: Module, copy: Module, given: Iterable[str], tensors: Mapping[str, Value]) -> None:
    """`UsageError` where a tensor that is to be an input is another one, too: one value of the module has both names.

    `copy` is the module's, `tensors` are the copy's. By its own name an input of the module only gets another name.
    """
    block, main = copy.body_of_main, copy.main
    named: dict[Value, str] = {}
    lowered = _is_lowered(module)
    ends = list(zip(output_names(main), block.terminator.operands, strict=True))
    for name in given:
        value = _tensor(name, tensors)
        if (other := named.setdefault(value, name)) != name:
            raise UsageError(
                f"tensors {other!r} and {name!r} are one value of the model: they cannot be two inputs",
                hint=_APART if lowered else "name one of them")
        if not lowered or name in input_names(main) or is_constant(value):
            continue
        own = input_names(main)[value.index] if value.op is None else value.name
        others = [each for each in (own, *(end for end, at in ends if at is value)) if each not in (None, name)]
        if others:
            raise UsageError(
                f"tensor {name!r} cannot be an input: in the lowered model it is one value with {others[0]!r}", hint=_APART)


def _is_lowered(module: Module) -> bool:
    """Whether a module holds ops of other dialects than its file's; without a file, or of text, whether of the hub's."""
    present, reader = set(dialects_in(module)), host().readers.get(module.source_format or "")
    if reader is None or reader.dialect in STRUCTURE:
        return hub().name in present
    return not present <= read_with(reader.dialect, host().conversions)


def cut_at(module: Module, outputs: Sequence[str]) -> Module:
    """A file's module with other outputs: what computes these tensors, by the file's names. The argument is unchanged.

    What has commas, and is no tensor's name, is several names. Verification asks the file's runtime for the same tensors
    (`Module.cut`). Raises `UsageError` for tensors that there are not.
    """
    if isinstance(outputs, str):
        raise UsageError(f"give names of tensors as a list, [{outputs!r}]")
    names = names_among(outputs, tensors_of(module))
    part = extract(module, names)
    part.source, part.source_format, part.beside = module.source, module.source_format, module.beside
    part.reading = (*module.reading, *(word for name in names for word in ("--outputs", name)))
    unused = {name: type_ for name, type_ in module.inputs.items() if name not in part.inputs}
    part.cut = Cut(tuple(names), unused, tuple(module.outputs), frozenset(tensors_of(module)))
    part.notes = (*part.notes, f"the model was cut at {', '.join(map(repr, names))}: what is behind is left out")
    return part


def names_among(texts: Iterable[str], known: Container[str]) -> list[str]:
    """The names in texts: what is no name that is known, and has commas, is several; an empty one is one."""
    return list(dict.fromkeys(
        name for text in texts for name in ([text] if text in known else [*filter(None, text.split(","))] or [""])))


def tensors_of(module: Module) -> dict[str, Value]:
    """The tensors of a module's main function by name: its inputs, what its ops compute, and its outputs.

    Of those in regions, they are the ones for which a dialect says how they are had outside (`Nested`).
    """
    block, main = module.body_of_main, module.main
    found: dict[str, Value] = {}
    for op, nested in _nesting(block):
        found.update(nested.tensors(op))
    found |= {value.name: value for op in block for value in op.results if value.name is not None}
    found.update(zip(output_names(main), block.terminator.operands, strict=True))
    found.update(zip(input_names(main), block.arguments, strict=True))
    return found


def _nesting(block: Block) -> list[tuple[Op, Nested]]:
    """The ops of a block at whose inner tensors a model can be cut, and how."""
    facts = host().facts("nested")
    return [(op, fact) for op in block if op.regions and (fact := facts[op.name]) is not None]


def _surface(block: Block) -> None:
    """Put values outside of ops in the place of those in their regions that a block ends in."""
    for op, nested in _nesting(block):
        inside = set(nested.tensors(op).values())
        values = list(dict.fromkeys(value for value in block.terminator.operands if value in inside))
        if values:
            found = dict(zip(values, nested.surfaced(op, values), strict=True))
            block.terminator.operands = tuple(found.get(value, value) for value in block.terminator.operands)


@dataclass(frozen=True)
class _Border:
    """What a function notes of an argument or a result."""

    name: str = ""
    own_name: str = ""
    """The name that an input of the module has there."""
    element: Any = None
    attributes: Mapping[str, Any] | None = None


def _borders(module: Module) -> dict[Value, _Border]:
    """Of a module's inputs all that is noted, of its outputs the element types."""
    block, main = module.body_of_main, module.main
    given, taken = noted_elements(main)
    found = {value: _Border(element=element) for value, element in zip(block.terminator.operands, taken, strict=True)}
    noted = main.attributes.get("arg_attrs") or [{} for _ in block.arguments]
    for value, name, element, attributes in zip(block.arguments, input_names(main), given, noted, strict=True):
        found[value] = _Border(name, name, element, attributes)
    return found


def _name(module: Module, inputs: Sequence[_Border], outputs: Sequence[_Border]) -> None:
    main = module.main
    for key, side, borders in (("arg_attrs", "inputs", inputs), ("res_attrs", "outputs", outputs)):
        names = [border.name for border in borders]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise UsageError(f"two {side} would be called {twice!r}")
        main.attributes[key] = [{**(border.attributes or {}), NAME: border.name} for border in borders]
    update_function_type(main)
    note_elements(main, [border.element for border in inputs], [border.element for border in outputs])


def _leave_names(module: Module, asked: Set[str]) -> None:
    """Leave names that were asked for to the inputs and outputs that have them: a tensor within that was called so gets a number.

    Raises `UsageError` where an input and an output, which are two tensors, would have such a name.
    """
    block, main = module.body_of_main, module.main
    if not asked:
        return
    owners = {name: value for name, value in zip(input_names(main), block.arguments, strict=True) if name in asked}
    for name, value in zip(output_names(main), block.terminator.operands, strict=True):
        if name in asked and owners.setdefault(name, value) is not value:
            raise UsageError(
                f"an input and an output would both be called {name!r}, and are two tensors",
                hint="give one of them another name, as NAME=NEW")
    fresh = FreshNames((*tensors_of(module), *(name for op in block for name in location_names(op.location))))
    for op in block:
        others = [value.name in owners and owners[value.name] is not value for value in op.results]
        if any(others):
            op.location = _otherwise(op.location, others, fresh)


def _otherwise(location: Any, results: Sequence[bool], fresh: FreshNames) -> Location:
    """The location of an op that names its results, with new names for these results."""
    if isinstance(location, FusedLocation):
        parts = zip(location.locations, results, strict=True)
        return FusedLocation(tuple(fresh(str(part)) if is_one else part for part, is_one in parts))
    name = fresh(location)
    return NamedLocation(name, location.child) if isinstance(location, NamedLocation) else name


def _renamed(names: Names) -> dict[str, str]:
    if isinstance(names, str):
        raise UsageError(f"give names of tensors as a list, [{names!r}], or as a dict with their new names")
    given = dict(names) if isinstance(names, Mapping) else dict(zip(texts := _texts(names), texts, strict=True))
    _texts([*given, *given.values()])
    for name, new_name in given.items():
        if not new_name and name:
            raise UsageError(f"tensor {name!r} is to have an empty name", hint="give it one, or leave it out for its own")
    return given


def _texts(names: Any) -> list[str]:
    """Names as a list; `UsageError` where they are something else."""
    found = list(names) if is_iterable(names) else [names]
    if not all(isinstance(name, str) for name in found):
        raise UsageError("give names of tensors as a list of texts, or as a dict with their new names")
    return found


def _tensor(name: str, tensors: Mapping[str, Value]) -> Value:
    found = tensors.get(name)
    if found is None:
        guess = nearest(name, tensors)
        raise UsageError(
            f"the model has no tensor {name!r} outside of loops and branches",
            hint=(f"did you mean {guess!r}? " if guess else "") + "`transload run MODEL --all` lists them")
    return found
