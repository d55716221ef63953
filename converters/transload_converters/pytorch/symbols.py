"""Sizes that a program leaves open: expressions over symbols, as torch.export writes them, and what they are when it is read.

A size is a number, or an expression of SymPy in its `srepr` form: `Mul(Integer(2), Symbol('s31', positive=True, integer=True))`.
It is parsed as Python's syntax tree and computed by what is written here; nothing is evaluated as Python. A symbol is known
where the shape of an input says it; one that depends on numbers computed at run time (`u0`) is not.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from transload.errors import ReadError, UsageError
from transload.input_shapes import nearest_of, static_shapes
from transload.limits import MAX_ELEMENTS
from transload.shell import quoted

__all__ = ["Expression", "Symbols", "parse"]

MAX_LENGTH = 10_000
"""Characters of an expression."""
_BEYOND = 1 << 63
"""What no size reaches, as 64 bits hold none."""
_TRACED = 2
"""The least size that PyTorch assumes while it traces, where the user says none."""


def _floor_div(a: Any, b: Any) -> Any:
    return a // b


def _power(base: Any, exponent: Any) -> Any:
    """A power of numbers of at most 40 bits, above and below the line: powers of powers have no end otherwise."""
    above, below = (base.numerator, base.denominator) if isinstance(base, int | Fraction) else (base, 1)
    if abs(exponent) > 64 or max(abs(above), below) > 1 << 40:
        raise OverflowError("a power of numbers that are too great")
    if base < 0 and exponent % 1:
        raise ArithmeticError("a root of a number below 0")
    return Fraction(base) ** exponent if exponent < 0 else base**exponent


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "Add": lambda *terms: sum(terms), "Mul": lambda *factors: math.prod(factors), "FloorDiv": _floor_div, "CleanDiv": _floor_div,
    "Mod": lambda a, b: a % b, "PythonMod": lambda a, b: a % b, "CeilDiv": lambda a, b: -(-a // b), "Max": max, "Min": min,
    "ModularIndexing": lambda a, b, c: (a // b) % c, "Abs": abs, "floor": math.floor, "ceiling": math.ceil,
    "CeilToInt": math.ceil, "FloorToInt": math.floor, "TruncToInt": math.trunc, "RoundToInt": lambda a: round(a),
    "IntTrueDiv": lambda a, b: a / b, "FloatTrueDiv": lambda a, b: a / b, "Rational": Fraction, "Integer": int, "Float": float,
    "Equality": lambda a, b: a == b, "Eq": lambda a, b: a == b, "Unequality": lambda a, b: a != b, "Ne": lambda a, b: a != b,
    "StrictLessThan": lambda a, b: a < b, "LessThan": lambda a, b: a <= b, "StrictGreaterThan": lambda a, b: a > b,
    "GreaterThan": lambda a, b: a >= b, "And": lambda *terms: all(terms), "Or": lambda *terms: any(terms), "Not": lambda a: not a,
    "Identity": lambda a: a, "ToFloat": float, "TruncToFloat": lambda a: float(math.trunc(a)),
    "RoundDecimal": lambda a, digits: round(float(a), digits),
}
_FUNCTIONS |= {f"OpaqueUnaryFn_{name}": getattr(math, name) for name in (
    "sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "exp", "log", "log2", "asinh")}
_POWERS = ("Pow", "PowByNatural", "FloatPow")


class Expression:
    """A size: its text for messages, the symbols in it, and its value where these are known."""

    __slots__ = ("_tree", "symbols", "text")

    def __init__(self, tree: ast.expr) -> None:
        self._tree = tree
        names = [_symbol(node) for node in ast.walk(tree)]
        self.symbols = tuple(dict.fromkeys(name for name in names if name is not None))
        self.text = _readable(tree)

    def value(self, known: Mapping[str, int]) -> Any:
        """The number, or None where a symbol in it is not known.

        Raises `ValueError` for what cannot be computed, and what is no number of 64 bits: too great, infinite, NaN.
        """
        if any(name not in known for name in self.symbols):
            return None
        try:
            found = _compute(self._tree, known)
        except (ArithmeticError, TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"{self.text[:80]} cannot be computed: {error}") from None
        if not abs(found) < _BEYOND:  # not `>=`, which NaN is not either
            raise ValueError(f"{self.text[:80]} is no number of 64 bits")
        return int(found) if isinstance(found, Fraction) and found.denominator == 1 else found

    def solve(self, wanted: int, known: Mapping[str, int]) -> tuple[str, int] | None:
        """The one unknown symbol and its value for which the expression, a multiple of it and a number more, is `wanted`."""
        unknown = [name for name in self.symbols if name not in known]
        if len(unknown) != 1:
            return None
        zero, one, two = (Fraction(self.value({**known, unknown[0]: n})) for n in (0, 1, 2))
        step = one - zero
        if two - one != step or not step or (wanted - zero) % step:
            return None
        found = (wanted - zero) // step
        return (unknown[0], found) if abs(found) < _BEYOND else None


def parse(text: str) -> Expression:
    """An expression of its text. Raises `ValueError` for what is none."""
    if len(text) > MAX_LENGTH:
        raise ValueError(f"an expression of {len(text):,} characters; {MAX_LENGTH:,} are the limit")
    try:
        tree = ast.parse(text, mode="eval").body
        _check(tree)
        return Expression(tree)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise ValueError(f"{text[:80]!r} is no expression of sizes: {error}") from None


def _symbol(node: ast.AST) -> str | None:
    """The name of a symbol, of a call `Symbol('s0', ...)`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Symbol" and node.args:
        name = node.args[0]
        return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else None
    return None


