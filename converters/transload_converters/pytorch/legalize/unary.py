"""Functions of one number, and activation functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from transload.errors import Unsupported
from transload.ir import BOOL, F32, Value
from transload.rewrite import Rewriter
from transload_hub.functions import erfc, expm1, log_erfc
from transload_hub.special import bessel, digamma, erfinv, lgamma, ndtri

from .elementwise import finite_range
from .table import AtenTable, Call, axis_of, cast, is_float, number_in, number_like, reshape, shape_of, splat, wide

TABLE = AtenTable()

_PLAIN = {
    "abs": "Abs", "absolute": "Abs", "neg": "Neg", "negative": "Neg", "square": "Square",
    "ceil": "Ceil", "floor": "Floor", "sqrt": "Sqrt", "rsqrt": "Rsqrt", "reciprocal": "Reciprocal", "exp": "Exp", "log": "Log",
    "log1p": "Log1p", "special_log1p": "Log1p", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin", "arcsin": "Asin",
    "acos": "Acos", "arccos": "Acos", "atan": "Atan", "arctan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh",
    "asinh": "Asinh", "arcsinh": "Asinh", "acosh": "Acosh", "arccosh": "Acosh", "atanh": "Atanh", "arctanh": "Atanh",
    "erf": "Erf", "special_erf": "Erf", "sigmoid": "Sigmoid", "special_expit": "Sigmoid", "silu": "SiLU", "mish": "Mish",
    "hardswish": "HardSwish", "relu": "Relu",
}
_OF_INTEGERS = {"Abs", "Neg", "Square", "Ceil", "Floor", "Relu"}
_SAME_OF_INTEGERS = {"Ceil", "Floor"}


@TABLE(*(f"{name}.default" for name in _PLAIN))
def plain(call: Call, rw: Rewriter) -> Value:
    """Functions that the hub has; of integers most give floats."""
    name, value = _PLAIN[call.base], call.self
    if value.element == BOOL and name == "Abs":
        return value
    if name in _SAME_OF_INTEGERS and not is_float(value.element):
        return value
    return rw.emit(f"top.{name}", value if name in _OF_INTEGERS and value.element != BOOL else cast(rw, value, call.element))


@TABLE("sign.default", "sgn.default")
def sign(call: Call, rw: Rewriter) -> Value:
    """-1, 0 or 1: 0 of NaN, which is neither above nor below 0."""
    value = call.self
    if value.element == BOOL:
        return value
    made = rw.emit("top.Sign", value)
    if not is_float(value.element):
        return made
    return rw.emit("top.Where", rw.emit("top.IsNaN", value), number_like(rw, 0.0, value.element), made)


@TABLE("round.default", "round.decimals", "special_round.default",
       rounded=lambda call: "once" if call.get("decimals", 0) else "each")
def round_(call: Call, rw: Rewriter) -> Value:
    """Rounded to so many decimals, halves to the even number."""
    decimals = call.get("decimals", 0)
    if not is_float(call.element):
        if decimals:
            raise Unsupported("rounds integers to tens", "")
        return call.self
    if not decimals:
        return rw.emit("top.Round", call.self)
    unit = number_like(rw, 10.0 ** abs(decimals), call.element)
    there, back = ("top.Mul", "top.Div") if decimals > 0 else ("top.Div", "top.Mul")
    return rw.emit(back, rw.emit("top.Round", rw.emit(there, call.self, unit)), unit)


@TABLE("exp2.default", "special_exp2.default", rounded="once")
def exp2(call: Call, rw: Rewriter) -> Value:
    """`2 ** x`."""
    return rw.emit("top.Exp", rw.emit("top.MulConst", cast(rw, call.self, call.element), const_val=math.log(2.0)))


@TABLE("expm1.default", "special_expm1.default", rounded="once")
def exponential_less_one(call: Call, rw: Rewriter) -> Value:
    """`exp(x) - 1`, exact near 0."""
    return expm1(rw, cast(rw, call.self, call.element))


@TABLE("log2.default", "log10.default", rounded="once")
def log_of_base(call: Call, rw: Rewriter) -> Value:
    """Logarithms to another base."""
    base = 2.0 if call.base == "log2" else 10.0
    return rw.emit("top.MulConst", rw.emit("top.Log", cast(rw, call.self, call.element)), const_val=1.0 / math.log(base))


@TABLE("erfc.default", "special_erfc.default", rounded="once")
def complementary_error_function(call: Call, rw: Rewriter) -> Value:
    """`1 - erf(x)`, exact where that is small."""
    return erfc(rw, cast(rw, call.self, call.element))


@TABLE("special_ndtr.default", "special_log_ndtr.default", rounded="once")
def normal_distribution(call: Call, rw: Rewriter) -> Value:
    """How likely a number of the normal distribution is below x, or the logarithm of that: by `erfc(-x / sqrt(2)) / 2`."""
    x = rw.emit("top.MulConst", cast(rw, call.self, call.element), const_val=-math.sqrt(0.5))
    if call.base == "special_ndtr":
        return rw.emit("top.MulConst", erfc(rw, x), const_val=0.5)
    below = rw.emit("top.Sub", log_erfc(rw, x), number_like(rw, math.log(2.0), x.element))
    above = rw.emit("top.Log1p", rw.emit("top.MulConst", erfc(rw, rw.emit("top.Neg", x)), const_val=-0.5))
    return rw.emit("top.Where", rw.emit("top.Compare", x, number_like(rw, 0.0, x.element), mode="Greater"), below, above)


def _digamma(rw: Rewriter, x: Value) -> Value:
    """Infinite at 0, against the sign of the zero, where others have NaN."""
    at_zero = rw.emit("top.Compare", x, number_like(rw, 0.0, x.element), mode="Equal")
    return rw.emit("top.Where", at_zero, rw.emit("top.Neg", rw.emit("top.Reciprocal", x)), digamma(rw, x))


_SERIES: dict[str, Callable[[Rewriter, Value], Value]] = {
    "lgamma": lgamma, "special_gammaln": lgamma, "digamma": _digamma, "special_digamma": _digamma, "special_psi": _digamma,
    "erfinv": erfinv, "special_erfinv": erfinv, "special_ndtri": ndtri,
    "i0": partial(bessel, order=0, scaled=False), "special_i0": partial(bessel, order=0, scaled=False),
    "special_i1": partial(bessel, order=1, scaled=False), "special_i0e": partial(bessel, order=0, scaled=True),
    "special_i1e": partial(bessel, order=1, scaled=True),
}


@TABLE(*(f"{name}.default" for name in _SERIES), rounded="once")
def by_series(call: Call, rw: Rewriter) -> Value:
    """The gamma function's logarithm and its derivative, the inverses of erf and of the normal distribution, Bessel functions."""
    return _SERIES[call.base](rw, cast(rw, call.self, call.element))


