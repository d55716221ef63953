"""What an input is given arrives as the numbers that were meant, in the type that the module says, or is refused.

A function gives back what it is given: inputs of any element type, rank and length. What becomes of whatever is given is judged
by Python's own numbers: a number of another type is the same number where the wanted type has it, floats rounded to the nearest;
integers of the other sign, numbers with parts that would be cut off, and what is no number are refused, by the name of the input
and the type that is expected.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import transload
from transload.cli import run as command_line
from transload.errors import TransloadError

from tests.drawn import Outcome

SAMPLE = 60

ELEMENTS: dict[str, Any] = {
    "i1": np.bool_, "i2": ml_dtypes.int2, "ui2": ml_dtypes.uint2, "i4": ml_dtypes.int4, "ui4": ml_dtypes.uint4,
    **{f"{sign}{width}": f"{'u' * (sign == 'ui')}int{width}" for sign in ("i", "ui", "si") for width in (8, 16, 32, 64)},
    "index": "int64", "bf16": ml_dtypes.bfloat16, "f16": "float16", "f32": "float32", "f64": "float64",
    "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2, "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E3M4": ml_dtypes.float8_e3m4, "f8E8M0FNU": ml_dtypes.float8_e8m0fnu, "f6E2M3FN": ml_dtypes.float6_e2m3fn,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn, "complex<f32>": "complex64", "complex<f64>": "complex128",
    "!quant.uniform<i8:f32, 0.5:3>": "int8", "!quant.uniform<u8:f32, 0.25:128>": "uint8",
    "!quant.uniform<i16:f32, 1.5>": "int16", "!quant.uniform<u16:f32, 1.5:32768>": "uint16",
    "!quant.uniform<i4:f32, 0.5>": ml_dtypes.int4, "!quant.uniform<u4:f32, 0.5:7>": ml_dtypes.uint4,
    "!quant.uniform<i32:f32, 0.125>": "int32", "!quant.uniform<i8:bf16, 0.5:-128>": "int8"}
"""The element types that MLIR's text can say and numpy, with ml_dtypes, can hold: the dtype by the specification of each."""
GIVEN = [np.dtype(each) for each in dict.fromkeys(
    [*ELEMENTS.values(), ml_dtypes.float8_e5m2fnuz, ml_dtypes.float6_e3m2fn, "longdouble", "clongdouble"])]
SHAPES: list[tuple[int, ...]] = [
    (), (1,), (3,), (0,), (2, 3), (1, 1), (0, 4), (2, 3, 2), (1, 2, 3, 2), (2, 0, 3, 1), (1, 2, 1, 3, 2), (2, 1, 1, 2, 1, 2)]
NAMES = ["x", "a:0", "in/put", "ä", "0", "file", "arg1", "x.y", "serving default"]


def kind_of(dtype: np.dtype) -> str:
    """`b`, `i`, `u`, `f` or `c` for numbers, whoever defined the type; else something else."""
    if dtype.kind != "V" or dtype.names is not None:
        return dtype.kind
    name = dtype.name
    return "u" if name.startswith("uint") else "i" if name.startswith("int") else "f" if "float" in name else "V"


def width_of(dtype: np.dtype) -> int:
    return int(dtype.name.lstrip("uint")) if kind_of(dtype) in "iu" else 8 * dtype.itemsize


def limits_of(dtype: np.dtype) -> tuple[Any, Any]:
    """The least and the greatest number of a type."""
    if kind_of(dtype) in "iu":
        bits, signed = width_of(dtype), kind_of(dtype) == "i"
        return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    part = np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
    limits = np.finfo(part) if part.type.__module__ == "numpy" else ml_dtypes.finfo(part)
    return as_number(limits.tiny if part.name == "float8_e8m0fnu" else limits.min), as_number(limits.max)


def holds(wanted: np.dtype, number: Any) -> bool:
    """Whether a type has a number: an integer exactly, a float rounded to what is finite as well."""
    if isinstance(number, int | np.bool_ | bool):
        low, high = limits_of(wanted) if kind_of(wanted) != "b" else (0, 1)
        number = int(number)
        if kind_of(wanted) in "biu":
            return bool(low <= number <= high)
        return bool(Fraction(float(low)) <= number <= Fraction(float(high))) and as_number(cast([number], wanted)[0]) == number
    low, high = limits_of(wanted)
    parts = (number.real, number.imag) if isinstance(number, complex | np.complexfloating) else (number,)
    return all(low <= part <= high if math.isfinite(part) else repr(as_number(cast([part], wanted)[0].real)) == repr(float(part))
               for part in parts)