def _check(tree: ast.expr) -> None:
    """Raise `SyntaxError` where an expression holds anything that is not known here."""
    if isinstance(tree, ast.Constant) and isinstance(tree.value, int | float):
        return None
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return _check(tree.operand)
    if isinstance(tree, ast.Name) and tree.id in ("true", "false", "int_oo"):
        return None
    if _symbol(tree) is not None:
        return None
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        name = tree.func.id
        first = tree.args[0] if tree.args else None
        if name == "Float" and isinstance(first, ast.Constant) and isinstance(first.value, int | float | str):
            float(first.value)
            return None
        if name in _FUNCTIONS or name in _POWERS:
            for argument in tree.args:
                _check(argument)
            return None
    raise SyntaxError(f"{ast.unparse(tree)[:60]!r} is not known")


def _compute(tree: ast.expr, known: Mapping[str, int]) -> Any:
    if isinstance(tree, ast.Constant):
        return tree.value
    if isinstance(tree, ast.UnaryOp):
        return -_compute(tree.operand, known)
    if isinstance(tree, ast.Name):
        return {"true": True, "false": False, "int_oo": 1 << 62}[tree.id]
    name = _symbol(tree)
    if name is not None:
        return known[name]
    assert isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name)
    arguments = [_compute(argument, known) for argument in tree.args]
    if tree.func.id in _POWERS:
        return _power(*arguments)
    return _FUNCTIONS[tree.func.id](*arguments)


def _readable(tree: ast.expr) -> str:
    """As one would write it: `2*s31`."""
    name = _symbol(tree)
    if name is not None:
        return name
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        parts = [_readable(argument) for argument in tree.args]
        if tree.func.id == "Integer":
            return parts[0]
        joint = {"Add": " + ", "Mul": "*", "FloorDiv": "//"}.get(tree.func.id)
        return f"({joint.join(parts)})" if joint and len(parts) > 1 and joint != "*" else (
            joint.join(parts) if joint else f"{tree.func.id}({', '.join(parts)})")
    return ast.unparse(tree)


