"""Ops as functions: what an op's declaration says is a function's signature.

`ops.Conv(input, filter, bias=None, *, kernel_shape, strides=..., ..., element=None, name=None)`: operands come first, in order,
attributes by name, with their defaults; regions are functions. `element` is the result's element type where that is not what the
operands say (a quantized one), `name` what the result is called, `types` the types of the results where nothing infers them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from transload.context import current
from transload.errors import UsageError
from transload.ir import Block, DenseArray, Op, Region
from transload.ir.build import Builder
from transload.ir.declare import FLOATS, OpDeclaration, Required
from transload.ir.regions import release_regions
from transload.ir.registry import dialect, dialect_names
from transload.ir.types import F64, Type
from transload.suggest import nearest

from .tensor import Tensor, constant, current_builder, element_of, emit, location_of, sound, type_of, wrapped, writing

__all__ = ["Ops", "call_of", "ops"]

_OWN = ("element", "name", "types")


class Ops:
    """The ops of a dialect as functions: `ops.Conv`; other dialects' are in `ops.NAME`, a plugin's as soon as it is there."""

    def __init__(self, name: str | None = None) -> None:
        self._name = name
        self._made: dict[str, Callable[..., Any]] = {}

    @property
    def _dialect(self) -> str:
        return self._name if self._name is not None else current().host.in_role("hub").name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        owner = dialect(self._dialect)
        declaration = owner.ops.get(f"{self._dialect}.{name}") if owner is not None else None
        if declaration is not None:
            if name not in self._made:
                self._made[name] = function_of(declaration)
            return self._made[name]
        if self._name is None and name in dialect_names():
            return Ops(name)
        guess = nearest(name, [op.rpartition(".")[2] for op in owner.ops] if owner is not None else [])
        raise AttributeError(f"no op is called {self._dialect}.{name}" + (f"; did you mean {guess}?" if guess else ""))

    def __dir__(self) -> list[str]:
        owner = dialect(self._dialect)
        return sorted(op.partition(".")[2] for op in owner.ops) if owner is not None else []


def call_of(declaration: OpDeclaration) -> inspect.Signature:
    """The signature of an op's function."""
    return _Call(declaration).signature


def function_of(declaration: OpDeclaration) -> Callable[..., Any]:
    """The function that adds an op to the network that is being written."""
    call = _Call(declaration)

    def function(*arguments: Any, **named: Any) -> Any:
        return call(arguments, named)

    function.__name__ = function.__qualname__ = declaration.name.rpartition(".")[2]
    function.__doc__ = call.doc
    function.__signature__ = call.signature  # type: ignore[attr-defined]
    return function


