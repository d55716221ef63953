"""Building ops: at an insertion point, with inferred result types, folding what is constant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..classes import is_a
from ..context import current
from ..errors import BuildError, ConversionError, Finding, InternalError, PluginFailure, ShapeError, TransloadError
from ..interrupts import is_interrupt
from ..kinds import need
from . import registry
from .attributes import Attribute, own_attributes
from .constants import Dense
from .core import Block, Op, Region, Value
from .exact import in_element, need_whole
from .given import misfit_part, need_part
from .locations import FusedLocation, Location, first_name, location_names
from .misuse import no_constants, no_name, no_place, no_types, not_a_type, refusal, unknown_op
from .readable import builder_text
from .types import NONE, FunctionType, NoneType, TensorType, TupleType, Type
from .verify import broken_rules, faults_of, lacking, lacking_regions, unknown_attributes

if TYPE_CHECKING:
    from ..budget import Budget
    from .declare import OpDeclaration

__all__ = [
    "Builder", "cannot_be", "constant_of", "constants_for", "hand_on_names", "is_constant", "may_fold", "stays_stored",
    "values_for",
]


def constant_of(value: Value | None) -> Dense | None:
    """The constant that a value holds, or None where it is computed, an argument or absent."""
    if value is None:
        return None
    if value.__class__ is not Value:
        need(value, Value, "constant_of", "value")
    owner = value.owner
    if not isinstance(owner, Op):
        return None
    declaration = registry.lookup(owner.name)
    if declaration is None or "constant" not in declaration.traits:
        return None
    for attribute in owner.attributes.values():
        if isinstance(attribute, Dense):
            return attribute
    return None


def is_constant(value: Value | None) -> bool:
    return constant_of(value) is not None


def constants_for(op: Op) -> str | None:
    """The dialect that constants in place of `op` are of: its own, or None, the hub, where that declares no op for them."""
    dialect = registry.dialect(op.dialect)
    return op.dialect if dialect is not None and dialect.constant is not None else None


def may_fold(op: Op, declaration: OpDeclaration) -> bool:
    """Whether what an op computes is known now: its operands are constants or absent, or only their types matter to it.

    This is asked of every op that is made, and `transload.engine.fold` goes on from here.
    """
    if not declaration.folds or not (op._operands or "foldable" in declaration.traits or not declaration.operands):
        return False
    if "shape_only" in declaration.traits:
        return True
    for operand in op._operands:
        if constant_of(operand) is None and type(operand.type) is not NoneType:
            return False
    return not stays_stored(op, declaration)


def stays_stored(op: Op, declaration: OpDeclaration | None = None) -> bool:
    """Whether what an op makes of constants is not to be held: it has the trait "stored", and an attribute of that name is true.

    Neither it nor what it is rewritten to is computed before the model runs.
    """
    if not op.attributes.get("stored"):
        return False
    declaration = declaration or op.declaration
    return declaration is not None and "stored" in declaration.traits


class Builder:
    """Creates ops before `before` in `block` (at its end where `before` is None).

    `location` is given to every op created. With `fold=True`, `emit` computes an op whose operands
    are all constant at once, by its kernel, and returns a constant in its place.
    """

    budget: Budget | None = None
    """What counts the ops that are made, where somebody does."""

    def __init__(self, block: Block, before: Op | None = None, location: Location = None, fold: bool = False) -> None:
        if block.__class__ is not Block or (before is not None and (before.__class__ is not Op or before.parent is not block)):
            raise no_place(block, before)
        need_part(location, Location, "Builder", "location", "a text or a location")
        self.block = block
        self.before = before
        self.location = location
        self.fold = fold

    def __repr__(self) -> str:
        return f"<{builder_text(self)}>"

    def create(
        self, name: str, operands: Sequence[Value] = (), result_types: Sequence[Type] = (),
        attributes: dict[str, Attribute] | None = None, regions: Sequence[Region] = (), location: Location = None,
    ) -> Op:
        """Create an op from its parts, nothing inferred, nothing folded.

        Dictionaries and lists are copied: the caller may go on with them.
        """
        if attributes.__class__ is dict:
            attributes = own_attributes(attributes, name)
        try:
            op = Op(name, operands, result_types, attributes, regions, self.location if location is None else location)
        except BuildError:
            if isinstance(operands, list | tuple) and not all(isinstance(operand, Value) for operand in operands):
                raise refusal(name, operands, attributes or {}) from None
            raise
        if (budget := self.budget) is not None:
            budget.spend_ops(1, len(op.origin or ""))
        return self.block.insert(op, self.before)

    def copied(self, block: Block, arguments: Sequence[Value]) -> list[Value]:
        """Put copies of a block's ops here, with values for its arguments; what it ends with. The copy is counted."""
        self.count_copy()
        mapping: dict[Value, Value] = dict(zip(block.arguments, arguments, strict=True))
        for op in block:
            if op is not block.last:
                self.block.insert(op.clone(mapping), self.before)
        return [mapping.get(value, value) for value in block.terminator.operands]

    def count_copy(self) -> None:
        """Count a copy of a block as an op: one without ops may be copied without end. What the ops become is counted anyway."""
        if self.budget is not None:
            self.budget.spend_ops(1)

    def emit(
        self, name: str, /, *operands: Value | None, element: Type | None = None,
        types: Sequence[Type] | Type | None = None, location: Location = None, **attributes: Attribute,
    ) -> Any:
        """Create an op and return its result, or a tuple where it is not exactly one.

        The result types are inferred by the op's declaration unless `types` gives them; `element`
        then replaces the inferred element type of every result (a quantized type, which inference
        cannot know). An operand of None is an absent optional one. Attributes of None are left out.
        """
        declaration = registry.lookup(name) if name.__class__ is str else no_name(name)
        for operand in operands:
            if operand.__class__ is not Value:
                present, made = self._present(name, operands, attributes)
                try:
                    return self._emitted(name, declaration, present, operands, element, types, location, attributes)
                except BaseException:
                    for each in made:
                        each.owner.erase()  # type: ignore[union-attr]
                    raise
        return self._emitted(name, declaration, operands, operands, element, types, location, attributes)

    def _emitted(
        self, name: str, declaration: OpDeclaration | None, present: Sequence[Any], operands: Sequence[Value | None],
        element: Type | None, types: Sequence[Type] | Type | None, location: Location, attributes: dict[str, Attribute],
    ) -> Any:
        """`emit`, of the operands that are `present`, with a value for each that is absent before others."""
        if attributes:
            attributes = _given(name, operands, attributes, declaration)
        if declaration is not None and not declaration.least_operands <= len(present) <= declaration.most_operands:
            raise refusal(name, operands, attributes)
        if element is not None and not isinstance(element, Type):
            raise not_a_type(name, "element", element)
        op = _of_kinds(Op(name, present, (), attributes, (), self.location if location is None else location), declaration)
        if types is None:
            infer = declaration.infer if declaration is not None else None
            if infer is None and (infer := registry.shape_rule(name)) is None:
                op.drop_references()
                raise unknown_op(name) if declaration is None else no_types(name)
            try:
                types = registry.result_types(op, infer, declaration.result_count if declaration is not None else None)
            except BaseException as error:
                self._give_up(op, error)
                raise
            if element is not None:
                types = [type_.with_element(element) if isinstance(type_, TensorType) else type_ for type_ in types]
        elif not isinstance(types, list | tuple):
            types = _types_of(op, types)
        try:
            op.results = [Value(types[0], op, 0)] if len(types) == 1 else [
                Value(type_, op, index) for index, type_ in enumerate(types)]
        except BuildError:
            op.drop_references()
            raise
        if self.fold and op.results and declaration is not None and may_fold(op, declaration):
            try:
                folded = current().fold(op)
            except BaseException as error:
                self._give_up(op, error)
                raise
            if folded is not None:
                home = constants_for(op)
                constants = tuple([
                    self.constant(array, result.element, dialect=home, location=op.location)
                    for array, result in zip(folded, op.results, strict=True)])
                op.drop_references()
                return constants[0] if len(constants) == 1 else constants
        if (budget := self.budget) is not None:
            budget.ops -= 1
            if budget.ops < 0:
                op.drop_references()
                budget.over()
        self.block.insert(op, self.before)
        return op.results[0] if len(op.results) == 1 else tuple(op.results)

    def _give_up(self, op: Op, error: BaseException) -> None:
        """Let go of an op that something was raised for; `ShapeError` where its declaration says what is wrong with it."""
        meant = is_a(error, TransloadError) and not is_a(error, PluginFailure)
        broken = [] if meant else faults_of(op) or [] if op.results else broken_rules(op) or lacking_regions(op)
        op.drop_references()
        if broken:
            raise cannot_be(op, broken)
        if meant and isinstance(error, ConversionError) and not error.findings and op.name not in error.message:
            raise cannot_be(op, [error.message], error.hint) from error

    def _present(
        self, name: str, operands: Sequence[Value | None], attributes: Mapping[str, Attribute],
    ) -> tuple[Sequence[Value], list[Value]]:
        """The operands of an op where some are absent: those at its end are left out, in place of others is a value for none.

        The second list are those values for none.
        """
        if not all(operand is None or isinstance(operand, Value) for operand in operands):
            raise refusal(name, operands, attributes)
        given = list(operands)
        while given and given[-1] is None:
            given.pop()
        dialect = registry.dialect(name.partition(".")[0])
        home = dialect.name if dialect is not None and dialect.none is not None else None
        present = [self.none(home) if operand is None else operand for operand in given]
        return present, [value for value, operand in zip(present, given, strict=True) if operand is None]

    def constant(
        self, data: Any, element: Type | None = None, dialect: str | None = None, location: Location = None,
    ) -> Value:
        """A constant op of `dialect`, or of the hub, holding `data` (array, number, `TensorData` or `Dense`).

        `element` is the value's element type where it differs from the array's own: a quantized
        type over its storage, or `i4`/`i48` over a wider numpy integer. Floats are rounded to it; a number that it does not
        hold (300 as an `i8`, 1.7 as an `i32`, 1e300 as an `f32`) is a `NumberError`.
        """
        need_whole(data)
        dense = data if isinstance(data, Dense) else Dense(data)
        type_ = dense.type
        if element is not None and not isinstance(element, Type):
            raise not_a_type("constant", "element", element)
        if element is not None and element is not type_.element:
            stored = getattr(element, "storage", element)
            if isinstance(element, TensorType | FunctionType | TupleType):
                raise not_a_type("constant", "element", element)
            if dense.type.element != stored:
                dense = Dense(in_element(dense.data, stored), TensorType(type_.shape, stored))
            type_ = TensorType(type_.shape, element)
        if dialect is None:
            dialect = current().host.in_role("hub").name
        owner = registry.dialect(dialect) if isinstance(dialect, str) else None
        if owner is None or owner.constant is None or owner.constant_attribute is None:
            raise no_constants(dialect)
        return self.create(owner.constant, (), (type_,), {owner.constant_attribute: dense}, (), location).results[0]

    def none(self, dialect: str | None = None) -> Value:
        """A value that stands for an absent operand: an op of `dialect`, or of the hub."""
        if dialect is None:
            dialect = current().host.in_role("hub").name
        owner = registry.dialect(dialect) if isinstance(dialect, str) else None
        if owner is None or owner.none is None:
            raise InternalError(f"dialect {dialect!r:.100} declares no op for absent operands")
        return self.create(owner.none, (), (NONE,)).results[0]