@TABLE("logit.default", "special_logit.default")
def logit(call: Call, rw: Rewriter) -> Value:
    """`log(x / (1 - x))`, x kept between eps and 1 - eps."""
    value = cast(rw, call.self, call.element)
    if call.eps is not None:
        value = rw.emit("top.Clip", value, min=float(call.eps), max=1.0 - float(call.eps))
    return rw.emit("top.Log", rw.emit("top.Div", value, rw.emit("top.Sub", number_like(rw, 1.0, value.element), value)))


@TABLE("sinc.default", "special_sinc.default", rounded="once")
def sinc(call: Call, rw: Rewriter) -> Value:
    """`sin(pi x) / (pi x)`, 1 at 0."""
    angle = rw.emit("top.MulConst", cast(rw, call.self, call.element), const_val=math.pi)
    one = number_like(rw, 1.0, angle.element)
    at_zero = rw.emit("top.Compare", angle, number_like(rw, 0.0, angle.element), mode="Equal")
    ratio = rw.emit("top.Div", rw.emit("top.Sin", angle), rw.emit("top.Where", at_zero, one, angle))
    return rw.emit("top.Where", at_zero, one, ratio)


@TABLE("deg2rad.default", "rad2deg.default")
def degrees(call: Call, rw: Rewriter) -> Value:
    """Degrees and radians."""
    factor = math.pi / 180.0 if call.base == "deg2rad" else 180.0 / math.pi
    return rw.emit("top.MulConst", cast(rw, call.self, call.element), const_val=factor)


