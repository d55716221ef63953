"""What stored integers stand for, where their own types do not say it.

A dialect of plain integers (TOSA, StableHLO) keeps of a quantized tensor what is stored. Where a quantizer of ours made it, its
scale is in the report that lies beside the artifact (`quantization.types`), by the tensor's name, and those of inputs and
outputs are there whoever made them; so the artifact can be fed with real numbers, and its tensors be compared with those of the
float model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .analysis.movement import moved
from .apart import note_read
from .artifact_set import REPORT
from .engine.quantized import dequantize, quantize
from .errors import MissingFunction, TransloadError, UsageError
from .files import is_file, is_folder
from .ir import FloatType, IntegerType, Module, Op, QuantType, TensorType, Value, dtype_of
from .ir.borders import RANGE, input_names
from .ir.types import Type
from .json_text import of_json_text
from .shell import quoted
from .text import parse_type

__all__ = [
    "Changes", "as_stored", "as_taken", "has_report", "limits_of", "names_no_function", "note_ranges", "of_function",
    "quantized_at_once", "quantized_element", "quantized_tensors", "real_numbers", "reported_changes", "reported_function",
    "reported_types", "taken_rounded", "unsaid_function", "with_meanings",
]

_REPORT_BYTES = 1 << 24


def quantized_tensors(module: Module) -> dict[str, QuantType]:
    """The element types of the quantized tensors that a module computes or is given, by their names: those with one scale."""
    found: dict[str, QuantType] = {}
    for op in module.walk():
        for result in op.results if op.operands else ():  # a constant may have thousands of scales
            element = _element(result)
            if result.name and element is not None and element.per_tensor:
                found[result.name] = element
    main = module.body_of_main
    for name, value in (*zip(module.inputs, main.arguments, strict=True),
                        *zip(module.outputs, main.terminator.operands, strict=False)):
        element = _element(value)
        if element is not None and element.per_tensor:
            found[name] = element
    return found


def quantized_at_once(function: Op) -> dict[str, QuantType]:
    """The types that a function's inputs of floats become before anything computes with them, by name: those with one scale."""
    arguments, found = function.regions[0].block.arguments, {}
    taken = _quantized_as(function) if any(value.is_float for value in arguments) else {}
    for name, value in zip(input_names(function), arguments, strict=True):
        types = taken.get(value, set()) if value.is_float else set()
        element = next(iter(types)) if len(types) == 1 else None
        if element is not None and element.per_tensor:
            found[name] = element
    return found


def _quantized_as(function: Op) -> dict[Value, set[QuantType | None]]:
    """The types to which each value is quantized where it is taken, or moved and then taken; None among them of what else takes
    it. Beyond two no more are noted: there is no one type then.

    An op is looked at once, after all that take its results, which come behind it.
    """
    found = defaultdict[Value, set[QuantType | None]](set)
    for op in reversed([*function.walk()]):
        moves = {*moved(op, by_value=False)}
        behind = {element for result in op.results for element in found[result]} if moves else set()
        alone: QuantType | None = _element(op.results[0]) if len(op.operands) == len(op.results) == 1 else None
        for operand in {*op.operands}:
            types = found[operand]
            if len(types) < 2:
                types.update(behind if operand in moves else {alone})
    return found


def limits_of(element: QuantType) -> tuple[float, float]:
    """The least and the greatest real number that a type with one scale holds."""
    least, most = dequantize(np.array([element.storage_min, element.storage_max]), element).tolist()
    return least, most


def _element(value: Value) -> QuantType | None:
    element = value.type.element if isinstance(value.type, TensorType) else None
    return element if isinstance(element, QuantType) else None


def quantized_element(type_: Type) -> QuantType | None:
    """What the integers of a tensor stand for, where its type says it and they have one scale."""
    element = type_.element if isinstance(type_, TensorType) else None
    return element if isinstance(element, QuantType) and element.per_tensor else None


