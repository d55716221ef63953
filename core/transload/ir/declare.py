"""Declaring operations.

An op is one readable class: its operands, results, attributes with types and defaults, constraints,
shape inference, and a docstring with its meaning and source.

    ACME = Dialect("acme", "Operations of Acme's networks.")

    @ACME.op("LeakyRelu")
    class LeakyRelu(DeclaredOp):
        \"\"\"`x` where it is positive, `alpha * x` elsewhere (TPU-MLIR manual 13.1, LeakyReluOp).\"\"\"

        input = operand("the tensor")
        output = result("of the same shape")
        alpha = attribute(FLOAT, "slope for negative values", default=0.01)

        @constraint
        def float_or_quantized(op) -> bool:
            \"\"\"the input is a float or quantized tensor\"\"\"
            return op.input.is_float or op.input.is_quantized

        def infer(op) -> Type:
            return op.input.type

The verifier, the accessors (`op.alpha`) and the reference page are generated from it. A
constraint's docstring is the message a user sees when it is broken; it returns whether it holds, or
a string with the detail of how it does not.

The class is the op's static type, too: in `def lower(op: LeakyRelu, rw: Rewriter) -> Value` a type checker
and an editor know that `op.input` is a `Value` and `op.alpha` a float. Ops are never instances of it as they
run; they are all of the one class `Op`, and `isinstance(op, LeakyRelu)` asks which declaration an op has.

A member whose name ends with an underscore declares the name without it: `operand_ = operand(...)`, which
is read as `op.operand_`, declares an operand "operand", a name that `Op` has a use of its own for.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Hashable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from ..watched import Watched
from .attributes import Attribute, DenseArray, FloatAttr, IntAttr, OpaqueAttr, Symbol
from .constants import Dense, holds_float
from .core import Op, Region, Value, make_readable
from .forms import is_attribute
from .types import (
    BOOL,
    F32,
    F64,
    I32,
    I64,
    FloatType,
    FunctionType,
    IntegerType,
    NoneType,
    QuantType,
    TensorType,
    Type,
)

__all__ = [
    "ANY", "BOOLEAN", "BOOL_TENSOR", "CONSTANT", "DICT", "FLOAT", "FLOAT32", "FLOATS", "FLOAT_TENSOR", "FUNCTION_TYPE",
    "INT", "INT32", "INTS", "INTS32", "INT_TENSOR", "LIST", "OPAQUE", "QUANT_TENSOR", "STRING", "SYMBOL", "TENSOR",
    "TYPE", "UNIT", "AttributeKind", "DeclaredOp", "Dialect", "OpDeclaration", "Required", "TypeConstraint", "absent",
    "attribute", "constraint", "enum", "operand", "region", "result", "variadic", "variadic_result", "words_of",
]

T = TypeVar("T")
A = TypeVar("A")  # what reading an attribute gives


class Required:
    """The default of an attribute that has none."""

    def __repr__(self) -> str:
        return "required"


REQUIRED = Required()


class TypeConstraint:
    """A named set of types, for operands and results; `why` may say of a type more than that it is none of them."""

    __slots__ = ("accepts", "name", "why")

    def __init__(self, name: str, accepts: Callable[[Type], bool], why: Callable[[Type], str] | None = None) -> None:
        self.name = name
        self.accepts = accepts
        self.why = why

    def __repr__(self) -> str:
        return self.name


def _element(type_: Type) -> Type | None:
    return type_.element if isinstance(type_, TensorType) else None


ANY = TypeConstraint("any type", lambda type_: True)
TENSOR = TypeConstraint("a tensor", lambda type_: isinstance(type_, TensorType))
FLOAT_TENSOR = TypeConstraint("a tensor of floats", lambda type_: isinstance(_element(type_), FloatType))
INT_TENSOR = TypeConstraint(
    "a tensor of integers", lambda type_: isinstance(element := _element(type_), IntegerType) and element != BOOL)
BOOL_TENSOR = TypeConstraint("a tensor of i1", lambda type_: _element(type_) == BOOL)
QUANT_TENSOR = TypeConstraint("a quantized tensor", lambda type_: isinstance(_element(type_), QuantType))


class AttributeKind(Generic[A]):
    """What an attribute holds: a name for the reference page, a check, and the text type of its numbers.

    `AttributeKind[int]` is one that reads as an `int`.
    `text_type` is the MLIR type printed after a number (`3 : i32`); `wrap` makes of the plain Python
    value the typed one that the printer prints, `unwrap` the reverse (and gives back what it is given
    where that is of another kind).
    """

    __slots__ = ("accepts", "name", "text_type", "unwrap", "wrap")

    def __init__(
        self, name: str, accepts: Callable[[Attribute], bool],
        wrap: Callable[[Attribute], Attribute] | None = None, unwrap: Callable[[Attribute], Attribute] | None = None,
        text_type: Type | None = None,
    ) -> None:
        self.name = name
        self.accepts = accepts
        self.wrap = wrap
        self.unwrap = unwrap
        self.text_type = text_type

    def __repr__(self) -> str:
        return self.name

    def other_type(self, value: Attribute, plain: Type | None = None) -> Type | None:
        """The type of a value's numbers where it is not the kind's own; of values that say none it is `plain`, or not asked."""
        given = plain
        if isinstance(value, DenseArray | IntAttr | FloatAttr):
            given = value.element if isinstance(value, DenseArray) else value.type
        return None if self.text_type is None or given is None or given == self.text_type else given


def _is_int(value: Attribute) -> bool:
    return type(value) is int or (isinstance(value, int) and not isinstance(value, bool))


def _is_float(value: Attribute) -> bool:
    return isinstance(value, float) or (_is_int(value) and -_FLOATS < value < _FLOATS)


_FLOATS = 1 << 1023
"""No integer below this size is too large to be an f64."""


def _int_kind(type_: IntegerType) -> AttributeKind[int]:
    least, most = _range_of(type_)
    return AttributeKind(f"integer ({type_})", lambda v: _is_int(v) and least <= v <= most,
        None if type_ == I64 else lambda v: IntAttr(v, type_), lambda v: int(v) if _is_int(v) else v, type_)


def _range_of(type_: IntegerType) -> tuple[int, int]:
    """The least and the greatest integer of a type without a sign, as text has them again that it was given."""
    return -1 << (type_.width - 1), (1 << (type_.width - 1)) - 1


_PLAIN_INTS = frozenset({int})


def _are_ints(value: Attribute) -> bool:
    """Whether it is a tuple of integers; by far most often of plain ones, which is seen at once."""
    return isinstance(value, tuple) and (_PLAIN_INTS.issuperset(map(type, value)) or all(map(_is_int, value)))


def _float_kind(type_: FloatType) -> AttributeKind[float]:
    return AttributeKind(
        f"float ({type_})", lambda v: _is_float(v) and holds_float(v, type_), lambda v: FloatAttr(v, type_),
        lambda v: float(v) if _is_float(v) else v, type_)


def _ints_kind(type_: IntegerType) -> AttributeKind[tuple[int, ...]]:
    least, most = _range_of(type_)
    return AttributeKind(
        f"integers ({type_})", lambda v: _are_ints(v) and (not v or (least <= min(v) and max(v) <= most)),
        None if type_ == I64 else lambda v: DenseArray(v, type_),
        lambda v: tuple(map(int, v)) if _are_ints(v) else v, type_)


INT, INT32 = _int_kind(I64), _int_kind(I32)
FLOAT, FLOAT32 = _float_kind(F64), _float_kind(F32)
INTS, INTS32 = _ints_kind(I64), _ints_kind(I32)
FLOATS: AttributeKind[tuple[float, ...]] = AttributeKind(
    "floats (f64)", lambda v: isinstance(v, tuple) and all(map(_is_float, v)),
    lambda v: DenseArray(v, F64), lambda v: tuple(map(float, v)) if isinstance(v, tuple) else v, F64)
BOOLEAN: AttributeKind[bool] = AttributeKind("true or false", lambda v: isinstance(v, bool))
def _is_text(value: Attribute) -> bool:
    """Whether it is a string; a symbol is held as a `str`, too, and refers to a function."""
    return isinstance(value, str) and not isinstance(value, Symbol)


STRING: AttributeKind[str] = AttributeKind("string", _is_text)
SYMBOL: AttributeKind[Symbol] = AttributeKind("symbol", lambda v: isinstance(v, Symbol))
TYPE: AttributeKind[Type] = AttributeKind("type", lambda v: isinstance(v, Type) and is_attribute(v))
FUNCTION_TYPE: AttributeKind[FunctionType] = AttributeKind("function type", lambda v: isinstance(v, FunctionType))
CONSTANT: AttributeKind[Dense] = AttributeKind("constant", lambda v: isinstance(v, Dense))
LIST: AttributeKind[list[Attribute]] = AttributeKind("list", lambda v: isinstance(v, list) and is_attribute(v))
DICT: AttributeKind[dict[str, Attribute]] = AttributeKind("dictionary", lambda v: isinstance(v, dict) and is_attribute(v))
UNIT: AttributeKind[None] = AttributeKind("present or not", lambda v: v is None)
OPAQUE: AttributeKind[OpaqueAttr] = AttributeKind("text of another dialect", lambda v: isinstance(v, OpaqueAttr))


def enum(*names: str, text: Callable[[str], str] | None = None) -> AttributeKind[str]:
    """One of some names, held as `str`.

    Printed as a string, or, where MLIR has an enum of its own, as what `text(name)` gives:
    `enum("MAX", "MIN", text="#d.mode<{}>".format)`.
    """
    if text is None:
        return AttributeKind(" or ".join(map(repr, names)), lambda v: _is_text(v) and v in names)
    back = {text(name): name for name in names}
    return AttributeKind(
        " or ".join(names), lambda v: _is_text(v) and v in names, lambda v: OpaqueAttr(text(v)),
        lambda v: back.get(v.text, v) if isinstance(v, OpaqueAttr) else v)


class _Member:
    """Something a declaration class lists: kept in the order it was written."""

    name = ""

    def __init__(self, doc: str) -> None:
        self._doc = doc

    @property
    def doc(self) -> str:
        return self._doc


class _Slot(_Member):
    """An operand or result."""

    def __init__(self, doc: str, type_: TypeConstraint, optional: bool, variadic: bool, is_result: bool) -> None:
        super().__init__(doc)
        self.type = type_
        self.optional = optional
        self.variadic = variadic
        self.is_result = is_result


class _Absent(_Member):
    """In place of a member of a base class."""


class _Attribute(_Member):
    def __init__(self, kind: AttributeKind[Any], doc: str, default: Attribute, optional: bool) -> None:
        super().__init__(doc)
        self.kind = kind
        self.default = default
        self.optional = optional

    @property
    def has_wrong_default(self) -> bool:
        """Whether the default is none that the attribute may have; what is computed of the op is not known before."""
        default = self.default
        return not (default is REQUIRED or default is None or callable(default) or self.kind.accepts(default))


class _Region(_Member):
    def __init__(self, doc: str, variadic: bool = False) -> None:
        super().__init__(doc)
        self.variadic = variadic


class _Constraint(_Member):
    def __init__(self, check: Callable[[Any], bool | str]) -> None:
        if not check.__doc__ and sys.flags.optimize < 2:
            raise TypeError(f"constraint {check.__name__} needs a docstring: it is the message a user sees")
        super().__init__("")
        self.check = check

    @property
    def doc(self) -> str:
        """The message, its indentation taken off when it is first read."""
        if not self._doc:
            self._doc = words_of(self.check)
        return self._doc


def words_of(function: Callable[..., Any]) -> str:
    """What a function's docstring says, its indentation taken off; its name in words where `python -OO` has left that out."""
    return inspect.cleandoc(function.__doc__ or "") or function.__name__.strip("_").replace("_", " ")


