"""Functions of one number, and softmax and its kin along an axis."""

from __future__ import annotations

from .spec import cases, each, p, t, w, x, y, z

QUANTIZED = "i8t u8 i16t"
SHAPES = each(x(), x(7), x(2, 3, 4), x(1, 2, 3, 2, 2), x(16, 16, low=-9, high=9))
POSITIVE = each(x(low=0.1, high=4.0), x(7, low=1e-3, high=1.0), x(16, 16, low=0.01, high=90.0), x(1, 2, 3, 2, 2, low=0.5))
EVERY = x(16, 32)
"""Every number of 8 bits, twice; 512 of the numbers of 16 bits."""
UNSIGNED = x(16, 16, zero=-128)
"""Every number of an int8 type that has no negative ones."""

UNARY = [
    *cases("ABS NEG SIN COS FLOOR CEIL ROUND SQUARE EXP SIGN", SHAPES),
    *cases("LOG SQRT RSQRT", POSITIVE),
    *cases("ABS NEG SIN EXP LOG SQRT FLOOR", x(1, 5, low=0.5).sized(4, 5)),
    *cases("ABS", EVERY, formats="i8t i16t", result=each(x(), y(), y(by=0.3))),
    *cases("ABS NEG SIGN", x(5, 5, low=-90, high=90), formats="i32"),
    *cases("ABS NEG", x(5, 5, low=-90, high=90), formats="raw_i16"),
    *cases("NEG", EVERY, formats="i8t i16t", result=each(x(), y())),
    *cases("NEG", x(5, 5, low=-90, high=90), formats="i64"),
    *cases("LOG", x(16, 32), formats="i16t"),
    *cases("EXP", EVERY, formats="i8t i16t"),
    *cases("EXP", x(16, 32, by=0.5), formats="i8t i16t", result=each(y(), y(by=3.0))),
    *cases("LOG SQRT RSQRT", UNSIGNED, formats="i8t", result=each(y(), y(by=0.4))),
]

ACTIVATIONS = [
    *cases("RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 ELU HARD_SWISH LOGISTIC TANH", SHAPES),
    *cases("RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 ELU HARD_SWISH LOGISTIC TANH", x(4, 5, low=-90, high=90)),
    *cases("RELU RELU6 LOGISTIC TANH HARD_SWISH ELU", x(1, 5).sized(4, 5)),
    *cases("RELU RELU6 RELU_N1_TO_1", EVERY, formats="i8t u8", result=each(x(), y(), y(by=0.2))),
    *cases("RELU RELU6", EVERY, formats="i16t", result=each(x(), y())),
    *cases("RELU_0_TO_1", EVERY, formats="i8t u8", result=each(x(), y())),
    *cases("LOGISTIC", each(EVERY, x(16, 32, by=3.0)), formats=QUANTIZED, result=p()),
    *cases("TANH", each(EVERY, x(16, 32, by=2.0), x(2, 3, 2, 2)), formats=QUANTIZED, result=t()),
    *cases("ELU", EVERY, formats="i8t", result=each(x(), y())),
    *cases("HARD_SWISH", EVERY, formats="i8t u8", result=each(x(), y(), y(by=0.3))),
    *cases("LEAKY_RELU", each(x(4, 5), x(2, 3, 4, low=-9)), alpha=each(0.0, 0.1, 0.7, 1.5, -0.5)),
    *cases("LEAKY_RELU", EVERY, formats=QUANTIZED, result=each(x(), y()), alpha=each(0.1, 0.7, 1.5)),
    *cases("PRELU", x(2, 3, 3, 4), each(z(1, 1, 4).const, z(3, 3, 4).const, z(4).const, z(1, 1, 4)), formats="f32 i8t u8",
           result=each(x(), y())),
    *cases("PRELU", x(2, 30, low=-5), z(30).const, formats="f32 i8t u8"),
    *cases("PRELU", x(2, 3, 3, 4), each(w(1, 1, 4, axis=None), w(3, 3, 4, axis=None)), formats="i8 i16 i16t f16",
           result=each(y(scale=2e-4), y(scale=9e-4))),
    *cases("GELU", each(x(4, 5), x(2, 3, 4, low=-6, high=6)), approximate=each(True, False)),
    *cases("GELU", EVERY, formats="i8t u8 i16t", result=each(x(), y()), approximate=each(True, False)),
]

SOFTMAX = [
    *cases("SOFTMAX", each(x(7), x(3, 7), x(2, 3, 5), x(2, 3, 2, 6), x(1, 1)), beta=each(1.0, 0.5, 2.0)),
    *cases("SOFTMAX", each(x(9), x(3, 9), x(2, 3, 5), x(2, 3, 2, 6), x(4, 200), x(2, 1)), formats=QUANTIZED, result=p(),
           beta=each(1.0, 0.3)),
    *cases("SOFTMAX", x(4, 100), formats="i8t u8", result=p(), beta=10.0),
    *cases("SOFTMAX", x(1, 5).sized(3, 5), formats="f32 i8t", result=p(), beta=1.0),
    *cases("SOFTMAX", x(3, 40, by=0.1), formats="i8t i16t", result=p(), beta=1.0),
    *cases("LOG_SOFTMAX", each(x(7), x(3, 7), x(2, 3, 5), x(2, 2, 2, 4, low=-9, high=9))),
    *cases("LOG_SOFTMAX", each(x(3, 20), x(2, 2, 30), x(2, 130)), formats="i8t", result=y(scale=16 / 256, zero=127)),
    *cases("LOG_SOFTMAX", each(x(3, 20), x(2, 130)), formats="u8", result=y(scale=16 / 256, zero=255)),
    *cases("L2_NORMALIZATION", each(x(3, 7), x(2, 3, 5), x(2, 2, 2, 4))),
    *cases("L2_NORMALIZATION", each(x(3, 7), x(2, 2, 40), x(2, 2, 2, 4)), formats="i8t u8", result=t()),
    *cases("LOCAL_RESPONSE_NORMALIZATION", each(x(1, 2, 3, 9), x(2, 1, 2, 4, low=-9)), radius=each(1, 2), bias=each(1.0, 2.0),
           alpha=0.3,
           beta=each(0.5, 0.75)),
]

CASES = UNARY + ACTIVATIONS + SOFTMAX