@TABLE("special_entr.default")
def entr(call: Call, rw: Rewriter) -> Value:
    """`-x * log(x)`, 0 at 0 and -inf below."""
    value = cast(rw, call.self, call.element)
    zero = number_like(rw, 0.0, value.element)
    above = rw.emit("top.Neg", rw.emit("top.Mul", value, rw.emit("top.Log", value)))
    below = rw.emit("top.Where", rw.emit("top.Compare", value, zero, mode="Equal"), zero,
                    number_like(rw, -math.inf, value.element))
    return rw.emit("top.Where", rw.emit("top.Compare", value, zero, mode="LessOrEqual"), below, above)


# --- questions


@TABLE("isnan.default", "isinf.default", "isfinite.default", "isposinf.default", "isneginf.default")
def question(call: Call, rw: Rewriter) -> Value:
    """Whether a number is none, or infinite; no integer is."""
    value = call.self
    if not is_float(value.element):
        value = cast(rw, value, F32)
    if call.base in ("isnan", "isinf"):
        return rw.emit("top.IsNaN" if call.base == "isnan" else "top.IsInf", value)
    if call.base == "isfinite":
        return rw.emit("top.LogicalNot", rw.emit("top.LogicalOr", rw.emit("top.IsNaN", value), rw.emit("top.IsInf", value)))
    limit = number_like(rw, math.inf if call.base == "isposinf" else -math.inf, value.element)
    return rw.emit("top.Compare", value, limit, mode="Equal")


@TABLE("logical_not.default")
def logical_not(call: Call, rw: Rewriter) -> Value:
    """Whether it is zero."""
    return rw.emit("top.LogicalNot", cast(rw, call.self, BOOL))


@TABLE("bitwise_not.default")
def bitwise_not(call: Call, rw: Rewriter) -> Value:
    """All bits turned."""
    return rw.emit("top.LogicalNot" if call.element == BOOL else "top.BitwiseNot", call.self)


@TABLE("signbit.default")
def signbit(call: Call, rw: Rewriter) -> Value:
    """Whether it is negative; -0 is, as its reciprocal says."""
    value, zero = call.self, number_like(rw, 0, call.self.element)
    below = rw.emit("top.Compare", value, zero, mode="Less")
    if not is_float(value.element):
        return below
    nothing = rw.emit("top.Compare", value, zero, mode="Equal")
    under = rw.emit("top.Compare", rw.emit("top.Reciprocal", value), zero, mode="Less")
    return rw.emit("top.LogicalOr", below, rw.emit("top.LogicalAnd", nothing, under))


@TABLE("nan_to_num.default")
def nan_to_num(call: Call, rw: Rewriter) -> Value:
    """Numbers for what is none and for infinities."""
    value = call.self
    if not is_float(value.element):
        return value
    least, most = finite_range(value.element)
    for wrong, number, default in ((math.inf, call.posinf, most), (-math.inf, call.neginf, least)):
        at = rw.emit("top.Compare", value, number_like(rw, wrong, value.element), mode="Equal")
        value = rw.emit("top.Where", at, number_like(rw, float(default if number is None else number), value.element), value)
    return rw.emit("top.Where", rw.emit("top.IsNaN", value), number_like(rw, float(call.nan or 0.0), value.element), value)


# --- activation functions


@TABLE("relu6.default", stored="carried")
def relu6(call: Call, rw: Rewriter) -> Value:
    """Between 0 and 6."""
    return rw.emit("top.Relu", call.self, relu_limit=6.0)