# What the functions below make is seen by `OpDeclaration` alone; reading the member of an op gives what their
# types say, which is what these are for.

@overload
def operand(doc: str = "", type: TypeConstraint = TENSOR, optional: Literal[False] = False) -> Value: ...
@overload
def operand(doc: str = "", type: TypeConstraint = TENSOR, *, optional: bool) -> Value | None: ...
def operand(doc: str = "", type: TypeConstraint = TENSOR, optional: bool = False) -> Any:
    """Declare an operand. An optional one is absent where it is left out at the end, or of type `none`."""
    return _Slot(doc, type, optional, False, False)


def variadic(doc: str = "", type: TypeConstraint = TENSOR) -> tuple[Value, ...]:
    """Declare any number of operands; at most one such member an op, read as a tuple."""
    member: Any = _Slot(doc, type, False, True, False)
    return member


def result(doc: str = "", type: TypeConstraint = TENSOR) -> Value:
    """Declare a result."""
    member: Any = _Slot(doc, type, False, False, True)
    return member


def variadic_result(doc: str = "", type: TypeConstraint = TENSOR) -> tuple[Value, ...]:
    """Declare any number of results; at most one such member an op."""
    member: Any = _Slot(doc, type, False, True, True)
    return member


@overload
def attribute(
    kind: AttributeKind[A], doc: str = "", default: A | Callable[[Any], A] | Required = REQUIRED,
    optional: Literal[False] = False,
) -> A: ...
@overload
def attribute(
    kind: AttributeKind[A], doc: str = "", default: A | Callable[[Any], A] | Required | None = REQUIRED, *, optional: bool,
) -> A | None: ...
def attribute(kind: AttributeKind[Any], doc: str = "", default: Attribute = REQUIRED, optional: bool = False) -> Any:
    """Declare an attribute; `optional=True` means that it may be absent and then reads as None.

    A default that depends on the rest of the op (ones, as many as `kernel_shape` has) is a function of the op.
    """
    return _Attribute(kind, doc, None if optional and default is REQUIRED else default, optional)


