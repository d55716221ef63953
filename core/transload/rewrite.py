"""Rewriting: tables of functions by op name, and the two drivers that apply them.

A rewrite function takes an op and a `Rewriter` and returns what replaces the op:

    TABLE = RewriteTable()

    @TABLE("framework.relu6")
    def relu6(op: Op, rw: Rewriter) -> Value:
        return rw.emit("hub.Relu", op.operands[0], limit=6.0)

    @TABLE("hub.LeakyRelu")
    def leaky_relu(op: LeakyRelu, rw: Rewriter) -> Value:  # the class that declares the op is its static type
        return rw.emit("chip.mul", op.input, filled(op.alpha))

- a `Value`, or a sequence of them, one a result: the op's uses go to them and it is erased;
- `KEPT` (None): it does not match, nothing changed;
- `CHANGED`: the op stays and was changed in place.

It may raise `Unsupported(why, hint)`, which a conversion collects. Tables compose with `+`; several
functions for one name are tried in order. A function for `"hub.*"` is tried on every op of that dialect.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from functools import cache, cached_property
from typing import Any, TypeVar

from .budget import budget
from .classes import is_a
from .context import pinned
from .errors import (
    BuildError,
    ConversionError,
    Finding,
    InternalError,
    OpenSizes,
    PassError,
    PluginFailure,
    TransloadError,
    Unfit,
    Unsupported,
    after_colon,
    merge_findings,
)
from .guard import FOREIGN, goes_through, is_meant, is_whole, process_kept, rule_failed, rule_never_ends, rule_told
from .ir.build import Builder, constant_of, hand_on_names, need_no_use, part_location, stays_stored, values_for
from .ir.constants import Dense
from .ir.core import Block, Op, Value, blocks_of
from .ir.locations import Location, location_names
from .ir.module import Module
from .ir.place import ends_a_region, need_whole, place_of
from .ir.quantization import misfit
from .ir.types import FloatType, IntegerType, TensorType
from .ir.verify import faults_of
from .likeness import need_like, need_operands_there, need_there
from .limits import beyond
from .open_sizes import open_inputs
from .rewrite_table import Concerns, RewriteFunction, RewriteTable
from .trace import traced

__all__ = ["CHANGED", "KEPT", "RewriteTable", "Rewriter", "Rewriting", "apply_greedily", "cannot_convert", "convert_ops"]

KEPT = None


class _Changed:
    """What a rewrite function gives that has changed its op in place: the op stays, and is looked at again."""

    def __repr__(self) -> str:
        return "CHANGED"


CHANGED = _Changed()

Kind = TypeVar("Kind")


_MOST_SPREAD = 1 << 25
"""Numbers of a constant that is one number, said once: as many as rewrites are given an array of."""
_CONTRADICTORY = "types or attributes of the model contradict each other"
_NOT_SERVED = "the conversion has no right form of an op of such types and attributes: give it others in the model, by casts"
DEEPEST = 48
"""Regions in regions that are converted from within a rule; each takes some frames of Python's stack."""
MOST_IN_A_ROW = 1000
"""Rewrites of what the one before made: no model needs as many, but of loops, whose rules count their rounds
(`Rewriter.counts_itself`). What makes ops without end is not for a budget to find. What is made in a region counts as many times
as `DEEPEST` allows."""