def as_number(element: Any) -> Any:
    """An element of an array as Python's number, exactly."""
    kind = kind_of(element.dtype)
    if kind in "biu":
        return int(element)
    if element.dtype.itemsize > 16 or element.dtype == np.longdouble:
        return element
    return complex(element) if kind == "c" else float(element)


def cast(numbers: Any, wanted: np.dtype) -> np.ndarray:
    """Numbers that are known to fit, in a type."""
    with np.errstate(all="ignore"):
        array = np.asarray(numbers, object if kind_of(wanted) in "iu" else None)
        return array.astype(wanted) if array.size else np.empty(array.shape, wanted)


@dataclass
class Case:
    """What is given for an input of a type, and what of it is right: an array, or None where it has to be refused."""

    form: str
    value: Any
    right: np.ndarray | None
    either: bool = False
    """Whether it may be refused as well, since nobody promised that form."""


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype, narrow: np.dtype) -> np.ndarray:
    """An array of a type: numbers over its range, or over that of another type, or small ones."""
    kind, size = kind_of(dtype), math.prod(shape)
    if kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    low, high = limits_of(dtype)
    span = str(rng.choice(["whole", "narrow", "narrow", "small"]))
    if span == "narrow" and kind_of(narrow) != "b":
        low, high = max(low, limits_of(narrow)[0]), min(high, limits_of(narrow)[1])
    elif span == "small":
        low, high = max(low, 0), min(high, 3)
    if kind in "iu":
        made = [int(low) + int(rng.integers(0, 1 << 62)) % max(int(high) - int(low) + 1, 1) for _ in range(size)]
        made = [*(int(low), int(high))[:size], *made[2:]] if span != "small" and size else made
        return cast(made, dtype).reshape(shape)
    low, high = (float(np.clip(float(each), -1e300, 1e300)) for each in (low, high))
    values = rng.uniform(-1, 1, shape) * (high / 2 if span == "whole" else min(high, 30))
    if span == "narrow":
        values = np.rint(values)
    with np.errstate(all="ignore"):
        array = np.clip(values, low, high).astype(dtype)
        if kind == "c":
            array = (array + 1j * array[..., ::-1] * rng.integers(0, 2)).astype(dtype) if shape else array
        if span == "small" and size and dtype.name not in ("float8_e8m0fnu", "float6_e2m3fn", "float4_e2m1fn"):
            array.reshape(-1)[0] = float(rng.choice([np.nan, np.inf, -np.inf, -0.0]) if dtype.kind in "fc" else np.nan)
    return array


def laid_out(rng: np.random.Generator, array: np.ndarray) -> tuple[str, Any]:
    """The same numbers as numpy may hold them otherwise."""
    forms: dict[str, Callable[[], Any]] = {
        "plain": lambda: array,
        "columns first": lambda: array.copy(order="F"),
        "every other": lambda: np.repeat(array, 2, -1)[..., ::2] if array.ndim else array,
        "turned round": lambda: np.ascontiguousarray(array[::-1])[::-1] if array.ndim else array,
        "transposed": lambda: array.T.copy().T,
        "other bytes first": lambda: array.astype(array.dtype.newbyteorder(">")) if array.dtype.kind in "iufc" else array,
        "unaligned": lambda: np.frombuffer(b"\0" + array.tobytes(), array.dtype, offset=1).reshape(array.shape),
        "masked of none": lambda: np.ma.array(array) if array.dtype.kind != "V" else array,
        "a subclass": lambda: array.view(np.recarray),
        "what makes an array": lambda: Made(array)}
    form = str(rng.choice(list(forms)))
    made = forms[form]()
    if isinstance(made, np.ndarray) and rng.integers(0, 3) == 0:
        made.flags.writeable = False
    return form, made


class Made:
    """What is no array, and says how it becomes one, as tensors of frameworks do."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.dtype, self.shape = array, array.dtype, array.shape

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.array


def rightly(array: np.ndarray, wanted: np.dtype, typed: bool = True) -> np.ndarray | None:
    """The numbers of an array in a wanted type, by Python's own; None where that does not have them or they may be mixed up."""
    given = array.dtype.newbyteorder("=")
    have, want = kind_of(given), kind_of(wanted)
    if given == wanted:
        return array.astype(given)
    order = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
    if have not in order or order[have] > order[want] or (want == "b"):
        return None
    if typed and {have, want} == {"i", "u"} and width_of(given) == width_of(wanted):
        return None
    values = [as_number(each) for each in array.astype(given).reshape(-1)]
    if not all(holds(wanted, value) for value in values):
        return None
    if have in "biu" or array.dtype.kind == "V":  # numpy has no way between some types of others
        return cast(values, wanted).reshape(array.shape)
    with np.errstate(all="ignore"):
        return array.astype(given).astype(wanted)