@overload
def region(doc: str = "", variadic: Literal[False] = False) -> Region: ...
@overload
def region(doc: str = "", *, variadic: Literal[True]) -> tuple[Region, ...]: ...
def region(doc: str = "", variadic: bool = False) -> Any:
    """Declare a region; a variadic one, the last, is any number of them, read as a tuple."""
    return _Region(doc, variadic)


def constraint(check: Callable[[Any], bool | str]) -> _Constraint:
    """Declare a condition on an op, see the module's docstring."""
    return _Constraint(check)


def absent() -> Any:
    """Declare that this op lacks a member that a class it derives from has: of an older version, `nan_mode = absent()`."""
    return _Absent("")


if TYPE_CHECKING:

    class DeclaredOp(Op):
        """Base of classes that declare ops, see below."""

        __getattr__ = None  # type: ignore[misc,assignment] # a declared op has no other names than its declaration's and those of `Op`
        traits: tuple[str, ...] = ()

else:

    class _DeclaredOpType(type):
        """The metaclass of declarations: they have no instances; ops are `Op`s that know their declaration by name."""

        def __instancecheck__(cls, instance: Any) -> bool:
            declaration = instance.declaration if isinstance(instance, Op) else None
            return declaration is not None and issubclass(declaration.definition, cls)

        def __call__(cls, *args: Any, **keywords: Any) -> Any:
            raise TypeError(f"{cls.__name__} declares an op; ops are made by Builder.emit, or as transload.ir.Op")

    class DeclaredOp(metaclass=_DeclaredOpType):
        """Base of classes that declare ops: with it, the class is a type that mypy and editors know as an `Op`.

        It is never instantiated. `isinstance(op, Conv)` holds for the ops that `Conv`, or a class derived from it, declares.
        """


