"""Tables of a size that a model says: as numpy makes them, refused where they are too large, and asked for here alone."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transload.budget import allowed
from transload.context import new_run
from transload.errors import Unsupported
from transload_hub import tables

HUGE = 1 << 40


@pytest.mark.parametrize("ours", [
    lambda t: t.arange(5),
    lambda t: t.arange(2, 9, 3, dtype=np.float32),
    lambda t: t.arange(9, 2, -2),
    lambda t: t.arange(0.0, 1.0, 0.25),
    lambda t: t.zeros((2, 3), np.int8),
    lambda t: t.ones(4),
    lambda t: t.full((2, 1), 7),
    lambda t: t.full((2, 1), 7, np.float16),
    lambda t: t.eye(3, 4, k=1, dtype=np.int32),
    lambda t: t.eye(3),
    lambda t: t.tri(3, 4, k=-1, dtype=np.bool_),
    lambda t: t.linspace(-1, 1, 5),
    lambda t: t.indices((2, 3)),
    lambda t: t.repeat(np.arange(3), 2),
    lambda t: t.repeat(np.arange(3), [0, 2, 1]),
    lambda t: t.repeat(np.arange(6).reshape(2, 3), 2, axis=1),
    lambda t: t.tile(np.arange(3), (2, 2)),
    lambda t: t.pad(np.ones((2, 2)), [(1, 0), (0, 2)]),
    lambda t: t.outer(np.arange(3), np.arange(2)),
    lambda t: np.stack(t.meshgrid(np.arange(3), np.arange(2), indexing="ij")),
    lambda t: np.array(list(t.ndindex(2, 3))),
])
def test_they_are_numpys(ours: Callable[[Any], np.ndarray]) -> None:
    made, wanted = ours(tables), ours(np)
    np.testing.assert_array_equal(made, wanted)
    assert made.dtype == wanted.dtype


def test_a_diagonal_far_outside_is_nowhere_or_everywhere() -> None:
    assert not tables.eye(3, 3, k=HUGE).any() and not tables.eye(3, 3, k=-HUGE).any()
    assert tables.tri(3, 3, k=HUGE).all() and not tables.tri(3, 3, k=-HUGE).any()


@pytest.mark.parametrize("make", [
    lambda: tables.arange(HUGE), lambda: tables.arange(0, HUGE, 2), lambda: tables.arange(0, 1, 1e-12),
    lambda: tables.arange(0, float("inf")), lambda: tables.arange(0, 1, 0), lambda: tables.arange(0, float("nan")),
    lambda: tables.zeros(HUGE), lambda: tables.zeros((1 << 20, 1 << 20), np.int8), lambda: tables.ones((2, HUGE)),
    lambda: tables.full((HUGE,), 1), lambda: tables.empty(HUGE), lambda: tables.eye(1 << 20), lambda: tables.eye(2, HUGE),
    lambda: tables.tri(1 << 20), lambda: tables.linspace(0, 1, HUGE), lambda: tables.indices((1 << 13, 1 << 13)),
    lambda: tables.repeat(np.arange(3), HUGE), lambda: tables.repeat(np.arange(2), [1, HUGE]),
    lambda: tables.tile(np.arange(3), (HUGE,)), lambda: tables.pad(np.ones((2, 2)), [(0, HUGE), (0, 0)]),
    lambda: tables.outer(np.broadcast_to(1, 1 << 20), np.broadcast_to(1, 1 << 20)),
    lambda: tables.meshgrid(np.broadcast_to(1, 1 << 14), np.broadcast_to(1, 1 << 14)),
    lambda: list(tables.ndindex(1 << 10, 1 << 10)), lambda: tables.zeros(-1), lambda: tables.zeros((2, np.int64(-3))),
])
def test_what_is_too_large_is_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(Unsupported, match=r"table|no end|places"):
        make()


def test_what_a_run_makes_is_counted_together() -> None:
    with new_run(), allowed(grown=1 << 22):
        for _ in range(3):
            tables.zeros(1 << 18, np.int32)  # 2^20 bytes each
    with new_run(), allowed(grown=1 << 22), pytest.raises(Unsupported, match="too large"):
        for _ in range(5):
            tables.zeros(1 << 18, np.int32)


def test_small_tables_are_not_counted() -> None:
    with new_run(), allowed(grown=0):
        assert tables.zeros(1 << 16).size == 1 << 16
        assert not tables.has_place((1 << 16) + 1)


def test_a_number_repeated_without_memory_is_looked_at_once() -> None:
    whole = np.broadcast_to(np.float32(3), (1 << 20, 1 << 20))
    assert tables.distinct(whole).shape == (1, 1)
    column = np.broadcast_to(np.arange(3)[:, None], (3, 1 << 30))
    assert tables.distinct(column).ravel().tolist() == [0, 1, 2]
    assert tables.distinct(np.arange(6).reshape(2, 3)).tolist() == [[0, 1, 2], [3, 4, 5]]


# --- nobody asks numpy itself

NUMPYS = {"arange", "full", "zeros", "ones", "empty", "eye", "identity", "tri", "linspace", "indices", "repeat", "tile", "pad",
          "outer", "meshgrid", "ndindex", "kron"}
SHAPED = {"zeros", "ones", "full", "empty"}
"""Those of which the first argument is all that sizes them."""
FOLDERS = {"legalize", "lowering", "raising", "from_tosa", "layers"}
"""Where rewrites lie, beside the hub's own steps."""


def is_known(node: ast.AST) -> bool:
    """Whether a number in a program is no model's: a literal, a constant of the program, the size of an array that is there."""
    match node:
        case ast.Constant():
            return True
        case ast.Name():
            return node.id.isupper()
        case ast.Attribute():
            return node.attr.isupper() or node.attr == "size" or getattr(node.value, "id", "") == "np"
        case ast.Tuple() | ast.List():
            return all(map(is_known, node.elts))
        case ast.BinOp(left=ast.Tuple(), op=ast.Mult()):
            return is_known(node.left)  # as many dimensions as a tensor has: few
        case ast.BinOp():
            return is_known(node.left) and is_known(node.right)
        case ast.UnaryOp():
            return is_known(node.operand)
        case ast.Call():
            return getattr(node.func, "id", "") == "len"
    return False


def unguarded(text: str) -> Iterator[int]:
    """The lines of a program where numpy is asked for an array of a size that a model may have said."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "np":
            name = node.func.attr
            if name in NUMPYS and not all(map(is_known, node.args[:1] if name in SHAPED else node.args)):
                yield node.lineno


def rewriting(root: Path) -> Iterator[Path]:
    for folder in ("converters", "plugins", "targets"):
        for file in (root / folder).rglob("*.py"):
            if FOLDERS & set(file.parts) and "kernels" not in file.parts:
                yield file
    for name in ("build", "sampling", "slicing", "suppression", "scatter", "control", "choices"):
        yield root / "core" / "transload_hub" / f"{name}.py"


def test_rewrites_ask_for_no_array_that_is_as_large_as_a_model_says(root: Path) -> None:
    assert list(unguarded("np.zeros(shape)\nnp.zeros((2, 3))\nnp.arange(count * 2)\nnp.arange(x.size)\nnp.full(3, n)")) == [1, 3]
    files = list(rewriting(root))
    assert len(files) > 150
    found = [f"{file.relative_to(root)}:{line}" for file in files for line in unguarded(file.read_text(encoding="utf-8"))]
    assert not found, "transload_hub.tables has the same, refused where it is too large:\n" + "\n".join(found)