@TABLE("hardtanh.default", stored="carried")
def hardtanh(call: Call, rw: Rewriter) -> Value:
    """Between two limits."""
    low, high = (float(number_in(limit, call.self.element, "cut")) for limit in (call.min_val, call.max_val))
    return rw.emit("top.Relu", call.self, relu_limit=high) if low == 0 and high > 0 else (
        rw.emit("top.Clip", call.self, min=low, max=high))


@TABLE("leaky_relu.default")
def leaky_relu(call: Call, rw: Rewriter) -> Value:
    """A slope below zero."""
    return rw.emit("top.LeakyRelu", call.self, alpha=float(call.negative_slope))


@TABLE("rrelu.default")
def rrelu(call: Call, rw: Rewriter) -> Value:
    """In inference a slope in the middle of its range."""
    if call.training:
        raise Unsupported("is in training mode", "export the network after model.eval()")
    return rw.emit("top.LeakyRelu", call.self, alpha=(float(call.lower) + float(call.upper)) / 2)


@TABLE("prelu.default", "_prelu_kernel.default")
def prelu(call: Call, rw: Rewriter) -> Value:
    """A slope for each channel."""
    value, slope = call.self, call.weight
    rank = len(shape_of(value))
    if call.base == "prelu" and len(shape_of(slope)) == 1 and rank > 1:
        slope = reshape(rw, slope, (1, shape_of(slope)[0], *(1,) * (rank - 2)))
    elif call.base == "prelu":
        slope = reshape(rw, slope, shape_of(slope)[: min(rank, 1)])
    return rw.emit("top.PRelu", value, slope)


@TABLE("elu.default")
def elu(call: Call, rw: Rewriter) -> Value:
    """ELU, with scales of what goes in and comes out, as SELU has them."""
    alpha, scale, inner = float(call.alpha), float(call.scale), float(call.input_scale)
    if inner == 1.0:
        made = rw.emit("top.Elu", call.self, alpha=alpha)
        return made if scale == 1.0 else rw.emit("top.MulConst", made, const_val=scale)
    if inner == 1.0 / alpha and scale == 1.0:
        return rw.emit("top.Celu", call.self, alpha=alpha)
    raise Unsupported(f"has an input_scale of {inner}")


@TABLE("selu.default")
def selu(call: Call, rw: Rewriter) -> Value:
    """SELU."""
    return rw.emit("top.Selu", call.self, alpha=1.6732632423543772848170429916717, gamma=1.0507009873554804934193349852946)


@TABLE("celu.default")
def celu(call: Call, rw: Rewriter) -> Value:
    """CELU."""
    return rw.emit("top.Celu", call.self, alpha=float(call.alpha))


@TABLE("gelu.default")
def gelu(call: Call, rw: Rewriter) -> Value:
    """GELU, by erf or by tanh."""
    return rw.emit("top.GELU", call.self, approx=call.choice("approximate", ("none", "tanh"), "none") == "tanh" or None)


@TABLE("hardsigmoid.default")
def hardsigmoid(call: Call, rw: Rewriter) -> Value:
    """`clamp(x + 3, 0, 6) / 6`."""
    return rw.emit("top.HardSigmoid", call.self, alpha=1.0 / 6.0, beta=0.5)


@TABLE("softplus.default", rounded=lambda call: "each" if call.beta == 1 else "once")
def softplus(call: Call, rw: Rewriter) -> Value:
    """`log(1 + exp(beta x)) / beta`; x itself where beta x is above the threshold."""
    value, beta, threshold = call.self, float(call.beta), float(call.threshold)
    scaled = value if beta == 1.0 else rw.emit("top.MulConst", value, const_val=beta)
    made = rw.emit("top.Softplus", scaled)
    made = made if beta == 1.0 else rw.emit("top.MulConst", made, const_val=1.0 / beta)
    if threshold >= 18.0 and abs(beta) <= 1.0:  # beyond which log(1 + exp(x)) is x in f32; a greater beta may overflow
        return made
    large = rw.emit("top.Compare", scaled, number_like(rw, threshold, value.element), mode="Greater")
    return rw.emit("top.Where", large, value, made)