class OpDeclaration:
    """What is known of an op; made by `Dialect.op` from a class.

    `infer(op)` returns the result type, or a list of them, from operands and attributes. `traits` are
    free words that passes ask for: "commutative", "constant", "terminator", "effects" (not
    removable), "elementwise", "layout". An op that is "open" may have attributes that it does not declare, which mean something
    to others: of a call to something unknown, or a container. Other ops may only where these carry a dialect's prefix.
    """

    def __init__(self, name: str, definition: type) -> None:
        self.name = name
        members: dict[str, _Member] = {
            key: value for base in reversed(definition.__mro__) for key, value in vars(base).items() if isinstance(value, _Member)
        }
        members = {key: member for key, member in members.items() if not isinstance(member, _Absent)}
        for key, member in members.items():
            member.name = key.removesuffix("_")
        slots = [member for member in members.values() if isinstance(member, _Slot)]
        self.operands = [slot for slot in slots if not slot.is_result]
        self.results = [slot for slot in slots if slot.is_result]
        self.result_count = None if any(slot.variadic for slot in self.results) else len(self.results)
        self.attributes: dict[str, _Attribute] = {m.name: m for m in members.values() if isinstance(m, _Attribute)}
        self.regions = [member for member in members.values() if isinstance(member, _Region)]
        self.constraints = [member for member in members.values() if isinstance(member, _Constraint)]
        self.traits: frozenset[str] = frozenset(getattr(definition, "traits", ()))
        self.open = "open" in self.traits
        self.exact = False
        """Whether text has its numbers in the declared types alone, as its dialect says."""
        self.pure = not self.traits & {"effects", "terminator"}
        """Whether the op may be removed where its results are unused."""
        self.folds = not self.traits & {"constant", "effects", "terminator", "random"}
        """Whether the op may be replaced by its results where these are known."""
        self.infer: Callable[[Any], Any] | None = getattr(definition, "infer", None)
        self.definition = definition
        if isinstance(getattr(definition, "traits", ()), str):
            raise TypeError(f"{name}: traits are a tuple of texts, and are {vars(definition).get('traits')!r}")
        for key, declared in self.attributes.items():
            if declared.has_wrong_default:
                raise TypeError(f"{name}: attribute {key!r} must be {declared.kind}, and by default is {declared.default!r:.100}")
        for group in (self.operands, self.results):
            if sum(slot.variadic for slot in group) > 1:
                raise TypeError(f"{name}: at most one variadic operand and one variadic result")
        self.getters = self._make_getters()
        any_operands = any(slot.variadic for slot in self.operands)
        self.least_operands = sum(not slot.variadic and not slot.optional for slot in self.operands)
        self.most_operands = sys.maxsize if any_operands else len(self.operands)
        self.checker: Callable[[Any], list[str] | None] | None = None
        """What the verifier made of the declaration (`transload.ir.verify`), when it first met an op of it."""
        self.getters.update({key: self.getters[m.name] for key, m in members.items() if key != m.name and m.name in self.getters})
        for key in self.getters:
            make_readable(key)
        self.required = [key for key, a in self.attributes.items() if a.default is REQUIRED]
        self.needed = frozenset(self.required)

    @cached_property
    def accepts(self) -> dict[str, Callable[[Attribute], bool]]:
        """By attribute, whether it can hold a value: of its kind, and in the type that text must say where it must."""
        return {key: _accepting(declared.kind, self.exact) for key, declared in self.attributes.items()}

    @cached_property
    def doc(self) -> str:
        """The docstring, its indentation taken off when it is first read."""
        return inspect.cleandoc(self.definition.__doc__ or "")

    def _make_getters(self) -> dict[str, Callable[[Any], Any]]:
        getters: dict[str, Callable[[Any], Any]] = {}
        for is_result, group in ((False, self.operands), (True, self.results)):
            after = len(group)
            for index, slot in enumerate(group):
                after -= 1
                getters[slot.name] = _slot_getter(index, after, slot, any(s.variadic for s in group[:index]), is_result)
        for key, declared in self.attributes.items():
            getters[key] = _attribute_getter(key, None if declared.default is REQUIRED else declared.default)
        for index, member in enumerate(self.regions):
            getters[member.name] = _region_getter(index, member.variadic)
        return getters

    def get_operand(self, op: Op, name: str) -> Any:
        return self.getters[name](op)

    def __repr__(self) -> str:
        return f"<declaration of {self.name}>"


