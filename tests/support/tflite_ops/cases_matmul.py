"""Fully connected layers and matrix products."""

from __future__ import annotations

from .spec import b, cases, each, w, x, y, z

ACTIVATIONS = each("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
ALL = "f32 f16 i8 i8t u8 i16 i16t i4 i2 hybrid hybrid_axis hybrid4 hybrid2"
BATCHED = "f32 i8t i16t"

LAYERS = [
    *cases("FULLY_CONNECTED", each(x(1, 8), x(5, 8), x(2, 3, 8), x(2, 2, 2, 4)), w(6, 8), b(6), formats=ALL),
    *cases("FULLY_CONNECTED", x(3, 8), w(6, 8), formats=ALL),
    *cases("FULLY_CONNECTED", x(3, 8), w(6, 8), None, formats="f32 i8 i16"),
    *cases("FULLY_CONNECTED", x(3, 8), w(6, 8), b(6), formats=ALL, fused_activation_function=ACTIVATIONS),
    *cases("FULLY_CONNECTED", x(2, 3, 8), w(6, 8), b(6), formats=ALL, keep_num_dims=True),
    *cases("FULLY_CONNECTED", x(1, 8).sized(4, 8), w(6, 8), b(6), formats=ALL),
    *cases("FULLY_CONNECTED", x(4, 9), w(6, 9), b(6), formats="hybrid hybrid_axis", asymmetric_quantize_inputs=True),
    *cases("FULLY_CONNECTED", x(20, 9), each(z(20, 9), z(20, 9).const), formats=BATCHED, result=y(by=2.0)),
    *cases("FULLY_CONNECTED", x(3, 200), w(6, 200), b(6), result=each(y(by=0.05), y(by=5.0)), formats="i8 i8t u8 i16"),
]

PRODUCTS = [
    *cases("BATCH_MATMUL", each(x(3, 4), x(2, 3, 4)), z(4, 5), formats=BATCHED),
    *cases("BATCH_MATMUL", each(x(2, 3, 4), x(1, 3, 4), x(5, 2, 3, 4)), z(2, 4, 5), formats=BATCHED),
    *cases("BATCH_MATMUL", x(2, 3, 4), z(2, 5, 4), formats=BATCHED, adj_y=True),
    *cases("BATCH_MATMUL", x(2, 4, 3), z(2, 4, 5), formats=BATCHED, adj_x=True),
    *cases("BATCH_MATMUL", x(2, 4, 3), z(2, 5, 4), formats=BATCHED, adj_x=True, adj_y=True),
    *cases("BATCH_MATMUL", x(2, 3, 4), z(2, 4, 5).const, formats=BATCHED),
    *cases("BATCH_MATMUL", x(20, 9), each(z(9, 20), z(9, 20).const), formats=BATCHED, result=y(by=2.0)),
    *cases("BATCH_MATMUL", x(20, 9), z(20, 9).const, formats=BATCHED, result=y(by=2.0), adj_y=True),
    *cases("BATCH_MATMUL", x(1, 3, 4).sized(2, 3, 4), z(4, 5).const, formats=BATCHED),
    *cases("BATCH_MATMUL", x(2, 3, 4), w(2, 4, 5, axis=None), formats="hybrid f16", asymmetric_quantize_inputs=each(True, False)),
    *cases("BATCH_MATMUL", x(2, 3, 4), w(2, 4, 5, axis=None), formats="i8 i16 hybrid_axis", asymmetric_quantize_inputs=True),
    *cases("BATCH_MATMUL", x(20, 9), w(9, 20, axis=None), formats="i8 i16", result=y(by=2.0)),
]

CASES = LAYERS + PRODUCTS