class Rewriter(Builder):
    """A builder placed before the op being rewritten.

    New ops are parts of that op: they carry its name for messages. The op that computes a
    replacement value gets the name itself when the rewrite is done.
    """

    def __init__(self, op: Op, fold: bool = False, rewriting: Rewriting | None = None) -> None:
        self.op = self.before = op
        self.block = op.parent  # type: ignore[assignment]
        self.fold = fold
        self.rewriting = rewriting
        self.budget = rewriting.budget if rewriting is not None else None

    counted = False
    _location: Location = None

    @property
    def location(self) -> Location:  # type: ignore[override]
        """That of new ops: parts of the one being rewritten. Many rewrites make none."""
        if self._location is None:
            self._location = part_location(self.op.location, self.op.name)
        return self._location

    @property
    def options(self) -> Mapping[str, Any]:
        """The conversion's options, as its user chose them."""
        return self.rewriting.options if self.rewriting is not None else {}

    def scratch(self, kind: type[Kind]) -> Kind:
        """What the rewrites of this run of the table note down for each other: an object of class `kind`, made by `kind()`."""
        return self.rewriting.scratch(kind) if self.rewriting is not None else kind()

    def counts_itself(self) -> None:
        """Say that the rule makes what is rewritten again, and knows of a last one: the rest of a loop, whose rounds it counts.

        What else comes out of itself for `MOST_IN_A_ROW` times is taken for endless, and the rule for the cause.
        """
        self.counted = True

    def note(self, text: str) -> None:
        """Tell whoever converts the module what was chosen for it (`Module.notes`), once."""
        module = self.rewriting.root if self.rewriting is not None else None
        if isinstance(module, Module) and text not in module.notes:
            module.notes = (*module.notes, text)

    def function(self, symbol: str) -> Op:
        """A function of the module that is converted; `Unsupported` where it has none of that name."""
        found = self.rewriting.functions.get(symbol) if self.rewriting is not None else None
        if found is None:
            raise Unsupported(f"the module has no function {symbol!r}")
        return found

    def convert(self, root: Op) -> None:
        """Convert what is inside `root`, an op of its own or one whose regions have to be converted before it can be.

        Raises `ConversionError` with every op that cannot be. Where a rule lets that pass, and the op has regions, each of
        them is told by itself; of an op that names functions, they are the reason why it cannot be converted.
        """
        if self.rewriting is None:
            raise InternalError("only a rewrite that runs in a conversion can convert regions")
        self.rewriting.convert(root, self.op)

    def constant_of(self, value: Value | None) -> Any:
        """The array a value holds if it is a constant, else None.

        None, too, of a few bytes that stand for more numbers than a rewrite may compute with.
        """
        dense = constant_of(value)
        return None if dense is None or _is_spread(dense) else dense.numpy()

    def need_constant(self, value: Value | None, what: str) -> Any:
        """The array a value holds; `Unsupported` where it is computed at run time."""
        array = self.constant_of(value)
        if array is None:
            why = "repeats one number too often" if constant_of(value) is not None else "is computed at run time"
            raise Unsupported(f"{what} must be a constant, and {why}")
        return array

    def need_number(self, value: Value | None, what: str) -> Any:
        """The one number that a constant holds; `Unsupported` where it is computed, or of more or no elements."""
        array = self.need_constant(value, what)
        if array.size != 1:
            raise Unsupported(f"{what} must be one number, and has shape {array.shape}")
        return array.reshape(()).item()

    def replace(self, outcome: Any) -> None:
        """Replace the op by a value, or by one for each of its results; `TypeError` where it is anything else."""
        self.put(values_for(self.op, outcome))

    def put(self, values: Sequence[Value]) -> None:
        """The same of what is known to be a value for each result (`values_for`)."""
        hand_on_names(self.op, values, self.location)
        self.op.replace_with(values)


