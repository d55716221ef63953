"""Reading a chip's file: everything that is wrong with it at once."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from transload.errors import Finding, ReadError, UsageError
from transload.files import need_file
from transload.suggest import nearest
from transload.toml_text import MAX_BYTES, toml_table

from .description import DTYPES, ROUNDINGS, WIDEST, Chip

__all__ = ["CHIPS", "ChipError", "changed_chip", "load_chip", "parse_size", "read_chip"]

FOLDER = Path(__file__).parent / "chips"
CHIPS = tuple(sorted(file.stem for file in FOLDER.glob("*.toml")))
"""The names of the chips that come with Transload."""

OF_YOUR_OWN = "`transload new-plugin my-chip --kind chip` makes a package with a chip's file that works"
"""What to do without a file to start from."""

MOST = {"lanes": 1 << 12, "vector_bytes": 1 << 16, "cores": 1 << 10, "banks": 64, "local_bytes": 1 << 32}
"""What a binary can say at most of a machine, and of lanes what is simulated in some time."""

_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_FIELDS = {field.name: field for field in dataclasses.fields(Chip)}
_TABLES = {field.metadata["table"] for field in _FIELDS.values()} - {""}


class ChipError(ReadError):
    """A chip's file does not describe a chip."""


def load_chip(chip: str | Path) -> Chip:
    """The chip of this name among those that come with Transload, or the one that a `.toml` file describes.

    Raises `ChipError` with every finding, `ReadError` where there is no such file, `UsageError` where there is no such chip.
    """
    if isinstance(chip, str) and chip in CHIPS:
        return read_chip(FOLDER / f"{chip}.toml")
    path = Path(chip)
    if path.suffix.lower() != ".toml":
        near = difflib.get_close_matches(str(chip), CHIPS, 1)
        guess = f"did you mean {near[0]}? " if near else ""
        raise UsageError(f"there is no chip {str(chip)!r}", hint=f"{guess}chips: {', '.join(CHIPS)}, or a .toml file of your own")
    try:
        need_file(path)
    except ReadError as error:
        raise ReadError(error.message, hint=error.hint or OF_YOUR_OWN) from None
    return read_chip(path)


