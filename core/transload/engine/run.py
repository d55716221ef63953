"""Running a function of a module: one kernel an op, in order, each value dropped after its last use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..arrays import as_array, described, in_type, is_numpys, number_kind
from ..budget import check_deadline
from ..errors import Finding, InputError, PluginFailure, RunError, TransloadError, after_colon, merge_findings
from ..guard import FOREIGN, goes_through, kernel_failed
from ..handles import Handle
from ..ir import (
    FloatType,
    IntegerType,
    NoneType,
    Op,
    QuantType,
    Region,
    TensorType,
    Type,
    Value,
    dtype_of,
    input_names,
    input_types,
    output_names,
    output_types,
)
from ..ir.build import constant_of
from ..ir.constants import TensorData
from ..ir.verify import check_inference
from ..plugin_host import host
from .facts import facts_kept
from .integers import exact_kernel
from .room import need_bytes

__all__ = ["Plan", "Watch", "check_inputs", "fit", "fitted", "named_outputs"]

Form = tuple[tuple[int, ...], np.dtype] | None

Watch = Callable[[Value, Any], Any]
"""Told of each value and what was computed for it."""


def _is_deep() -> bool:
    """Whether three quarters of the frames that Python allows are in use: to run what is planned takes no more of them than that
    did, and what a kernel calls lies in the rest."""
    try:
        sys._getframe(sys.getrecursionlimit() * 3 // 4)
    except ValueError:
        return False
    return True


class Plan:
    """A block made ready to run: for each op its kernel, where its operands lie, and what dies after it.

    Constants are placed once; values of blocks around this one are read from the enclosing run. With `is_checked`, what kernels
    give has to be of the results' types: of a function that is run as it stands. Kernels run bodies on many elements at once.
    """

    def __init__(
        self, region: Region, module: Op, outer: Mapping[Value, int] | None = None, *, is_checked: bool = False,
        around: tuple[Region, ...] = (), planned: dict[Region, Plan] | None = None,
    ) -> None:
        block = region.block
        self.planned = planned if planned is not None else {}
        """The functions that are planned already: one that is called from many places is planned once."""
        self.around = (*around, region)
        """The regions whose plans this one is part of, from the outermost to its own."""
        self.is_checked = is_checked
        self.module = module
        self.arguments = list(block.arguments)
        self.slots: dict[Value, int] = dict(outer or {})
        self.n_outer = len(self.slots)
        self.constants: list[tuple[int, np.ndarray]] = []
        self.steps: list[tuple[Op, Callable[..., Any], list[int], list[int], list[int], list[Form]]] = []
        self.unsized: set[int] = set()
        """Where values lie whose sizes are known when they are computed."""
        self.results: list[int] = []
        self.missing: list[Finding] = []
        self.count = 0
        """The ops that one execution may run, those of functions as often as they are called; of the regions of an op the most
        that one has, once: of branches one is run, and how often a body is, nobody knows."""
        self.inexact: list[Op] = []
        """Quantized ops that are computed through real numbers, since nobody says which integers they give."""
        self._plan(block)

    def _slot(self, value: Value) -> int:
        return self.slots.setdefault(value, len(self.slots))

    def _plan(self, block: Any) -> None:
        for argument in block.arguments:
            self._slot(argument)
        last_use: dict[int, int] = {}
        unaligned: set[int] = set()
        for op in block:
            declaration = op.declaration
            if declaration is not None and "terminator" in declaration.traits:
                self.results = [self.slots[value] for value in op.operands]
                break
            outputs = [self._slot(result) for result in op.results]
            dense = constant_of(op.results[0]) if op.results else None
            if dense is not None:
                array = dense.numpy()
                self.constants.append((outputs[0], array))
                if not array.flags.aligned:
                    unaligned.add(outputs[0])
                continue
            if all(isinstance(result.type, NoneType) for result in op.results) and op.results:
                continue  # an absent operand: its slot stays None
            kernel = self._kernel(op)
            inputs = [self.slots[value] for value in op.operands]
            if not op.regions and not unaligned.isdisjoint(inputs):
                kernel = _of_aligned(kernel)
            for slot in [*inputs, *(self.slots[v] for v in _captured(op) if v in self.slots), *outputs]:
                last_use[slot] = len(self.steps)
            forms = [_form(result.type) if self.is_checked else None for result in op.results]
            self.steps.append((op, kernel, inputs, outputs, [], forms))
            self.unsized.update(slot for slot, result in zip(outputs, op.results, strict=True) if _form(result.type) is None)
            self.count += 1
        kept = {*self.results, *range(self.n_outer), *(slot for slot, _ in self.constants)}
        for slot, step in last_use.items():
            if slot not in kept:
                self.steps[step][4].append(slot)

    def _kernel(self, op: Op) -> Callable[..., Any]:
        if op.name == "func.call":
            return self.called(op, str(op.callee), next(
                (f for f in self.module.regions[0].block if f.attributes.get("sym_name") == op.callee), None))
        found = host().kernel(op.name)
        if found is None:
            self.missing.append(
                Finding(
                    op.name,
                    "no kernel executes this op",
                    (op.origin,) if op.origin else (),
                    "a plugin adds one to the KernelTable of the dialect (hook register_dialects)",
                )
            )
            return lambda op, *arrays: None
        kernel, exact = exact_kernel(op, *found)
        if not exact:
            self.inexact.append(op)
        if hasattr(kernel, "plans"):
            return _planned(op, kernel, self)
        if not op.regions:
            return kernel
        if _is_deep():
            why, hint = self._too_deep()
            self.missing.append(Finding(op.name, why, (op.origin,) if op.origin else (), hint))
            return kernel
        plans = {id(region): Plan(region, self.module, self.slots, around=self.around, planned=self.planned)
                 for region in op.regions if region.blocks}
        for plan in plans.values():
            self.missing.extend(plan.missing)
            self.inexact.extend(plan.inexact)
        self.count += max((plan.count for plan in plans.values()), default=0)

        def with_regions(op: Op, *arrays: Any, values: list[Any], watch: Watch | None) -> Any:
            def run(region: Region, *inputs: Any) -> list[np.ndarray]:
                return plans[id(region)].execute(inputs, values, watch)

            return kernel(op, *arrays, run=run)

        with_regions.wants_values = True  # type: ignore[attr-defined]
        return with_regions

    def _too_deep(self) -> tuple[str, str]:
        return (f"lies in {len(self.around)} functions and regions that lie in each other, deeper than Python has frames for",
                "the module runs once it is converted, where functions stand where they are called")

    def called(self, op: Op, name: str, callee: Op | None) -> Callable[..., Any]:
        """What runs a function in place of an op with its operands; `missing` says why it cannot be run."""
        why, hint = "", ""
        if callee is None or not callee.regions[0].blocks:
            why = f"calls @{name}, which the module does not have"
        elif callee.regions[0] in self.around:
            why, hint = f"calls @{name}, which calls itself", "write the recursion as a loop"
        elif _is_deep():
            why, hint = self._too_deep()
        if callee is None or why:
            self.missing.append(Finding(op.name, why, (op.origin,) if op.origin else (), hint))
            return lambda op, *arrays: None
        region = callee.regions[0]
        if region not in self.planned:
            plan = self.planned[region] = Plan(region, self.module, around=self.around, planned=self.planned)
            self.missing.extend(plan.missing)
            self.inexact.extend(plan.inexact)
        self.count += self.planned[region].count
        return lambda op, *arrays, plan=self.planned[region]: tuple(plan.execute(arrays))

    def execute(
        self,
        inputs: Sequence[np.ndarray],
        outer: list[Any] | None = None,
        watch: Watch | None = None,
    ) -> list[np.ndarray]:
        """Run with these arguments; `watch` is given every result as it is computed, those inside regions too, and may give
        another in its place."""
        values: list[Any] = [None] * len(self.slots)
        if outer is not None:
            values[: self.n_outer] = outer[: self.n_outer]
        for slot, array in self.constants:
            values[slot] = array
        for argument, array in zip(self.arguments, inputs, strict=True):
            values[self.slots[argument]] = array
        check_deadline()
        held = _Held(self.unsized, values)
        with np.errstate(all="ignore"), facts_kept():
            for op, kernel, ins, outs, dead, forms in self.steps:
                check_deadline()
                arrays = [values[slot] for slot in ins]
                try:
                    if hasattr(kernel, "wants_values"):
                        computed = kernel(op, *arrays, values=values, watch=watch)
                    else:
                        computed = kernel(op, *arrays)
                    outputs = computed if isinstance(computed, tuple | list) else (computed,)
                    if len(outputs) != len(outs):
                        raise _failed(op, kernel, TypeError(f"gives {len(outputs)} results, where the op has {len(outs)}"))
                    for slot, given, result, form in zip(outs, outputs, op.results, forms, strict=True):
                        fits = ((getattr(given, "shape", None), getattr(given, "dtype", None)) == form if form is not None
                                else hasattr(given, "dtype") or isinstance(given, Handle)
                                or not isinstance(result.type, TensorType))
                        kept = given if fits else _narrowed(given, form)
                        if kept.__class__ is not np.ndarray and isinstance(kept, np.ndarray):
                            if np.ma.is_masked(kept):
                                raise _failed(op, kernel, TypeError("gives a masked array: behind a mask there are no numbers"))
                            kept = kept.view(np.ndarray)  # subclasses have rules of their own: * of np.matrix is a product
                        if kept is None:
                            raise _misfit(op, kernel, f"gives {described(given)}, where {result.type} is wanted")
                        values[slot] = kept
                except MemoryError as error:
                    raise _too_large(op, error) from error
                except FOREIGN as error:
                    if goes_through(error, _registered(op, kernel)):
                        raise
                    raise _failed(op, kernel, error) from error
                held.take(outs)
                if watch is not None:
                    for slot, result in zip(outs, op.results, strict=True):
                        if (other := watch(result, values[slot])) is not None:
                            values[slot] = other
                held.drop(dead)
        return [values[slot] for slot in self.results]


class _Held:
    """What values take whose sizes are known when they are computed; `NoRoom` where that is more than they may."""

    def __init__(self, unsized: set[int], values: list[Any]) -> None:
        self._unsized = unsized
        self._values = values
        self._count = 0

    def take(self, slots: Sequence[int]) -> None:
        """Values that are there now."""
        if not self._unsized.isdisjoint(slots):
            self._count += sum(map(self._bytes, slots))
            need_bytes(self._count)

    def drop(self, slots: Sequence[int]) -> None:
        """Values that nobody uses any more."""
        for slot in slots:
            self._count -= self._bytes(slot)
            self._values[slot] = None

    def _bytes(self, slot: int) -> int:
        array = self._values[slot]
        return array.nbytes if slot in self._unsized and isinstance(array, np.ndarray) else 0


def _planned(op: Op, kernel: Callable[..., Any], plan: Plan) -> Callable[..., Any]:
    """What executes an op, as its kernel says before anything is run (`KernelTable`)."""
    try:
        planned: Callable[..., Any] = kernel.plans(op, plan)  # type: ignore[attr-defined]
    except FOREIGN as error:
        if goes_through(error, _registered(op, kernel)):
            raise
        raise _failed(op, kernel, error) from error
    return planned


def _of_aligned(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that is given constants as numpy likes them, as long as it runs.

    In a model's file they lie where they lie; numpy multiplies what is not at a multiple of its size by other loops, with other
    last bits, and a result must not depend on where a file has its bytes.
    """
    def run(op: Op, *arrays: Any, **how: Any) -> Any:
        placed = [np.require(each, requirements="A") if isinstance(each, np.ndarray) else each for each in arrays]
        return kernel(op, *placed, **how)

    vars(run).update(vars(kernel))
    return run