class _Call:
    """How an op is called, by its declaration."""

    def __init__(self, declaration: OpDeclaration) -> None:
        self.declaration = declaration
        self.variadic = next((slot.name for slot in declaration.operands if slot.variadic), None)
        self.own = [key for key in _OWN if key not in declaration.attributes]

    @cached_property
    def signature(self) -> inspect.Signature:
        """Operands, attributes, regions, and what every op is given."""
        kinds, found = inspect.Parameter, []
        plain = [slot for slot in self.declaration.operands if not slot.variadic]
        if self.variadic is not None and plain and self.declaration.operands[0].variadic:
            found.append(kinds(self.variadic, kinds.VAR_POSITIONAL))
            found += [kinds(slot.name, kinds.KEYWORD_ONLY) for slot in plain]
        else:
            for slot in plain:
                default = None if slot.optional else kinds.empty
                found.append(kinds(slot.name, kinds.POSITIONAL_OR_KEYWORD, default=default))
            if self.variadic is not None:
                found.append(kinds(self.variadic, kinds.VAR_POSITIONAL))
        for key, declared in self.declaration.attributes.items():
            required = isinstance(declared.default, Required)
            found.append(kinds(key, kinds.KEYWORD_ONLY, default=kinds.empty if required else _shown(declared.default)))
        found += [kinds(region.name, kinds.KEYWORD_ONLY) for region in self.declaration.regions]
        found += [kinds(key, kinds.KEYWORD_ONLY, default=None) for key in self.own]
        return inspect.Signature(found)

    @cached_property
    def doc(self) -> str:
        """The declaration's docstring, and what is given."""
        lines = [self.declaration.doc, ""]
        for slot in self.declaration.operands:
            lines.append(f"{slot.name}: {slot.doc}")
        for key, declared in self.declaration.attributes.items():
            lines.append(f"{key}: {declared.doc} ({declared.kind.name})")
        return "\n".join(lines)

    def __call__(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        name = self.declaration.name
        try:
            bound = self.signature.bind(*arguments, **named).arguments
        except TypeError as error:
            raise UsageError(f"{name}: {error}", hint=f"{name.rpartition('.')[2]}{self.signature}") from None
        operands: list[Any] = []
        for slot in self.declaration.operands:
            given = bound.get(slot.name)
            operands += list(given or ()) if slot.variadic else [given]
        attributes = {key: self._attribute(key, bound[key]) for key in self.declaration.attributes if bound.get(key) is not None}
        own = {key: bound.get(key) for key in self.own}
        if self.declaration.regions:
            return self._with_regions(operands, attributes, [bound[region.name] for region in self.declaration.regions], own)
        if "constant" in self.declaration.traits:
            return constant(attributes["value"], own["element"], own["name"])
        return emit(name, operands, attributes, own.get("element"), own.get("name"), own.get("types"))

    def _attribute(self, key: str, value: Any) -> Any:
        """A list as the attribute holds it."""
        kind = self.declaration.attributes[key].kind
        if isinstance(value, list | tuple):
            if kind is FLOATS:
                return tuple(map(float, value))
            if kind.accepts(tuple(value)):
                return tuple(value)
            if kind.accepts(list(value)):
                return list(value)
        if isinstance(value, dict):
            return {name: _plain(each) for name, each in value.items()}
        return value

    def _with_regions(
        self, operands: Sequence[Any], attributes: dict[str, Any], bodies: Sequence[Callable[..., Any]], own: dict[str, Any],
    ) -> Any:
        """An op whose regions are functions: each is called once, with as many tensors as it takes of the last operands."""
        builder, name = current_builder(), self.declaration.name
        values = [operand.value if isinstance(operand, Tensor) else constant(operand).value for operand in operands]
        regions = [self._region(body, values) for body in bodies]
        location = location_of(own.get("name"), name.rpartition(".")[2])
        sketch = Op(name, values, (), attributes, regions, location)
        infer = self.declaration.infer
        found = infer(sketch) if infer is not None else [type_of(each) for each in own.get("types") or ()]
        kept = list(release_regions(sketch))
        sketch.drop_references()
        made = builder.create(name, values, [found] if isinstance(found, Type) else list(found), attributes, kept, location)
        sound(made)
        return wrapped(tuple(made.results)) if len(made.results) != 1 else Tensor(made.results[0])

    def _region(self, body: Callable[..., Any], values: Sequence[Any]) -> Region:
        """What a function writes, as a region that ends in the dialect's terminator."""
        count = len(inspect.signature(body).parameters)
        state = values[len(values) - count :] if count else ()
        block = Block([value.type for value in state], [None] * len(state))
        with writing(Builder(block)):
            made = body(*map(Tensor, block.arguments))
            results = [each if isinstance(each, Tensor) else constant(each) for each in (
                made if isinstance(made, tuple | list) else (made,))]
        owner = dialect(self.declaration.name.partition(".")[0])
        ending = next(name for name, declared in owner.ops.items() if "terminator" in declared.traits)  # type: ignore[union-attr]
        block.append(Op(ending, [result.value for result in results]))
        return Region([block])


def _shown(default: Any) -> Any:
    """A default as a signature shows it: what depends on the rest of the op is left to the op."""
    return None if callable(default) else default


def _plain(value: Any) -> Any:
    """A value in a dictionary, as attributes hold it."""
    if isinstance(value, list | tuple):
        if all(isinstance(each, int) and not isinstance(each, bool) for each in value):
            return tuple(value)
        if all(isinstance(each, int | float) and not isinstance(each, bool) for each in value):
            return DenseArray(tuple(map(float, value)), F64)
        return [_plain(each) for each in value]
    return value if isinstance(value, bool | int | float | str) else element_of(value)


ops = Ops()
"""The hub's ops."""