def reported_types(artifact: Path) -> dict[str, QuantType]:
    """The types of quantized inputs and outputs of an artifact (a folder, a file in it, its report), and of the tensors that were
    quantized on the way to it, by name.

    Empty where no report of ours is beside it, or where it says nothing of the kind.
    """
    try:
        report = _report(artifact)
        ends = {each["name"]: each.get("quantization") or each.get("taken_as")
                for side in ("inputs", "outputs") for each in report.get(side) or ()}
        said = {**{name: text for name, text in ends.items() if text is not None}, **(_reported(report).get("types") or {})}
        types = {name: parse_type(text) for name, text in said.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, TransloadError):  # damaged
        return {}
    return {name: type_ for name, type_ in types.items() if isinstance(type_, QuantType) and type_.per_tensor}


def reported_options(artifact: Path) -> dict[str, Any]:
    """The options by which an artifact was made, as its report has them; none where that says nothing of the kind."""
    said = _report(artifact).get("options")
    return dict(said) if isinstance(said, dict) else {}


def reported_function(artifact: Path) -> str | None:
    """The function or signature of its model that an artifact was made of, as its report has it; None for the main one."""
    said = _report(artifact).get("function")
    return said if isinstance(said, str) else None


def has_report(artifact: Path) -> bool:
    """Whether a report of ours is beside an artifact (a folder, a file in it)."""
    return bool(_report(artifact))


def names_no_function(artifact: Path) -> bool:
    """Whether a report is there beside an artifact, and names no function: it was made of the model's main one."""
    report = _report(artifact)
    return bool(report) and not isinstance(report.get("function"), str)


def unsaid_function(asked: str) -> str:
    """What to know where an artifact is compared with a function, and `names_no_function`."""
    return ("the report beside the artifact names no function, which is the model's main one then; it is compared with "
            f"{asked!r}")


def _has(read: Callable[[str | None], Module], function: str | None) -> bool:
    """Whether a model has a function, even one that does not go with what it is read with."""
    try:
        read(function)
    except MissingFunction:
        return False
    except TransloadError:
        return True
    return True


def of_function(read: Callable[[str | None], Module], asked: str | None, reported: str | None) -> Module:
    """What `read` makes of a model's function: the one that is asked for, else that which an artifact's report says.

    A file of the same model in another format has none of that name: then it is its main one. Raises `UsageError` where another
    is asked for, and the model has the one of the report: what differs would be put down to the conversion.
    """
    if asked is not None and reported not in (None, asked) and _has(read, reported):
        raise UsageError(f"the artifact was made of the function {reported!r}, and {asked!r} is asked for",
                         hint=f"leave that out, or convert the model once more with --function {quoted(asked)}")
    if asked is not None or reported is None:
        return read(asked)
    try:
        return read(reported)
    except MissingFunction:
        return read(None)


@dataclass(frozen=True)
class Changes:
    """Tensors that an artifact holds otherwise than its model, by name, and what takes them makes up for it."""

    factors: Mapping[str, tuple[int, np.ndarray]] = field(default_factory=dict)
    """What channels were divided by: the dimension that counts them, and a number for each."""
    cut: Collection[str] = ()
    """Tensors that end where their type does."""


def reported_changes(artifact: Path) -> Changes:
    """What a quantizer changed on the way to an artifact (`Quantized.report`).

    Nothing where no report of ours is beside it, or where it says nothing of the kind.
    """
    try:
        details = _reported(_report(artifact)).get("details") or {}
        found = {name: (int(each["axis"]), np.asarray(each["factors"], np.float64))
                 for name, each in (details.get("scaled") or {}).items()}
        cut = {name for name in details.get("cut") or () if isinstance(name, str)}
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):  # damaged
        return Changes()
    return Changes({name: (axis, factors) for name, (axis, factors) in found.items() if factors.ndim == 1 and axis >= 0}, cut)