@TABLE("log_sigmoid.default", "log_sigmoid_forward.default")
def log_sigmoid(call: Call, rw: Rewriter) -> list[Value]:
    """The logarithm of the sigmoid."""
    call.refuse_use(1, "a buffer for training")
    made = rw.emit("top.Sigmoid", call.self, log=True)
    return [made] * len(call.op.results)


@TABLE("softshrink.default", rounded="once")
def softshrink(call: Call, rw: Rewriter) -> Value:
    """Zero near zero; beyond, less by as much: what a number is beside the nearest one within the bounds, NaN of NaN."""
    bound = float(call.lambd)
    return rw.emit("top.Sub", call.self, rw.emit("top.Clip", call.self, min=-bound, max=bound))


@TABLE("hardshrink.default")
def hardshrink(call: Call, rw: Rewriter) -> Value:
    """Zero near zero; beyond, and where it is NaN, the same. (`top.Shrink`, as ONNX has it, is 0 of NaN.)"""
    value = call.self
    return _replaced(rw, rw.emit("top.Abs", value), call.lambd, 0.0, value)


@TABLE("threshold.default")
def threshold(call: Call, rw: Rewriter) -> Value:
    """Another number at and below a threshold, the same above it and where it is NaN."""
    return _replaced(rw, call.self, call.threshold, call.value, call.self)


def _replaced(rw: Rewriter, measure: Value, bound: float, number: float, value: Value) -> Value:
    """`value`, but `number` where `measure` is at or below a bound."""
    within = rw.emit("top.Compare", measure, number_like(rw, bound, measure.element, "cut"), mode="LessOrEqual")
    return rw.emit("top.Where", within, number_like(rw, number, value.element, "cut"), value)


@TABLE("glu.default", rounded="once")
def glu(call: Call, rw: Rewriter) -> Value:
    """One half times the sigmoid of the other."""
    shape = shape_of(call.self)
    axis = axis_of(call.dim, len(shape))
    if not shape or shape[axis] % 2:
        raise Unsupported(f"halves dimension {axis} of a tensor of shape {shape}")
    first, second = rw.emit("top.Split", call.self, axis=axis, split_size=(shape[axis] // 2,) * 2)
    return rw.emit("top.Mul", first, rw.emit("top.Sigmoid", second))


# --- softmax


@TABLE("softmax.int", "_softmax.default", "log_softmax.int", "_log_softmax.default", "_safe_softmax.default",
       "special_softmax.default", "special_log_softmax.default")
def softmax(call: Call, rw: Rewriter) -> Value:
    """Softmax and its logarithm; a row of -inf gives zeros where it is safe."""
    given, element = wide(rw, cast(rw, call.self, call.element))
    value = reshape(rw, given, shape_of(given) or (1,))
    axis = axis_of(call.dim, value.rank)
    made = rw.emit("top.Softmax", value, axis=axis, log="log" in call.base or None)
    if call.base == "_safe_softmax":
        made = without_dead_rows(rw, made, value, axis)
    return reshape(rw, cast(rw, made, element), shape_of(given))


def without_dead_rows(rw: Rewriter, made: Value, scores: Value, axis: int) -> Value:
    """A softmax with zeros where all scores of a row are -inf."""
    most = rw.emit("top.Reduce", scores, axes=(axis,), mode="ReduceMax")
    dead = rw.emit("top.Compare", most, number_like(rw, -math.inf, scores.element), mode="Equal")
    return rw.emit("top.Where", dead, number_like(rw, 0.0, scores.element), made)


# --- what does nothing in inference


@TABLE("dropout.default", "feature_dropout.default", "alpha_dropout.default", "feature_alpha_dropout.default",
       "native_dropout.default", stored="carried")
def dropout(call: Call, rw: Rewriter) -> list[Value]:
    """Dropout, which passes everything on in inference."""
    if call.train and float(call.p) > 0:
        raise Unsupported("drops numbers at random, as in training", "export the network after model.eval()")
    value = call.input
    mask = [splat(rw, True, shape_of(value), BOOL)] if call.used(1) else [value]
    return [value, *mask][: len(call.op.results)]