def _accepting(kind: AttributeKind[Any], exact: bool) -> Callable[[Attribute], bool]:
    accepts = kind.accepts
    if not exact or kind.text_type is None:
        return accepts
    return lambda value: kind.other_type(value) is None and accepts(value)


def _slot_getter(index: int, after: int, slot: _Slot, past_variadic: bool, is_result: bool) -> Callable[[Any], Any]:
    """How to read operand or result number `index`, with `after` more declared behind it."""

    def values_of(op: Op) -> Any:
        return op.results if is_result else op.operands

    if slot.variadic:
        return lambda op: tuple(values_of(op)[index : len(values_of(op)) - after])
    if past_variadic:
        return lambda op: values_of(op)[-1 - after]

    def get(op: Op) -> Any:
        values = op.results if is_result else op._operands
        if index < len(values):
            value = values[index]
            if type(value.type) is not NoneType:
                return value
        return None

    return get


def _attribute_getter(key: str, default: Any) -> Callable[[Any], Any]:
    """How to read an attribute; a callable default is called with the op."""
    if callable(default):
        return lambda op: op.attributes[key] if key in op.attributes else default(op)
    return lambda op: op.attributes.get(key, default)


def _region_getter(index: int, variadic: bool) -> Callable[[Any], Any]:
    return (lambda op: tuple(op.regions[index:])) if variadic else (lambda op: op.regions[index])