def case(rng: np.random.Generator, element: str, wanted: np.dtype, shape: tuple[int, ...]) -> Case:
    """What an input of `element` is given."""
    way = str(rng.choice(["right", "other", "other", "other", "lists", "shape", "hostile"]))
    if way == "right":
        array = numbers(rng, shape, wanted, wanted)
        form, value = laid_out(rng, array)
        return Case(f"right, {form}", value, array)
    if way == "other":
        array = numbers(rng, shape, GIVEN[rng.integers(len(GIVEN))], wanted)
        form, value = laid_out(rng, array)
        right = rightly(array, wanted)
        if element.startswith("!quant") and kind_of(array.dtype) == "f":
            right = None
        return Case(f"{array.dtype}, {form}", value, right, array.dtype != wanted and kind_of(array.dtype) in "fc")
    if way == "lists":
        plain = np.dtype({"b": "bool", "u": "uint64", "i": "int64", "f": "float64", "c": "complex128"}[kind_of(wanted)])
        array = numbers(rng, shape, plain, wanted)
        value = array.tolist()
        value = tuple(value) if shape and rng.integers(0, 2) else value
        return Case("lists", value, rightly(array, wanted, typed=False), not array.size)
    if way == "shape":
        array = numbers(rng, (*shape, 2) if rng.integers(0, 2) else tuple(size + 1 for size in shape) or (1,), wanted, wanted)
        return Case("another shape", array.tolist() if array.size and rng.integers(0, 2) else array, None)
    return hostile(rng, wanted, shape)


def hostile(rng: np.random.Generator, wanted: np.dtype, shape: tuple[int, ...]) -> Case:
    """What is no array of numbers, or means something that an array has no place for."""
    size = math.prod(shape)
    array = numbers(rng, shape, wanted, wanted)
    bits = f"V{wanted.itemsize}"
    forms: dict[str, Callable[[], Any]] = {
        "texts": lambda: np.full(shape, "1"), "bytes": lambda: np.full(shape, b"1"), "a text in lists": lambda: [["1"]],
        "objects": lambda: np.full(shape, None, object), "a date": lambda: np.zeros(shape, "M8[s]"),
        "a time": lambda: np.zeros(shape, "m8[s]"), "fields": lambda: np.zeros(shape, [("a", "i1")]),
        "None": lambda: None, "a dictionary": lambda: {"a": 1}, "a set": lambda: {1, 2}, "an object": object,
        "ragged lists": lambda: [[1], [1, 2]], "masked": lambda: np.ma.array(array, mask=np.ones(shape, bool)),
        "nothing but bits": lambda: np.ascontiguousarray(array).view(bits) if shape else array.reshape(1).view(bits).reshape(())}
    form = str(rng.choice(list(forms)))
    if form == "masked" and (not size or wanted.kind == "V"):
        form = "None"
    right = None
    if form == "nothing but bits" and wanted.kind == "V":
        right = array  # as files of numpy have the types that it does not know
    return Case(form, forms[form](), right, form in ("texts", "bytes", "objects") and not size)


def text_of(names: list[str], types: list[str]) -> str:
    arguments = ", ".join(
        f'%a{number}: {type_} {{ml_program.identifier = "{name}"}}'
        for number, (name, type_) in enumerate(zip(names, types, strict=True)))
    results = ", ".join(f'{type_} {{ml_program.identifier = "{name}"}}' for name, type_ in zip(names, types, strict=True))
    back = ", ".join(f"%a{number}" for number in range(len(names)))
    return f"func.func @main({arguments}) -> ({results}) {{ return {back} : {', '.join(types)} }}"