def cannot_be(op: Op, faults: Sequence[str], hint: str = "") -> ShapeError:
    """The error for an op that breaks its declaration."""
    names = tuple(location_names(op.location)[:1])
    return ShapeError(f"{op.name} cannot be so", [Finding(op.name, why, names) for why in faults], hint)


def _types_of(op: Op, given: Any) -> Sequence[Type]:
    """The one result type that was given in place of a list; `BuildError` where it is none."""
    if not isinstance(given, Type):
        op.drop_references()
        raise misfit_part(op.name, "types", given, "a list of types")
    return (given,)


def _given(
    name: str, operands: Sequence[Value | None], attributes: dict[str, Attribute], declaration: OpDeclaration | None,
) -> dict[str, Attribute]:
    """The attributes that are there, None being one that is not; the declaration must have them, or a dialect's prefix."""
    try:
        if None in attributes.values():
            attributes = {key: value for key, value in attributes.items() if value is not None}
        attributes = own_attributes(attributes, name)  # the caller may go on with its lists and dictionaries
    except ValueError:  # of an array, each element of which is compared with None
        raise refusal(name, operands, attributes) from None
    if declaration is not None and not attributes.keys() <= declaration.attributes.keys() and (
            unknown_attributes(attributes, declaration)):
        raise refusal(name, operands, attributes)
    return attributes


