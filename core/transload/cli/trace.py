"""`transload run --trace`: every value of a run, printed as it is computed; `--trace-rewrites`: every rewrite, in a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import numpy as np

from ..errors import TransloadError
from ..escapes import escaped
from ..files import atomic_path
from ..ir import Op, Value
from ..json_text import plain
from ..trace import Rewrite, trace_rewrites
from .show import in_a_line, printable, show_error

__all__ = ["Tracer", "rewrites_traced_to"]

EDGE, LIMIT = 8, 64
"""An array of more than `LIMIT` numbers is shown by the first and the last `EDGE` of them."""


class Tracer:
    """Prints each value it is told of: name, op, type, the range of its numbers, and the numbers in row-major order.

    A value that a framework's op was split into has no name of its own: it is called after that op and numbered,
    `conv1/Relu#2`, the same on every run.
    """

    def __init__(self, out: TextIO | None = None) -> None:
        self.out = out or sys.stdout
        self.names: dict[Value, str] = {}
        self.parts: dict[str, int] = {}

    def __call__(self, value: Value, array: Any) -> None:
        op = value.op
        made_by = op.name if op is not None else "argument"
        print(f"{in_a_line(self._name(value, op))}: {made_by} -> {value.type}{_range(array)}", file=self.out)
        flat = np.asarray(array).ravel()
        shown = np.array2string(flat, threshold=LIMIT, edgeitems=EDGE, max_line_width=124, prefix="    ")
        print(f"    {shown}", file=self.out)

    def _name(self, value: Value, op: Op | None) -> str:
        if value.name is not None:
            return value.name
        known = self.names.get(value)
        if known is None:
            origin = (op.origin if op is not None else None) or "value"
            self.parts[origin] = self.parts.get(origin, 0) + 1
            known = self.names[value] = f"{origin}#{self.parts[origin]}"
        return known


@contextmanager
def rewrites_traced_to(file: str | None) -> Iterator[None]:
    """Note the rewrites that fire inside, and write them to a file, also where it ends with an error; nothing where it is None.

    A line is a rewrite, as text, or as JSON in a file called `.jsonl`; `-` is standard error.
    """
    if file is None:
        yield
        return
    with trace_rewrites() as rewrites:
        try:
            yield
        except BaseException:
            try:
                _write(rewrites, file)
            except TransloadError as error:  # why the rest ended counts more, and is told by whoever catches that
                show_error(error)
            raise
    _write(rewrites, file)


def _write(rewrites: Iterable[Rewrite], file: str) -> None:
    as_json = file.endswith(".jsonl")
    lines = "".join(f"{json.dumps(plain(each)) if as_json else _line(each)}\n" for each in rewrites)
    if file == "-":
        sys.stderr.write(printable(lines))
        return
    try:
        with atomic_path(file) as temporary:
            temporary.write_text(lines, encoding="utf-8")
    except TransloadError as error:
        error.hint = error.hint or "all else is done: only the file of --trace-rewrites is missing"
        raise


def _line(rewrite: Rewrite) -> str:
    """A rewrite as a line: of names, control characters and newlines are escaped."""
    return escaped(str(rewrite))


def _range(array: Any) -> str:
    """The least, the greatest and the mean of some numbers, where they have any."""
    numbers = np.asarray(array)
    if not numbers.size or (numbers.dtype.kind not in "iufb" and numbers.dtype.kind != "V"):
        return ""
    try:
        wide = numbers.astype(np.float64)
    except (TypeError, ValueError):  # complex numbers, tuples: no order
        return ""
    return f", {wide.min():.7g} to {wide.max():.7g}, mean {wide.mean():.7g}"
