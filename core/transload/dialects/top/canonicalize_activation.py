"""Activations that a framework spells out, or sets apart from the op they follow, as one op. Floats only."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...ir import ElidedData, Value
from ...ir.build import constant_of
from ...rewrite import Rewriter, RewriteTable
from .canonicalize_affine import affine_of, is_float, used_once

__all__ = ["TABLE"]

TABLE = RewriteTable()

_NEAR = 1e-3  # how near to its true value a constant in a formula must be


@TABLE("top.Relu")
def relu_into_op(op: Any, rw: Rewriter) -> Value | None:
    """A ReLU is part of the op before it, where that can end with one and nobody wants the value without."""
    maker = op.input.op
    if maker is None or maker.parent is not op.parent or not used_once(op.input) or not is_float(op.input):
        return None
    if maker.name == "top.Relu":
        maker.attributes["relu_limit"] = _lower(maker.relu_limit, op.relu_limit)
    elif maker.declaration is not None and "do_relu" in maker.declaration.attributes:
        before = maker.relu_limit if maker.do_relu else -1.0
        maker.attributes["do_relu"] = True
        maker.attributes["relu_limit"] = _lower(before, op.relu_limit)
    else:
        return None
    if maker.attributes["relu_limit"] < 0:
        del maker.attributes["relu_limit"]
    if op.location is not None:
        maker.location = op.location  # it now computes the tensor of that name
    return op.input


def _lower(a: float, b: float) -> float:
    """The lower of two limits, of which a negative one is none."""
    return min(a, b) if a >= 0 and b >= 0 else max(a, b)


@TABLE("top.Clip")
def clip_is_relu(op: Any, rw: Rewriter) -> Value | None:
    """Clipping at 0 from below is a ReLU."""
    if not is_float(op.input) or op.min != 0 or op.max < 0 or math.isnan(op.max):
        return None
    return rw.emit("top.Relu", op.input, relu_limit=None if math.isinf(op.max) else float(op.max))


@TABLE("top.Mul", "top.MulConst", "top.Div")
def spelled_out(op: Any, rw: Rewriter) -> Value | None:
    """SiLU, HardSwish, Mish and GELU as products of their argument and a function of it."""
    if op.do_relu or not is_float(op.results[0]):
        return None
    factor, terms = _product(op.results[0])
    if len(terms) != 2:
        return None
    for x, gate in (terms, terms[::-1]):
        found = _gated(x, gate, factor)
        if found is not None and x.type == op.results[0].type:
            name, attributes = found
            return rw.emit(f"top.{name}", x, **attributes)
    return None


def _product(value: Value, root: bool = True) -> tuple[float, list[Value]]:
    """A value as a number times other values: products that only it uses, taken apart."""
    op = value.op
    if op is None or (not root and not used_once(value)) or op.attribute("do_relu", False) or not is_float(value):
        return 1.0, [value]
    affine = affine_of(op) if op.name in ("top.Mul", "top.MulConst", "top.Div") else None
    if affine is not None:
        if affine.scale is None or affine.shift is not None or affine.scale.size != 1:
            return 1.0, [value]
        factor, terms = _product(affine.source, False)
        return factor * float(affine.scale.reshape(())), terms
    if op.name == "top.Mul" and len(op.operands) == 2:
        (left, lefts), (right, rights) = (_product(operand, False) for operand in op.operands)
        return left * right, lefts + rights
    return 1.0, [value]


def _gated(x: Value, gate: Value, factor: float) -> tuple[str, dict[str, Any]] | None:
    """The activation that `factor * x * gate(x)` is: its name and attributes."""
    op: Any = gate.op
    if op is None or not used_once(gate):
        return None
    if _is(factor, 1) and op.operands and op.operands[0] is x:
        if op.name == "top.Sigmoid" and op.scale == 1 and op.bias == 0 and not op.log:
            return "SiLU", {}
        if op.name == "top.HardSigmoid" and _is(op.alpha, 1 / 6) and _is(op.beta, 0.5):
            return "HardSwish", {}
    if _is(factor, 1 / 6) and op.attribute("do_relu", False) and _is(op.relu_limit, 6) and _shifted(gate, 3) is x:
        return "HardSwish", {}
    if _is(factor, 1) and op.name == "top.Tanh" and (inner := op.input.op) is not None and inner.name == "top.Softplus":
        return ("Mish", {}) if inner.operands[0] is x else None
    if not _is(factor, 0.5):
        return None
    curve: Any = getattr(_shifted(gate, 1), "op", None)
    if curve is None or curve.name not in ("top.Erf", "top.Tanh") or curve.attribute("do_relu", False):
        return None
    scale, terms = _product(curve.input)
    if len(terms) != 1:
        return None
    if curve.name == "top.Erf":
        return ("GELU", {}) if terms[0] is x and _is(scale, math.sqrt(0.5)) else None
    return ("GELU", {"approx": True}) if _is(scale, math.sqrt(2 / math.pi)) and _is_cubic(terms[0], x) else None


def _is(value: float, wanted: float) -> bool:
    return abs(value - wanted) <= _NEAR * abs(wanted)


def _shifted(value: Value, by: float) -> Value | None:
    """What `value` is `by` greater than, or None."""
    op = value.op
    affine = affine_of(op) if op is not None else None
    if affine is None or affine.scale is not None or affine.shift is None or affine.shift.size != 1:
        return None
    return affine.source if _is(float(affine.shift.reshape(())), by) else None


def _is_cubic(value: Value, x: Value) -> bool:
    """Whether `value` is `x + 0.044715 x^3`."""
    op = value.op
    if op is None or op.name != "top.Add" or len(op.operands) != 2:
        return False
    if op.attribute("do_relu", False) or op.attribute("coeff") is not None:
        return False
    left, right = op.operands
    cube = right if left is x else left if right is x else None
    if cube is None:
        return False
    factor, terms = _product(cube)
    powers = [_power(term, x) for term in terms]
    return _is(factor, 0.044715) and None not in powers and math.isclose(sum(powers), 3)  # type: ignore[arg-type]


def _power(value: Value, x: Value) -> float | None:
    """The p for which `value` is `x ** p`, or None."""
    if value is x:
        return 1.0
    op: Any = value.op
    if op is None or not op.operands or op.operands[0] is not x:
        return None
    if op.name == "top.Square":
        return 2.0
    if op.name == "top.Pow":
        return _scalar(op.exponent)
    if op.name == "top.Mul" and all(operand is x for operand in op.operands):
        return float(len(op.operands))
    return None


def _scalar(value: Value) -> float | None:
    """The number that a constant of one element holds."""
    dense = constant_of(value)
    if dense is None or isinstance(dense.data, ElidedData) or math.prod(dense.shape) != 1:
        return None
    return float(np.asarray(dense.numpy()).reshape(()))