class Rewriting:
    """One run of a table over a module: what its rewrites have in common.

    `joins` are tables for ops of other dialects that come up on the way: dialect -> function that gives its table, which is
    called when the first such op is met. An op is not replaced by what breaks its declarations: a file may say of an op what
    nothing can be, and a finding tells that. With `checks`, what is made has sound quantized types, too, and gives what the op
    says that it gives; a `rough` one is looked at when the passes behind it are done (`Conversion.rough`).
    """

    def __init__(
        self, root: Op, table: RewriteTable, source: str, *, fold: bool = True, hint: Callable[[str], str] | None = None,
        options: Mapping[str, Any] | None = None, joins: Mapping[str, Callable[[], RewriteTable]] | None = None,
        checks: bool = False, rough: bool = False,
    ) -> None:
        self.root = root
        self.source = source
        self.fold = fold
        self.hint = hint
        self.checks = checks
        self.rough = rough
        self.options = options or {}
        self.budget = budget()
        self.failures: list[PluginFailure] = []
        """Defects of rewrites, in order; a finding says each, too."""
        self._notes: dict[type, Any] = {}
        self._depth = 0
        self._in_a_row: dict[Op, int] = {}
        self._endless: set[RewriteFunction] = set()
        self._inside: dict[Op, list[Finding]] = {}
        self._spoilers: set[Any] = set()
        self._unspoilt: set[Any] = set()
        self._joins = dict(joins or {})
        self._prefixes = tuple(f"{dialect}." for dialect in (source, *self._joins))
        self._use(table)

    def _use(self, table: RewriteTable) -> None:
        self.table = traced(table)
        self._concerns = Concerns(self._prefixes, table)
        self._known: dict[str, list[RewriteFunction]] = {}

    @cached_property
    def functions(self) -> dict[str, Op]:
        """The functions of the module."""
        return self.root.functions if isinstance(self.root, Module) else {}

    def scratch(self, kind: type[Kind]) -> Kind:
        """An object of class `kind` for this run of the table, made by `kind()` when it is first asked for."""
        found = self._notes.get(kind)
        if found is None:
            found = self._notes[kind] = kind()
        note: Kind = found
        return note

    @pinned()
    def convert(self, root: Op, asking: Op | None = None) -> None:
        """Rewrite what is inside `root`; `ConversionError` with every op that could not be.

        What is found in all regions of the op whose rule is `asking`, or in copies of them, is known of it: looked for again
        where the op stays, it would be at each level of regions, which is twice as often for each.
        """
        nested = asking is not None  # the module itself is none of the loops and branches that lie in each other
        if nested and self._depth >= DEEPEST:
            raise Unsupported(f"loops and branches are nested more than {DEEPEST} deep", "write them as fewer in each other")
        self._depth += nested
        try:
            findings = self.rewrite(root)
        finally:
            self._depth -= nested
        if findings:
            if asking is not None and len(root.regions) == len(asking.regions):
                self._inside.setdefault(asking, findings)
            raise cannot_convert(findings, self.source) from (self.failures[0] if self.failures else None)

    @process_kept()
    def rewrite(self, root: Op) -> list[Finding]:
        """Rewrite what is inside `root`, each op once, in order; the findings."""
        findings: list[Finding] = []
        self._regions(root, findings)
        return findings

    def _regions(self, root: Op, findings: list[Finding]) -> None:
        """Rewrite what is in an op's regions, however deep: what is still to be done is in a list, not on Python's stack."""
        pending: list[Any] = list(blocks_of(root))
        while pending:
            place = pending.pop()
            block, op = (place, place.first) if isinstance(place, Block) else (place.parent, place.next)
            while op is not None:
                if self._concerns[op.name]:
                    before = op.prev
                    finding = self._one(op)
                    inside = self._inside.pop(op, None)
                    if finding is not None:
                        findings += (finding, *(inside or ()))
                    if op.parent is None:
                        # Go on behind what was there before: new ops of the source dialect are visited too.
                        op = before.next if before is not None else block.first
                        continue
                    if finding is not None and inside is not None:  # its regions were looked at by its rule
                        op = op.next
                        continue
                if op.regions:  # of an op that stays as well: it could not be converted, or was changed in place
                    pending.append(op)
                    pending += blocks_of(op)
                    break
                op = op.next

    def _functions_for(self, op: Op) -> list[RewriteFunction]:
        functions = self._known.get(op.name)
        if functions is None:
            load = self._joins.pop(op.dialect, None)
            if load is not None:
                self._use(self.table + load())
            functions = self._known[op.name] = self.table.get(op.name)
        return functions

    def _one(self, op: Op) -> Finding | None:
        """Rewrite one op; the finding where that cannot be."""
        functions = self._functions_for(op)
        rewriter = Rewriter(op, self.fold and not stays_stored(op), self)
        follows: bool | None = None
        held = {inner for inner in op.walk() if inner is not op} if op.regions else frozenset[Op]()
        for function in functions:
            before = op.prev
            try:
                outcome = _tried(function, op, rewriter, to_hub=self.checks)
                if outcome is None:
                    continue
                if outcome is not CHANGED:
                    if not self.rough:
                        self._refuse_faults(op, before)
                    if self.checks:
                        self._refuse_other_results(op, outcome)
                    self._refuse_endlessness(function, rewriter, before, held)
                    rewriter.put(outcome)
                elif not op.regions and not self._concerns[op.name] and (faults := faults_of(op)):
                    raise Unsupported(f"of it this does not hold: {faults[0]}", _NOT_SERVED)  # the rule's own doing
                return None
            except Unsupported as reason:
                why, advice, follows = reason.why, self._advice(reason), reason.follows
            except ConversionError as error:
                if op in self._inside:  # each is told by itself
                    why, advice = "holds ops that cannot be converted", ""
                else:
                    why = "; ".join(f"{finding.what}: {finding.why}" for finding in error.findings) or error.message
                    advice = "; ".join(dict.fromkeys(finding.hint for finding in error.findings if finding.hint)) or error.hint
            except (Unfit, OverflowError) as error:
                why, advice = _misfit(error), _whose_fault(op)
            except PluginFailure as error:  # of what the rule called: a kernel, a shape rule
                self.failures.append(error)
                why, advice = (error.findings[0].why if error.findings else error.message), error.hint
            except MemoryError as error:
                why, advice = f"it needs more memory than there is{after_colon(error)}", ""
            except FOREIGN as error:
                if is_meant(error):
                    raise
                failed = rule_failed(function, op, error)
                failed.__cause__ = error
                self.failures.append(failed)
                why, advice = failed.findings[0].why, failed.hint
            with suppress(BuildError):  # what a function that failed had put to use already stays
                _erase_since(op, before)
            break
        else:
            if not functions and ends_a_region(op):
                return None  # it goes or stays with the op around it, which has its own finding
            why = f"no conversion of {op.name} {'matches this form of it' if functions else 'is registered'}"
            advice = self.hint(op.name) if self.hint else ""
        if follows is None:
            follows = bool(functions) and self._comes_after_a_spoiler(op)
        if follows or any(isinstance(result.type, TensorType) and not result.type.is_static for result in op.results):
            self._spoilers.add(op)
        return Finding(op.name, why, tuple(location_names(op.location)[:1]), advice, follows=follows)

    def _advice(self, reason: Unsupported) -> str:
        """What to do about it: sizes are not asked for where those of all inputs are known."""
        told = isinstance(reason, OpenSizes) and isinstance(self.root, Module) and not open_inputs(self.root)
        return OpenSizes.GIVEN if told else reason.hint

    def _refuse_faults(self, op: Op, before: Op | None) -> None:
        """Raise `Unsupported` where what a rewrite function made of an op breaks the declarations of the ops it consists of.

        Those that are rewritten in their turn are on the way only: what they become is looked at then.
        """
        made = op.prev
        while made is not before and made is not None:
            is_done = not self._concerns[made.name] and (self.checks or not made.regions)  # regions may be converted later
            faults = faults_of(made) if is_done else ()
            if faults:
                raise Unsupported(f"it would become {made.name}, of which this does not hold: {faults[0]}",
                                  _whose_fault(op))
            for value in made.results:
                if (why := beyond(value.type)):
                    raise Unsupported(f"it would become {made.name}, whose result {why}", "sizes of the model are damaged")
                # Below the hub quantized types are on their way out: only what is stored matters there.
                if self.checks and value.quant is not None and (misfits := misfit(value.quant, value.shape_or_none)):
                    raise Unsupported(
                        f"it would become {made.name}, for whose result {misfits}", "scales and sizes contradict each other")
            made = made.prev

    def _refuse_endlessness(self, function: RewriteFunction, rewriter: Rewriter, before: Op | None, held: Set[Op]) -> None:
        """Note what is to be rewritten of what a function made of an op; raise where that came out of the same too often.

        What the op `held` in its regions was not made of it: it may lie as deep as it likes, and is handed on.
        """
        op = rewriter.op
        row, made = self._in_a_row.pop(op, 0) + (not rewriter.counted), op.prev
        while made is not before and made is not None:
            inside = row + MOST_IN_A_ROW // DEEPEST
            for each in made.walk() if made.regions else (made,):
                if self._concerns[each.name] and each not in held:
                    if row >= MOST_IN_A_ROW or function in self._endless:
                        self._endless.add(function)  # what made two at each step would go on from each of them
                        raise rule_never_ends(function, op)
                    self._in_a_row[each] = row if each is made else inside
            made = made.prev

    def _refuse_other_results(self, op: Op, made: Sequence[Value]) -> None:
        """Raise `Unsupported` where an op gives other results than it says: floats for integers, or a shape that was relied upon.

        What ops rely on that are rewritten later is inferred anew; others, of the dialect that is made, have their types.
        """
        for result, value in zip(op.results, made, strict=True):
            if result.type == value.type or result.shape_or_none is None or not result.uses:
                continue
            known, shape = result.known_shape, value.known_shape
            relied = known is not None and shape is not None and known != shape and any(
                user.next is not None and not self._concerns[user.name] for user in result.uses)
            if relied or {type(result.element_or_none), type(value.element_or_none)} == {FloatType, IntegerType}:
                raise Unsupported(
                    f"its result is said to be {result.type}, and is {value.type}", "types of the model contradict each other")

    def _comes_after_a_spoiler(self, op: Op) -> bool:
        """Whether an op computes, over whatever ops, with what comes from one that could not be converted and has an open shape.

        What is wrong with it may be no more than that.
        """
        pending, seen = deque([op]), {op}
        while pending:
            for operand in pending.popleft().operands:
                maker = operand.owner
                if maker in self._spoilers:
                    return True
                if isinstance(maker, Op) and maker not in seen and maker not in self._unspoilt:
                    seen.add(maker)
                    pending.append(maker)
        self._unspoilt |= seen
        return False