def _of_kinds(op: Op, declaration: OpDeclaration | None) -> Op:
    """The op; `ShapeError` where an attribute holds what its kind does not, of which a model may be the cause, as of shapes."""
    if declaration is None or not op.attributes:
        return op
    accepts = declaration.accepts
    for key, value in op.attributes.items():
        accept = accepts.get(key)
        try:
            fits = accept is None or bool(accept(value))
        except MemoryError as error:
            raise lacking(op, error) from error
        except BaseException as error:
            if is_interrupt(error):
                raise
            continue  # a plugin's kind that fails: checking the module tells whose it is
        if not fits:
            broken = broken_rules(op)
            op.drop_references()
            raise cannot_be(op, broken)
    return op


def values_for(op: Op, outcome: Any) -> Sequence[Value]:
    """What a rewrite function returned, as a value for each result of the op; `TypeError` where it is anything else."""
    if outcome.__class__ is Value and len(op.results) == 1:  # as nearly always
        return (outcome,)
    values: Any = (outcome,) if isinstance(outcome, Value) else outcome
    strange = [type(each).__name__ for each in values if not isinstance(each, Value)] if isinstance(values, tuple | list) else []
    if strange or not isinstance(values, tuple | list):
        what = type(outcome).__name__ + "".join(f" with a {name} in it" for name in strange[:1])
        raise TypeError(f"gives a {what}, where None, CHANGED or a value for each result is wanted")
    if len(values) != len(op.results):
        raise TypeError(f"gives {len(values)} values, where the op has {len(op.results)} results")
    return values


