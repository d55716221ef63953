"""Programs are raised, and lowered to TOSA, and what they compute is compared with StableHLO's kernels or a stated result."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import transload
from transload.errors import ConversionError
from transload.ir import Module, dtype_of
from transload.text import parse_type

from tests.support.xla_oracle import Batch, differs

CHAIN = "\n"


def function_text(arguments: Sequence[tuple[str, str]], body: str, results: Sequence[tuple[str, str]]) -> str:
    """A module of one function, of (name, type) pairs and lines of ops, in generic form."""
    types = ", ".join(type_ for _, type_ in results)
    inputs = ", ".join(type_ for _, type_ in arguments)
    parameters = ", ".join(f"{name}: {type_}" for name, type_ in arguments)
    returned = ", ".join(name for name, _ in results)
    return (
        f'"builtin.module"() ({{\n"func.func"() <{{function_type = ({inputs}) -> ({types}), sym_name = "main"}}> ({{\n'
        f'^bb0({parameters}):\n{body}\n"func.return"({returned}) : ({types}) -> ()\n}}) : () -> ()\n}}) : () -> ()\n')


def load(text: str) -> Module:
    return transload.load(text=text, format="stablehlo")


def names_of(module: Module) -> list[str]:
    """The names of all ops, constants and returns left out."""
    return [op.name for op in module.ops() if op.name not in ("top.Weight", "func.return", "top.None")]


def fitted(module: Module, arrays: Sequence[Any]) -> dict[str, Any] | None:
    """Arrays as inputs of a module, whose elements may be narrower by then; None where numbers do not fit."""
    given: dict[str, Any] = {}
    main = module.main
    for name, type_, value in zip(transload.ir.input_names(main), transload.ir.input_types(main), arrays, strict=True):
        array, dtype = np.asarray(value), dtype_of(type_.element)
        if array.dtype != dtype and array.dtype.kind in "iu" and array.dtype.itemsize == dtype.itemsize:
            array = array.view(dtype)
        elif array.dtype != dtype:
            cast = array.astype(dtype)
            if array.dtype.kind in "iu" and not np.array_equal(cast.astype(array.dtype), array):
                return None
            array = cast
        given[name] = array
    return given


def run(module: Module, arrays: Sequence[Any]) -> list[Any]:
    given = fitted(module, arrays)
    assert given is not None
    return list(transload.run(module, given).values())


def as_dtype(array: Any, dtype: Any) -> Any:
    """A result of TOSA in the dtype that it stands for: the same bits of unsigned numbers, wider ones of narrowed."""
    array = np.asarray(array)
    if array.dtype.kind in "iu" and np.dtype(dtype).kind in "iu" and array.dtype.itemsize == np.dtype(dtype).itemsize:
        return array.view(dtype)
    return array.astype(dtype)


def one_by_one(batch: Batch) -> list[tuple[str, list[tuple[str, str, float | None]], list[Any]]]:
    """Each op of a batch as a program of its own: text, results (type, label, tolerance), inputs.

    Complex numbers go in and out as real and imaginary parts.
    """
    programs = []
    for number, line in enumerate(batch.body):
        used = sorted(set(re.findall(r"%a\d+", line)), key=lambda name: int(name[2:]))
        results = [entry for entry in batch.results if re.fullmatch(rf"%r{number}(#\d+)?", entry[0])]
        arguments: list[tuple[str, str]] = []
        arrays: list[Any] = []
        before, after = [], []
        returned: list[tuple[str, str]] = []
        stated: list[tuple[str, str, float | None]] = []
        for name in used:
            type_, array = batch.arguments[int(name[2:])]
            if "complex" in type_:
                part = re.sub(r"complex<(\w+)>", r"\1", type_)
                before.append(f'{name} = "stablehlo.complex"({name}r, {name}i) : ({part}, {part}) -> {type_}')
                arguments += [(f"{name}r", part), (f"{name}i", part)]
                arrays += [np.array(array.real), np.array(array.imag)]
            else:
                arguments.append((name, type_))
                arrays.append(array)
        for index, (name, type_, label, tolerance) in enumerate(results):
            if "complex" in type_:
                part = re.sub(r"complex<(\w+)>", r"\1", type_)
                for side in ("real", "imag"):
                    after.append(f'%z{index}{side} = "stablehlo.{side}"({name}) : ({type_}) -> {part}')
                    returned.append((f"%z{index}{side}", part))
                    stated.append((part, label, tolerance))
            else:
                returned.append((name, type_))
                stated.append((type_, label, tolerance))
        programs.append((function_text(arguments, CHAIN.join([*before, line, *after]), returned), stated, arrays))
    return programs


def check(batch: Batch, tosa: bool, refused: Sequence[str] = ()) -> int:
    """Raise each op of a batch, and compare; the names of ops that may be refused. Returns how many were compared."""
    wrong: list[str] = []
    count = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for text, results, arrays in one_by_one(batch):
            module = load(text)
            ours = run(module, arrays)
            try:
                top = transload.legalize(module)
            except ConversionError as error:
                if not any(name in results[0][1] for name in refused):
                    wrong.append(f"{results[0][1]}: {error}")
                continue
            count += 1
            forms = [("top", top)]
            if tosa:
                lowered = transload.lower(top, "tosa", int64="assumed")  # the numbers are small
                if fitted(lowered, arrays) is not None:
                    forms.append(("tosa", lowered))
            for form, converted in forms:
                for (type_, label, tolerance), mine, want in zip(results, run(converted, arrays), ours, strict=True):
                    loose = 2e-5 if form == "tosa" and type_.endswith(("f32>", "f64>")) else tolerance or None
                    why = differs(as_dtype(mine, want.dtype), np.asarray(want), parse_type(type_).element, loose)  # type: ignore[attr-defined]
                    if why:
                        wrong.append(f"{form}: {label}: {why}")
    assert not wrong, f"{len(wrong)} ops differ or are refused:\n" + "\n".join(wrong[:20])
    return count