def draw(number: int, folder: Path) -> Outcome:
    rng = np.random.default_rng(number)
    elements = [str(each) for each in rng.choice(list(ELEMENTS), rng.integers(1, 3))]
    shapes = [SHAPES[rng.integers(len(SHAPES))] for _ in elements]
    names = [str(each) for each in rng.choice(NAMES, len(elements), replace=False)]
    wanted = [np.dtype(ELEMENTS[element]) for element in elements]
    types = [f"tensor<{''.join(f'{size}x' for size in shape)}{element}>" for element, shape in zip(elements, shapes, strict=True)]
    cases = [case(rng, *each) for each in zip(elements, wanted, shapes, strict=True)]
    told = "; ".join(f"{name}: {type_} given {each.form} {each.value!r}"[:600] for name, type_, each in zip(
        names, types, cases, strict=True))
    door = str(rng.choice(["reference", "reference", "reference", "xla", "files"]))
    text = text_of(names, types)
    try:
        given = {name: each.value for name, each in zip(names, cases, strict=True)}
        is_right = {name: each.form.startswith("right") for name, each in zip(names, cases, strict=True)}
        found = by_files(text, given, is_right, folder) if door == "files" else by_engine(text, given, door)
    except TransloadError as error:
        return refused(str(error), names, elements, wanted, cases, f"{door}: {told}")
    if isinstance(found, str):
        return Outcome("not judged") if not found else refused(found, names, elements, wanted, cases, f"{door}: {told}")
    for name, each, want, element in zip(names, cases, wanted, elements, strict=True):
        if each.right is None:
            what = f"taken, and to be refused: {each.form.partition(',')[0]} for {element}"
            return Outcome("taken", f"{what}\n{door}: {told}\n{found}")
        made = found[name]
        if door == "files" and made.dtype.kind == "V":
            made = made.view(want)
        if made.dtype != want or made.shape != each.right.shape or not same(made, each.right):
            return Outcome("other", f"other numbers: {each.form} for {element}\n{door}: {told}\n{made!r}, not {each.right!r}")
    return Outcome("exact")


def same(made: np.ndarray, right: np.ndarray) -> bool:
    """Whether all bits are the same, but for those of what is no number."""
    is_same = np.ascontiguousarray(made).tobytes() == np.ascontiguousarray(right).tobytes()
    if is_same or right.dtype.kind not in "fcV":
        return is_same
    wide = np.complex128 if right.dtype.kind == "c" else np.float64
    return bool(np.array_equal(made.astype(wide), right.astype(wide), equal_nan=True))


def by_engine(text: str, given: dict[str, Any], engine: str) -> dict[str, np.ndarray] | str:
    """The outputs of an engine; an empty text where it has no such types, or says that it has others."""
    module = transload.load(text=text, format="mlir")
    notes: list[str] = []
    try:
        outputs = transload.run(module, given, engine=engine, tell=notes.append)
        return "" if any("are f64 in the model, and f32 here" in note for note in notes) else outputs
    except TransloadError as error:
        if engine == "xla" and ("cannot be given to or taken from XLA" in str(error) or "StableHLO has no type" in str(error)):
            return ""
        raise


def by_files(
    text: str, given: dict[str, Any], is_right: dict[str, bool], folder: Path,
) -> dict[str, np.ndarray] | str:
    """The outputs of the command line, of inputs in files; what it said where it refused them; nothing where files have none."""
    (folder / "m.mlir").write_text(text, encoding="utf-8")
    arguments = []
    for place, (name, value) in enumerate(given.items()):
        if not isinstance(value, np.ndarray) or value.dtype.hasobject or np.ma.is_masked(value):
            return ""
        if value.dtype.type.__module__ != "numpy" and not is_right[name]:
            return ""  # a file has the bits of such types alone, and no word on which it is
        value = np.asarray(value)
        value = value.view("V1") if value.dtype == ml_dtypes.float8_e5m2 else value  # numpy writes a name that it cannot read
        path = folder / f"{place}.np{'yz'[place % 2]}"
        (np.save if path.suffix == ".npy" else np.savez_compressed if value.size % 2 else np.savez)(path, value)
        arguments += ["--input", f"{name}={path}"]
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = command_line(["run", str(folder / "m.mlir"), *arguments, "--engine", "reference", "-o", str(folder / "out.npz")])
    if code:
        return said.getvalue()
    with np.load(folder / "out.npz") as outputs:
        return {name: outputs[name] for name in outputs}


def refused(
    said: str, names: list[str], elements: list[str], wanted: list[np.dtype], cases: list[Case], told: str,
) -> Outcome:
    """Judge a refusal: there was something to refuse, and it is named, with what was wanted."""
    bad = [(name, element, want) for name, element, want, each in zip(names, elements, wanted, cases, strict=True)
           if each.right is None and not each.either]
    if not bad:
        if any(each.either for each in cases):
            return Outcome("refused, either way")
        return Outcome("refused", f"refused, and right: {cases[0].form.partition(',')[0]} for {elements[0]}\n{told}\n{said}")
    is_by_shape = any(word in said for word in ("sizes were given", "the model fixes it", "was given"))  # one input at a time
    for name, element, want in bad[:1] if is_by_shape else bad:
        if repr(name) not in said:
            return Outcome("refused", f"the refusal does not name the input\n{told}\n{said}")
        if element not in said and str(want) not in said and not is_by_shape:
            return Outcome("refused", f"the refusal does not say what is expected\n{told}\n{said}")
    return Outcome("refused")