def convert_ops(
    root: Op, table: RewriteTable, source: str, *, fold: bool = True, hint: Callable[[str], str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> None:
    """Rewrite every op of dialect `source` inside `root` by `table`, each once, in order.

    Ops of other dialects that the table names are rewritten too: that is how a plugin's own op joins a
    conversion. New ops are not visited again unless they are such ops themselves. At the end, raises
    `ConversionError` with every op that could not be converted: name, count, tensor names, reason
    and hint (`hint(op_name)` says how a plugin could add the missing rewrite).
    """
    Rewriting(root, table, source, fold=fold, hint=hint, options=options).convert(root)


def cannot_convert(findings: Iterable[Finding], source: str) -> ConversionError:
    """The error that says of all these ops that they cannot be converted from dialect `source`.

    Ops that are in the way only because of others that are said, too, are counted and left out.
    """
    findings = list(findings)
    said = [finding for finding in findings if not finding.follows] or findings
    merged = merge_findings(said)
    total = sum(finding.count for finding in merged)
    kinds = len({finding.what for finding in merged})
    follow = sum(finding.count for finding in findings) - total
    return ConversionError(
        f"{total} op(s) of {kinds} kind(s) cannot be converted from {source!r}"
        + (f", and {follow} more that come after them" if follow else ""), merged)


def _refused(op: Op, error: Exception) -> PassError:
    """The error for what a rule of a pass says of an op."""
    where = op.called
    if isinstance(error, Unsupported):
        return PassError(f"{where}: {error.why}", hint=error.hint)
    if isinstance(error, MemoryError):
        return PassError(f"{where} needs more memory than there is{after_colon(error)}")
    return PassError(f"{where}: {_misfit(error)}")


def _whose_fault(op: Op) -> str:
    """What to do where a rule makes of `op` what does not hold: the model is to blame where it broke a rule of `op`'s own."""
    return _CONTRADICTORY if faults_of(op) else _NOT_SERVED


def _misfit(error: Exception) -> str:
    """What is said where a rule met what its types have no answer to, or a number that its types cannot hold."""
    return str(error) if isinstance(error, Unfit) else f"a number of it is beyond what its type holds: {error}"


def _is_spread(dense: Dense) -> bool:
    """Whether a constant that takes less memory than an array of its numbers would has very many of them."""
    count = math.prod(dense.shape)
    return count > _MOST_SPREAD and dense.nbytes < count // 2


def _erase_since(op: Op, before: Op | None) -> None:
    """Erase what a rewrite function created before it gave up."""
    while op.prev is not before and op.prev is not None:
        op.prev.erase()


@process_kept()
def apply_greedily(root: Op, table: RewriteTable, *, fold: bool = True, limit: int = 10) -> bool:
    """Apply `table` until nothing changes; returns whether anything did.

    Ops are visited in order, and again with the ops around them when one changed. `limit` bounds how
    often, on average, an op is visited; a table that goes on for ever is a `PassError`.
    """
    table = traced(table)
    concerns = cache(table.__contains__)  # there are many ops, and few names
    pending = [op for op in root.walk() if concerns(op.name)]
    pending.reverse()
    queued, visits = set(pending), limit * max(1000, len(pending))
    spent, modified, last = budget(), False, None
    while pending:
        op = pending.pop()
        queued.discard(op)
        if op.parent is None:
            continue
        rewriter = Rewriter(op, fold and not stays_stored(op))
        rewriter.budget = spent
        for function in table.get(op.name):
            before, block = op.prev, op.parent
            outcome = _outcome_of(function, op, rewriter)
            if outcome is None:
                continue
            modified, last = True, function
            makers = [v.owner for v in op.operands if isinstance(v.owner, Op)]
            users = [user for result in op.results for user in result.uses]
            if outcome is not CHANGED:
                rewriter.put(outcome)
            created: list[Op] = []
            new = before.next if before is not None else block.first
            while new is not None and new is not op and len(created) < 64 and new not in queued and new.parent is block:
                if new in users:
                    break
                created.append(new)
                new = new.next
            for maker in makers:
                _erase_unused(maker)  # so that what it used is seen to have one user less
            for other in [*users, *makers, *created, op]:
                if other.parent is not None and concerns(other.name) and other not in queued:
                    queued.add(other)
                    pending.append(other)
            break
        visits -= 1
        if visits < 0:
            raise PassError(f"rewriting does not come to an end (last at {op.called}, by {rule_told(last)})")
    return modified


def _tried(function: RewriteFunction, op: Op, rewriter: Rewriter, **where: bool) -> Any:
    """What a rule makes of an op: None, of which nothing is left then, `CHANGED`, or a value for each result (`need_like`)."""
    before, place, held = op.prev, place_of(op), op._operands
    try:
        outcome = function(op, rewriter)
    except (TransloadError, Unsupported) as error:
        if (is_a(error, Unsupported) and is_whole(error)) or goes_through(error, function):
            raise
        raise rule_failed(function, op, error) from error
    need_whole(place, outcome is None)
    if outcome is None:
        _erase_since(op, before)
    elif outcome is not CHANGED:
        outcome = values_for(op, outcome)
        need_no_use(op, before)
        need_like(function, op, outcome, **where)
        need_there(function, op, before, outcome)
    elif held.__class__ is tuple and op._operands is not held and op.parent is not None:  # of very many they are in a list
        need_operands_there(function, op, before, held)
    return outcome


def _outcome_of(function: RewriteFunction, op: Op, rewriter: Rewriter) -> Any:
    """What a rule of a pass makes of an op (`_tried`); what it raises ends the pass, told of by its name."""
    try:
        return _tried(function, op, rewriter, in_pass=True)
    except (Unsupported, Unfit, OverflowError, MemoryError) as error:
        raise _refused(op, error) from (None if isinstance(error, Unsupported) else error)
    except FOREIGN as error:
        if is_meant(error):
            raise
        raise rule_failed(function, op, error) from error


def _erase_unused(op: Op) -> None:
    """Erase an op without effects whose results nobody uses any more, and then those that only it used."""
    pending = [op]
    while pending:
        op = pending.pop()
        declaration = op.declaration
        if op.parent is None or op.regions or declaration is None or not declaration.pure or any(r.uses for r in op.results):
            continue
        pending.extend(v.owner for v in op.operands if isinstance(v.owner, Op))
        op.erase()


def names_of(ops: Iterable[Op]) -> tuple[str, ...]:
    """The original tensor names of some ops, for findings."""
    return tuple(op.origin for op in ops if op.origin)