def part_location(location: Location, part: str) -> Location:
    """The location of a helper op inside what an op at `location` becomes; it claims no tensor name."""
    if isinstance(location, FusedLocation) and location.metadata is not None:
        return location
    return FusedLocation((location,), part) if location is not None else None


def hand_on_names(op: Op, replacements: Sequence[Value], part: Location) -> None:
    """Give the names of `op`'s results to the ops that compute them now, where those are parts of `op`, as all at `part` are."""
    for result, value in zip(op.results, replacements, strict=True):
        maker = value.owner
        if not isinstance(maker, Op) or not isinstance(maker.location, FusedLocation) or maker.location.metadata is None:
            continue
        if maker.location is not part and first_name(maker.location) != first_name(op.location):
            continue
        if len(maker.results) == 1:
            name = result.name
            if name is not None:
                maker.location = name
        elif len(maker.results) == len(replacements) and all(
                v.owner is maker and v.index == i for i, v in enumerate(replacements)):
            maker.location = op.location


def need_no_use(op: Op, before: Op | None) -> None:
    """Raise `ValueError` where what a rewrite function made of an op uses the results that it is to take the place of."""
    made = op.prev
    while made is not before and made is not None:
        if any(value.owner is op for value in made.operands):
            raise ValueError(f"makes a {made.name} that uses the results of the {op.name} which it replaces")
        made = made.prev