def _reported(report: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a report says of quantization."""
    said = report.get("quantization")
    return said if isinstance(said, dict) else {}


def _report(artifact: Path) -> Mapping[str, Any]:
    """The report beside an artifact; nothing where there is none, or it is of something else."""
    folder = artifact if is_folder(artifact) else artifact.parent
    report = folder / REPORT
    try:
        if not is_file(report) or report.stat().st_size > _REPORT_BYTES:
            return {}
        found: Any = of_json_text(report.read_text(encoding="utf-8"))
        if not artifact.is_dir() and artifact.name != REPORT and artifact.name not in found["files"]:
            return {}
        note_read(report)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):  # none, or damaged
        return {}
    return found if isinstance(found, dict) else {}


def with_meanings(types: Mapping[str, Type], meanings: Mapping[str, QuantType]) -> dict[str, Type]:
    """The types of tensors of integers as those of what they stand for; others, and integers that are not stored so, as is."""
    return {name: _with_meaning(type_, meanings.get(name)) for name, type_ in types.items()}


def _with_meaning(type_: Type, meaning: QuantType | None) -> Type:
    if meaning is None or not isinstance(type_, TensorType) or not isinstance(type_.element, IntegerType):
        return type_
    return type_.with_element(meaning) if dtype_of(type_.element) == dtype_of(meaning.storage) else type_


def note_ranges(model: Module, meanings: Mapping[str, QuantType]) -> None:
    """Note of a float model's inputs the range that their quantized forms have, where its file says none: for random inputs."""
    function = model.main
    attributes = [dict(each) for each in function.attributes.get("arg_attrs") or [{} for _ in model.inputs]]
    for attribute, (name, type_) in zip(attributes, model.inputs.items(), strict=True):
        meaning = meanings.get(name)
        is_float = isinstance(type_, TensorType) and isinstance(type_.element, FloatType)
        if meaning is not None and is_float and RANGE not in attribute:
            attribute[RANGE] = [*limits_of(meaning)]
    if any(attributes):
        function.attributes["arg_attrs"] = attributes


def as_stored(arrays: Mapping[str, np.ndarray], types: Mapping[str, Type]) -> dict[str, np.ndarray]:
    """Arrays by name, those of floats quantized where their type is."""
    given = {name: np.asarray(array) for name, array in arrays.items()}
    for name, type_ in types.items():
        element = type_.element if isinstance(type_, TensorType) else None
        if isinstance(element, QuantType) and name in given and given[name].dtype.kind == "f":
            given[name] = quantize(given[name], element)
    return given


def taken_rounded(module: Module) -> dict[str, QuantType]:
    """The float tensors that nothing takes but what quantizes them, all to one type, by name.

    So a quantized model holds a ReLU that is a zero point's end: its name stands before the rounding (and the clamping), and what
    a float model has by that name is what comes behind.
    """
    outputs = set(module.body_of_main.terminator.operands)
    found: dict[str, QuantType] = {}
    for op in module.walk():
        for value in op.results:
            if not value.name or not value.is_float or value in outputs:
                continue
            types = {_quantized_by(user, value) for user in value.uses}
            element = types.pop() if len(types) == 1 else None
            if element is not None and element.per_tensor:
                found[value.name] = element
    return found


def _quantized_by(op: Op, value: Value) -> QuantType | None:
    """The type to which an op quantizes what it takes; None of one that does something else."""
    if len(op.operands) != 1 or len(op.results) != 1 or not _has_shape_of(op.results[0], value):
        return None
    return op.results[0].quant


def _has_shape_of(result: Value, value: Value) -> bool:
    return isinstance(result.type, TensorType) and isinstance(value.type, TensorType) and result.type.shape == value.type.shape


def as_taken(arrays: Mapping[str, np.ndarray], rounded: Mapping[str, QuantType]) -> dict[str, np.ndarray]:
    """Arrays by name, floats of these types rounded to the real numbers that these can hold (`taken_rounded`)."""
    return {
        name: dequantize(quantize(array, rounded[name]), rounded[name], np.asarray(array).dtype)
        if name in rounded and np.asarray(array).dtype.kind == "f" else array
        for name, array in arrays.items()}


def real_numbers(array: np.ndarray, element: QuantType | None) -> np.ndarray | None:
    """What an array stands for in real numbers: of floats itself, of integers by the type that stores such; else None."""
    array = np.asarray(array)
    if array.dtype.kind not in "iu":
        return array
    if element is None or not element.per_tensor or dtype_of(element.storage).itemsize != array.dtype.itemsize:
        return None
    return dequantize(array, element)