class Symbols:
    """What the symbols of a program are, found from the shapes of its inputs.

    `ranges` gives the least and the greatest value of each symbol, either None where there is none. A least of 2 is none:
    PyTorch traces with it what may be of any size (`Dim.AUTO`), and runs such a program on 0 and 1, too.
    """

    def __init__(self, where: str, ranges: Mapping[str, tuple[int | None, int | None]]) -> None:
        self.where = where
        self.ranges = {name: (least if least is not None and least > _TRACED else None, most)
                       for name, (least, most) in ranges.items()}
        self.values: dict[str, int] = {}
        self.notes: tuple[str, ...] = ()

    def settle(self, declared: Mapping[str, Sequence[int | Expression]], given: Mapping[str, Sequence[int | None]]) -> None:
        """Find the symbols in the `declared` shapes of inputs, with the shapes that the user gives.

        Raises `UsageError` where what is given does not fit, or lies beyond the range of a symbol, and `ReadError`
        where sizes are left that only the user knows.
        """
        asked = {
            name: [size.text if isinstance(size, Expression) else size for size in shape] for name, shape in declared.items()}
        allowed = {size.text: numbers for shape in declared.values() for size in shape
                   if isinstance(size, Expression) and (numbers := self._allowed(size)) is not None}
        found = static_shapes(
            asked, {name: list(shape) for name, shape in given.items()}, self.where, allowed=allowed)
        self.notes = found.notes
        pending = [(name, size, number, place) for name, shape in declared.items()
                   for place, (size, number) in enumerate(zip(shape, found.shapes[name], strict=True))
                   if isinstance(size, Expression)]
        try:
            for name, size, number, place in sorted(pending, key=lambda each: len(each[1].symbols)):
                self._enter(name, size, number, found.shapes[name], place)
            for name, size, number, _ in pending:
                if size.value(self.values) != number:
                    raise UsageError(f"{self.where}: a dimension of input {name!r} is {size.text}, which is "
                                     f"{size.value(self.values)} "
                                     f"by the other inputs, and cannot be {number}")
        except ValueError as error:
            raise ReadError(f"{self.where}: {error}") from None

    def _allowed(self, size: Expression) -> range | None:
        """The numbers from 1 that a size of one symbol may be, a multiple of it and a number more; None where it is another."""
        if len(size.symbols) != 1:
            return None
        try:
            zero, one, two = (size.value({size.symbols[0]: n}) for n in (0, 1, 2))
        except ValueError:
            return None
        if not (type(zero) is type(one) is type(two) is int and two - one == one - zero > 0):
            return None
        least, most = self.ranges.get(size.symbols[0], (None, None))
        least, most = max(least or 0, 0), MAX_ELEMENTS if most is None else min(most, MAX_ELEMENTS)
        numbers = range(zero + (one - zero) * least, zero + (one - zero) * most + 1, one - zero)
        return numbers[max(0, -((numbers.start - 1) // numbers.step)):]

    def _enter(self, name: str, size: Expression, number: int, shape: Sequence[int], place: int) -> None:
        """Find a symbol by one dimension, at a `place` in a `shape`, of an input."""
        if size.value(self.values) is not None:
            return
        solved = size.solve(number, self.values)
        other = nearest_of(number, self._allowed(size))
        example = "x".join(str(other if at == place else each) for at, each in enumerate(shape))
        hint = f"give the input another shape, for example --shape {quoted(f'{name}:{example}')}" if other != number else ""
        if solved is None:
            raise UsageError(f"{self.where}: a dimension of input {name!r} is {size.text}, which cannot be {number}", hint=hint)
        symbol, value = solved
        least, most = self.ranges.get(symbol, (None, None))
        if (least is not None and value < least) or (most is not None and value > most) or value < 0:
            span = f"{least if least is not None else 0} to {most if most is not None else 'any number'}"
            raise UsageError(
                f"{self.where}: a dimension of input {name!r} is {size.text}, and with {number} {symbol} would be {value}; the "
                f"program was exported for {span}", hint=hint)
        self.values[symbol] = value

    def number(self, size: float | Expression) -> int | float | None:
        """What is computed of sizes: a whole number, or a float; None where it depends on what is computed at run time."""
        if not isinstance(size, Expression):
            return size
        try:
            found = size.value(self.values)
        except ValueError as error:
            raise ReadError(f"{self.where}: {error}") from None
        return found if found is None or isinstance(found, float) else int(found) if found == int(found) else float(found)

    def size(self, size: int | Expression) -> int | None:
        """The size of a dimension; None where it depends on what is computed at run time."""
        found = self.number(size)
        if isinstance(found, float) and isinstance(size, Expression):
            raise ReadError(f"{self.where}: a dimension is {size.text}, and {found:g} is no size")
        return None if found is None else int(found)