_NARROW = frozenset({"int2", "uint2", "int4", "uint4"})


def _narrowed(array: Any, form: Form) -> np.ndarray | None:
    """What numpy computed in bytes, of integers that have fewer bits, in their own type; None for anything else."""
    shape, dtype = form or (None, None)
    if getattr(array, "shape", None) != shape or getattr(dtype, "name", "") not in _NARROW or array.dtype.itemsize != 1:
        return None
    return np.asarray(array).astype(dtype) if array.dtype.kind in "iu" else None


def _form(type_: Type) -> Form:
    """The shape and dtype of the arrays of a type; None where they are not known before they are computed."""
    if not isinstance(type_, TensorType) or not type_.is_static:
        return None
    try:
        return type_.static_shape, dtype_of(type_.element)
    except ValueError:  # of a dialect's own
        return None


def _failed(op: Op, kernel: Callable[..., Any], error: BaseException) -> PluginFailure:
    """The error for an op whose kernel raised what it should not, or gave what the op does not."""
    return kernel_failed(_registered(op, kernel), op, error)


def _registered(op: Op, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """An op's kernel as a plugin registered it, which may not be what is run."""
    found = host().kernel(op.name)
    return kernel if found is None else found[0]


def _misfit(op: Op, kernel: Callable[..., Any], what: str) -> TransloadError:
    """The error for a result that is not of its type: the kernel's, where that type follows from those of the operands."""
    stale = check_inference(op)
    if not stale:
        return _failed(op, kernel, TypeError(what))
    return RunError("types of results do not follow from those of operands, as where one was changed by hand", stale,
                    hint="what is computed of a value has to change with it; sizes that are given when a model is read do that: "
                         "--shape NAME:SHAPE, --batch SIZE")


def _too_large(op: Op, error: MemoryError) -> RunError:
    """The error for an op whose result does not fit into memory."""
    types = ", ".join(str(result.type) for result in op.results)
    return RunError("the module needs more memory than there is", [
        Finding(op.name, f"makes {types[:200]}{after_colon(error)}", (op.origin,) if op.origin else ())])


def _captured(op: Op) -> list[Value]:
    """Values from outside that the regions of an op use."""
    return [value for inner in op.walk() if inner is not op for value in inner.operands] if op.regions else []


def check_inputs(function: Op, inputs: Mapping[str, Any]) -> list[np.ndarray]:
    """The arrays for a function's arguments, in order, each of its type; `InputError` lists all that do not fit.

    They are given as `input_types` has them: where that is another sign than the argument's, the same bits are passed on.
    """
    given = fitted(function, inputs).values()
    return [_as_held(array, argument.type) for array, argument in zip(given, function.regions[0].block.arguments, strict=True)]


def fitted(function: Op, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays for a function's inputs by name, in order, as `input_types` has them; `InputError` lists all that do not fit."""
    types = dict(zip(input_names(function), input_types(function), strict=True))
    findings = [
        Finding(f"input {name!r}", "is not an input of the function", hint=f"inputs: {', '.join(types) or 'none'}")
        for name in inputs
        if name not in types
    ]
    arrays: dict[str, Any] = {}
    for name, type_ in types.items():
        if name not in inputs:
            findings.append(Finding(f"input {name!r}", f"is missing; it is {type_}"))
            continue
        given = inputs[name]  # of a tuple or a dialect's own type, whatever its kernels take
        arrays[name], why = fit(given, type_) if isinstance(type_, TensorType) else (given, "")
        if isinstance(type_, TensorType) and not why and _is_beyond(arrays[name], type_.element):
            why = f"holds numbers that {type_.element} has not"
        if why:
            hint = _sign_hint(arrays[name], type_) if hasattr(given, "dtype") else ""  # which lists have not
            findings.append(Finding(f"input {name!r}", why, hint=hint))
    if findings:
        raise InputError("the inputs do not fit the function", merge_findings(findings))
    return arrays


def fit(given: Any, type_: TensorType) -> tuple[Any, str]:
    """What is given as an array of `type_`, or why it cannot be: numbers of another type must be such that this one has.

    What lies in a file still is not read before its shape and type are known to fit.
    """
    wanted = dtype_of(type_.element)
    is_typed = hasattr(given, "dtype")
    if np.ma.is_masked(given):
        return given, f"is masked, and must be {type_}: behind a mask there are no numbers"
    try:
        given = given if isinstance(given, TensorData) else np.asarray(given) if is_typed else _of_lists(given, wanted)
    except (ValueError, TypeError, OverflowError) as error:
        return np.array(None), f"is no array, and must be {type_}: {error}"
    shape = tuple(given.shape)
    if type_.shape is not None and (
        len(shape) != len(type_.shape) or any(want not in (None, have) for want, have in zip(type_.shape, shape, strict=True))
    ):
        return given, f"has shape {shape}, and must be {type_}"
    dtype = given.dtype
    is_bits = dtype.type is np.void and dtype.names is None and dtype.itemsize == wanted.itemsize and not is_numpys(wanted)
    if is_bits or dtype == wanted:
        array = as_array(given)
        return (array.view(wanted) if is_bits else array), ""  # as files have numbers of types that numpy does not know
    if isinstance(type_.element, QuantType) and number_kind(dtype) == "f":
        return given, f"is {dtype}; give the stored {wanted} of {type_.element}"
    if (_other_sign(dtype, wanted) and is_typed) or not _leads_to(number_kind(dtype), number_kind(wanted)):
        return given, f"is {dtype}, and must be {wanted}"
    array = as_array(given)
    cast = in_type(array, wanted)
    return (array, f"holds numbers that {wanted} cannot") if cast is None else (cast, "")


def _is_beyond(array: np.ndarray, element: Type) -> bool:
    """Whether integers leave a range in which their dtype does not keep them: `i48` has 64 bits, quantized types may say less."""
    if isinstance(element, QuantType):
        kept = element.storage_min, element.storage_max
        ends = kept if kept != element.storage.range else None
    else:
        ends = element.range if isinstance(element, IntegerType) and element.width == 48 else None
    kind = number_kind(array.dtype)
    if ends is None or kind not in ("i", "u") or not array.size:
        return False
    numbers = array if is_numpys(array.dtype) else array.astype(np.int16)
    return bool(numbers.min() < ends[0] or numbers.max() > ends[1])


def _leads_to(kind: str, wanted: str) -> bool:
    """Whether numbers of one kind (`number_kind`) are numbers of another, of which none is a truth."""
    return kind != "" and wanted != "b" and "biufc".index(kind) <= "biufc".index(wanted.replace("i", "u"))


def _of_lists(given: Any, wanted: np.dtype) -> np.ndarray:
    """Numbers, and lists of such, as an array: whole ones of more bits than numpy takes for them, too, where those wanted have so
    many."""
    array = np.asarray(given)
    if wanted.kind == "u" and array.dtype.kind in "fO":
        numbers = np.asarray(given, object)
        if all(type(number) is int and 0 <= number <= np.iinfo(wanted).max for number in numbers.flat):
            return numbers.astype(wanted)
    return array


def _other_sign(given: np.dtype, wanted: np.dtype) -> bool:
    """Whether two types are integers of one width, one signed and one not: such arrays are mixed up, not converted."""
    return {number_kind(given), number_kind(wanted)} == {"i", "u"} and given.name.lstrip("u") == wanted.name.lstrip("u")


def _sign_hint(array: Any, type_: Any) -> str:
    """What to do where an array has the other sign."""
    wanted = dtype_of(type_.element) if isinstance(type_, TensorType) else array.dtype
    if not _other_sign(array.dtype, wanted):
        return ""
    return f"array.astype({str(wanted)!r}) where the numbers are meant, array.view({str(wanted)!r}) where the bits are"


def _as_held(array: Any, type_: Type) -> Any:
    """Numbers in the type that a function has for them: the same bits with another sign, the same numbers in another width."""
    element = type_.element if isinstance(type_, TensorType) else None
    if not isinstance(element, IntegerType | FloatType) or not isinstance(array, np.ndarray) or array.dtype.kind not in "iufV":
        return array
    dtype = dtype_of(element)
    if array.dtype == dtype:
        return array
    return array.view(dtype) if _other_sign(array.dtype, dtype) else array.astype(dtype)


def named_outputs(function: Op, outputs: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Results keyed by output name, in order, as `output_types` has them."""
    return {
        name: _as_held(array, type_)
        for name, array, type_ in zip(output_names(function), outputs, output_types(function), strict=True)}