def read_chip(path: Path) -> Chip:
    """The chip that a TOML file describes; `ChipError` with everything that is wrong with it."""
    try:
        with path.open("rb") as file:
            content = toml_table(file.read(MAX_BYTES + 1))
    except OSError as error:
        raise ChipError(f"{path.name}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # TOMLDecodeError, too
        raise ChipError(f"{path.name}: is no TOML: {error}", hint=OF_YOUR_OWN) from None
    return chip_of(content, path.name)


def chip_of(content: Mapping[str, Any], name: str) -> Chip:
    """The chip that the content of a file describes; `name` is that file's, for messages."""
    findings: list[Finding] = []
    given = _flattened(content, findings)
    values = {}
    for key, field in _FIELDS.items():
        table = field.metadata["table"]
        place = f"{table}.{key}" if table and table not in _OWN_TABLES else table or key
        if key not in given:
            if field.default is dataclasses.MISSING:
                findings.append(Finding(place, "is missing", hint=field.metadata["doc"]))
            continue
        try:
            values[key] = _CHECKS.get(key, _CHECKS_BY_TYPE.get(str(field.type), _whole))(given[key])
        except ValueError as why:
            findings.append(Finding(place, str(why), hint=field.metadata["doc"]))
    findings += _together(values)
    if findings:
        raise ChipError(f"{name} does not describe a chip", findings, OF_YOUR_OWN)
    return Chip(**values)


def changed_chip(chip: Chip, values: Mapping[str, Any]) -> Chip:
    """The chip with other values of some fields; sizes may be text with a unit. `UsageError` with everything that is wrong."""
    findings, changed = [], {}
    for key, value in values.items():
        if key not in _FIELDS or key in ("macs", "operations", "roundings", "name", "doc"):
            numbers = [name for name in _FIELDS if isinstance(getattr(chip, name), int)]
            near = difflib.get_close_matches(key, numbers, 1)
            hint = f"did you mean {near[0]}?" if near else f"numbers are {', '.join(numbers)}"
            findings.append(Finding(key, "is no number of a chip", hint=hint))
            continue
        try:
            changed[key] = _CHECKS.get(key, _CHECKS_BY_TYPE.get(str(_FIELDS[key].type), _whole))(value)
        except ValueError as why:
            findings.append(Finding(key, str(why), hint=_FIELDS[key].metadata["doc"]))
    made = dataclasses.replace(chip, **changed)
    findings += _together(dataclasses.asdict(made)) if not findings else []
    if findings:
        raise UsageError(f"{chip.name} cannot be changed so", findings)
    return made


_OWN_TABLES = ("compute.macs", "operations")
"""Tables that are one field each."""


def _flattened(content: Mapping[str, Any], findings: list[Finding]) -> dict[str, Any]:
    """Values by the names of fields; what is no field's is a finding."""
    found: dict[str, Any] = {}

    def visit(table: str, entries: Mapping[str, Any]) -> None:
        for key, value in entries.items():
            place = f"{table}.{key}" if table else key
            if place in _OWN_TABLES:
                found[key] = value
            elif place in _TABLES:
                if isinstance(value, Mapping):
                    visit(place, value)
                else:
                    findings.append(Finding(place, "is a table", hint=f"write [{place}]"))
            elif key in _FIELDS and _FIELDS[key].metadata["table"] == table:
                found[key] = value
            else:
                findings.append(Finding(place, "is no key of a chip", hint=_nearest(table, key)))

    visit("", content)
    return found


def _nearest(table: str, key: str) -> str:
    """What to do about a key that is unknown in its table."""
    if key in _FIELDS:
        home = _FIELDS[key].metadata["table"]
        return f"it belongs in [{home}]" if home else "it belongs before all tables"
    names = [name for name, field in _FIELDS.items() if field.metadata["table"] == table]
    names += [place.rpartition(".")[2] for place in _TABLES if place.rpartition(".")[0] == table]
    near = difflib.get_close_matches(key, names, 1)
    return f"did you mean {near[0]}?" if near else f"known here: {', '.join(names)}"


def parse_size(value: Any, most: int | None = None) -> int:
    """A number of bytes: a whole number, or text such as `"256k"`, `"4G"` (powers of 1024). `ValueError` otherwise."""
    if isinstance(value, str):
        digits, unit = (value[:-1], value[-1].lower()) if value and value[-1].lower() in _UNITS else (value, "")
        if not (digits.isascii() and digits.isdigit()) or len(digits) > 18:
            raise ValueError(f"{value!r} is no number of bytes, such as 65536 or \"64k\"")
        value = int(digits) * _UNITS.get(unit, 1)
    return _whole(value, most=most)


def _whole(value: Any, least: int = 1, most: int | None = None) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{value!r} is no whole number")
    if not (least <= value < 1 << 48 if most is None else least <= value <= most):
        raise ValueError(f"{value} is not between {least} and {'2^48' if most is None else f'{most:,}'}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value or not value.isprintable() or len(value) > 200:
        raise ValueError(f"{value!r} is no line of text")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def _power_of_two(value: Any, most: int | None = None) -> int:
    size = parse_size(value, most)
    if size & (size - 1):
        raise ValueError(f"{value} is no power of two")
    return size


def _not_negative(value: Any) -> int:
    return _whole(value, 0)


def _multiplier_bits(value: Any) -> int:
    if value not in (8, 32) or isinstance(value, bool):
        raise ValueError(f"{value!r} is neither 8 nor 32")
    return int(value)


def _shift_bits(value: Any) -> int:
    return _whole(value, 4, 6)


def _words(value: Any, known: tuple[str, ...]) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or any(not isinstance(word, str) for word in value):
        raise ValueError(f"{value!r} is no list of names")
    unknown = [word for word in value if word not in known]
    if unknown:
        raise ValueError(f"{', '.join(map(repr, unknown))} is none of {', '.join(known)}")
    return tuple(value)


def _rates(value: Any) -> dict[str, int]:
    if not isinstance(value, Mapping):
        raise ValueError("is a table of numbers by element type")
    return _each(value, lambda dtype, rate: _whole(rate) if _words([dtype], DTYPES) else 0)


def _operations(value: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, Mapping) or not value:
        raise ValueError("is a table: operation = [element types]")
    return _each(value, lambda name, dtypes: _words(dtypes, DTYPES) if _is_known(name) else ())


def _is_known(operation: str) -> bool:
    """True of an operation of ours that something computes, and of one that another dialect declares; `ValueError` otherwise.

    What is of a dialect that is not there its plugin knows: a chip's file may be looked at without it. Where one that is there
    has nearly the same name, and this operation, that is meant.
    """
    from transload.plugin_host import host

    from ..arithmetic import OPERATIONS

    dialect, dot, name = operation.partition(".")
    if dialect == "tpu":  # which no lowering asks for by that name
        raise ValueError(f"is written without the dialect: {name}")
    if not dot:
        if host().facts("operation")[f"tpu.{operation}"] is not None:
            return True
        known = sorted(each.partition(".")[2] for each in OPERATIONS)
    else:
        declared = host().dialect(dialect)
        if declared is None:
            if meant := _likely_meant(dialect, name):
                raise ValueError(f"no plugin registers dialect {dialect!r}; did you mean {meant}?")
            return True
        if operation in declared.ops:
            return True
        known = sorted(declared.ops)
    near = nearest(operation, known)
    raise ValueError(f"is no operation; did you mean {near}?" if near else f"is no operation of {', '.join(known)}")


def _likely_meant(dialect: str, name: str) -> str | None:
    """The operation of this name, but for capitals, in the dialect most like one that nobody registers; None where none is.

    A likeness of dialects alone says nothing: that of a plugin which is not there may be called nearly as one of ours.
    """
    from transload.plugin_host import host

    near = nearest(dialect, (each for each in host().dialects if each != "tpu"))
    declared = host().dialect(near) if near is not None else None
    wanted = f"{near}.{name}".lower()
    return next((each for each in declared.ops if each.lower() == wanted), None) if declared is not None else None


def _each(table: Mapping[str, Any], read: Callable[[str, Any], Any]) -> dict[str, Any]:
    """What is read of each entry of a table; `ValueError` with all that is wrong with them."""
    made, wrong = {}, []
    for name, value in table.items():
        try:
            made[name] = read(name, value)
        except ValueError as why:
            wrong.append(f"{name}: {why}")
    if wrong:
        raise ValueError("; ".join(wrong))
    return made


_CHECKS: dict[str, Any] = {
    "name": _text, "lanes": _whole, "cores": _whole, "banks": _whole, "vector_bytes": _power_of_two, "local_bytes": parse_size,
    "global_bytes": parse_size, "macs": _rates, "operations": _operations, "multiplier_bits": _multiplier_bits,
    "shift_bits": _shift_bits, "dma_latency": _not_negative, "start_cycles": _not_negative, "alignment": _power_of_two,
    "weight_alignment": _power_of_two,
    "roundings": lambda value: _words(value, ROUNDINGS),
}
_CHECKS.update({key: partial(_CHECKS[key], most=most) for key, most in MOST.items()})
_CHECKS_BY_TYPE: dict[str, Any] = {"str": _text, "bool": _flag}


def _together(values: Mapping[str, Any]) -> list[Finding]:
    """What fields say that does not fit what others say."""
    findings = []
    local, banks, vector = values.get("local_bytes"), values.get("banks"), values.get("vector_bytes")
    if local and banks and vector and local % (banks * max(vector, WIDEST)):
        rows = f"vectors of {vector} bytes" if vector >= WIDEST else f"elements of up to {WIDEST} bytes"
        findings.append(Finding(
            "local.local_bytes", f"{local} bytes are not {banks} banks of whole {rows}",
            hint=f"a multiple of {banks * max(vector, WIDEST)}"))
    return findings
