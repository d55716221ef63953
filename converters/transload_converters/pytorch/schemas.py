"""The signatures of PyTorch's operators: what each is given, by which names, and what is left out.

A line of `schemas.txt` is an operator in the notation of PyTorch's `native_functions.yaml`, its overload behind a dot,
with the core ones of ATen marked by `!`:

    !convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, ...) -> Tensor

`schema_generator` writes it, of the PyTorch that is installed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from transload.ir import BF16, F16, Type, dtype_of

__all__ = ["NARROW", "Argument", "Schema", "is_one_of", "op_name", "overwriting", "schema_of", "schemas", "target_of"]

NARROW = (F16, BF16)
"""Floats that PyTorch computes with in f32."""


def is_one_of(element: Type, number: bool | int | float) -> bool:
    """Whether a number is one of those that a float format has."""
    with np.errstate(over="ignore"):
        try:
            return float(np.array(number, dtype_of(element))) == number  # as Python compares, exactly
        except OverflowError:
            return False


_PREFIX = "aten."
_SIGNATURE = re.compile(r"(!?)([\w:.]+)\((.*)\) -> (.*)")
_ARGUMENT = re.compile(r"(?P<type>\w+(\[\d*\]|\?|\([a-z!*|> -]*\))*) (?P<name>\w+)(=(?P<default>.*))?")
_WORDS = {"None": None, "True": True, "False": False, "Mean": 1, "Sum": 2, "contiguous_format": 1, "preserve_format": 4}


@dataclass(frozen=True)
class Argument:
    """What an operator is given: its `kind` (`Tensor`, `int`, `Scalar`, ...), one or a `many` of them, and where it may be
    left out.

    `size` is how many there are where a single number may stand for all, as in `int[2] stride=1`.
    """

    name: str
    kind: str
    many: bool
    optional: bool
    required: bool
    default: Any
    size: int = 0
    aliases: bool = False
    """Whether a result is a view of it."""

    @property
    def is_tensor(self) -> bool:
        return self.kind == "Tensor"


@dataclass(frozen=True)
class Schema:
    """An operator: its name, `conv2d.default` say, and arguments."""

    name: str
    arguments: tuple[Argument, ...]
    results: str
    core: bool

    @property
    def is_view(self) -> bool:
        """Whether what it gives shares its numbers with its first operand."""
        return any(argument.aliases for argument in self.arguments)


def op_name(target: str) -> str:
    """The op's name in the IR: `torch.ops.aten.add.Tensor` is `aten.add.Tensor`, an op of `ns` is `aten.ns.NAME.OVERLOAD`."""
    name = target.removeprefix("torch.ops.")
    name = name.removeprefix("aten.")
    return _PREFIX + "".join(c if c.isascii() and (c.isalnum() or c in "._$") else "_" for c in name)


def overwriting(name: str) -> str | None:
    """Of an op that overwrites its first operand, the one that makes a new tensor instead; None where it does not.

    `aten.relu_.default` overwrites, and so does `aten.__iand__.Tensor`; `aten.__and__.Tensor` does not, which is Python's `&`.
    """
    base, _, overload = name.rpartition(".")
    library, _, word = base.rpartition(".")
    if word.startswith("__") and word.endswith("__"):
        return f"{library}.__{word[3:]}.{overload}" if word.startswith("__i") else None
    return f"{library}.{word[:-1]}.{overload}" if word.endswith("_") and library else None


def target_of(name: str) -> tuple[str, str, str]:
    """The namespace, name and overload of an op in the IR: `aten`, `add`, `Tensor` of `aten.add.Tensor`."""
    *space, base, overload = name.removeprefix(_PREFIX).split(".")
    return (space[0] if space else "aten"), base, overload


def schema_of(name: str) -> Schema | None:
    """The signature of an op by its name in the IR; None where it is not known."""
    line = _lines().get(name)
    return None if line is None else _parsed(line)


@cache
def schemas() -> dict[str, bool]:
    """The names in the IR of all known operators, and whether each is a core one."""
    return {name: line.startswith("!") for name, line in _lines().items()}


@cache
def _lines() -> dict[str, str]:
    text = resources.files(__package__).joinpath("schemas.txt").read_text(encoding="utf-8")
    return {_name_in_ir(line.partition("(")[0].lstrip("!")): line for line in text.splitlines()}


def _name_in_ir(signature: str) -> str:
    """Of `torchvision::nms`, `add.Tensor`: an overload without a name is called `default`."""
    space, _, name = signature.rpartition("::")
    overload = "" if "." in name else ".default"
    return f"{_PREFIX}{space + '.' if space else ''}{name}{overload}"


@cache
def _parsed(line: str) -> Schema:
    match = _SIGNATURE.fullmatch(line)
    if match is None:
        raise ValueError(f"schemas.txt: {line!r} is no signature")
    core, name, arguments, results = match.groups()
    return Schema(name.replace("::", "."), tuple(map(_argument, _split(arguments))), results, bool(core))


def _split(text: str) -> list[str]:
    """The arguments of a signature; commas inside brackets are not between them."""
    parts = re.split(r", (?![^\[(]*[\])])", text) if text else []
    return [part for part in parts if part != "*"]


def _argument(text: str) -> Argument:
    match = _ARGUMENT.fullmatch(text)
    if match is None:
        raise ValueError(f"schemas.txt: {text!r} is no argument")
    whole, default = match["type"], match["default"]
    alias = re.search(r"\([a-z!*|> -]*\)", whole)
    plain = re.sub(r"\([^)]*\)", "", whole)
    size = re.search(r"\[(\d+)\]", plain)
    return Argument(
        match["name"], re.match(r"\w+", plain)[0], "[" in plain, plain.endswith("?") or default == "None",  # type: ignore[index]
        default is None, None if default is None else _literal(default), int(size[1]) if size else 0, alias is not None)


def _literal(text: str) -> Any:
    """A default: a number, a word, a text, or a list of numbers."""
    if text in _WORDS:
        return _WORDS[text]
    if text.startswith("["):
        return tuple(_literal(part.strip()) for part in text[1:-1].split(",") if part.strip())
    if text[:1] in "\"'":
        return text[1:-1]
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text