class Dialect(Watched):
    """A namespace of op declarations; MLIR's names throughout.

    `doc` is for the reference page. `constant` names the op that holds a constant (in its attribute of kind `CONSTANT`), `none`
    the op whose result stands for an absent operand, both with the dialect's name or without it. `properties` says whether text
    has the declared attributes as properties, `<{...}>`; where it has not, those that the dialect's own tools do not declare
    read there, too. `states(op)` gives what an op changes or sees beside its results (`transload.ir.states`). With `custom`,
    models may hold ops that are not declared, as frameworks have those of others; else one without a kernel is a finding.
    With `exact`, numbers of attributes have the type in text that their declaration says, as for tools whose dialect it is.
    """

    def __init__(
        self, name: str, doc: str | None = "", constant: str | None = None, none: str | None = None, properties: bool = True,
        states: Callable[[Op], Iterable[Hashable]] | None = None, custom: bool = False,
        exact: bool = False,
    ) -> None:
        self.name = name
        self.doc = inspect.cleandoc(doc or "")
        self.ops: dict[str, OpDeclaration] = {}
        self.constant = self._full(constant)
        self.none = self._full(none)
        self.properties = properties
        self.states = states
        self.custom = custom
        self.exact = exact

    def _full(self, name: str | None) -> str | None:
        return name if name is None or "." in name else f"{self.name}.{name}"

    @property
    def fault(self) -> str:
        """What is wrong with what it says of itself, in words; '' where nothing is."""
        own = (name for name in (self.constant, self.none) if name is not None and name.startswith(f"{self.name}."))
        if (missing := next((name for name in own if name not in self.ops), None)) is not None:
            return f"names {missing!r}, which is none of its ops"
        if self.constant is not None and self.constant_attribute is None:
            return f"{self.constant!r}, its op for constants, has no attribute of kind CONSTANT"
        return ""

    @cached_property
    def constant_attribute(self) -> str | None:
        """The attribute of the op for constants that holds the constant."""
        declared = self.ops[self.constant].attributes if self.constant is not None else {}
        return next((key for key, attribute in declared.items() if attribute.kind is CONSTANT), None)

    def op(self, name: str) -> Callable[[type[T]], type[T]]:
        """Declare op `<dialect>.<name>` from the decorated class; its declaration is in `ops`."""

        def declare(definition: type[T]) -> type[T]:
            full = f"{self.name}.{name}"
            if full in self.ops:
                raise TypeError(f"{full} is declared twice")
            self.ops[full] = OpDeclaration(full, definition)
            self.ops[full].exact = self.exact
            self.changed()
            return definition

        return declare

    def extend(self, declarations: Iterable[OpDeclaration]) -> None:
        """Add declarations made elsewhere."""
        for declaration in declarations:
            self.ops[declaration.name] = declaration
        self.changed()

    def __repr__(self) -> str:
        return f"<dialect {self.name}: {len(self.ops)} ops>"
