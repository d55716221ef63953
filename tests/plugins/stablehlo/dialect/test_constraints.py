# ruff: noqa: E501 - lines of programs
"""Constraints of the specification, broken one by one: each is found, and said with its number."""

from __future__ import annotations

import re

import pytest

from transload.ir import registry
from transload.ir.verify import check
from transload.text import parse_module

from tests.support.stablehlo_specification import op_names, specification

SUM = (
    '({{\n^bb0(%x: tensor<{e}>, %y: tensor<{e}>):\n%z = "stablehlo.add"(%x, %y) : (tensor<{e}>, tensor<{e}>) -> tensor<{e}>\n'
    '"stablehlo.return"(%z) : (tensor<{e}>) -> ()\n}})'
)
F_SUM, I_SUM = SUM.format(e="f32"), SUM.format(e="i32")
GATHER = "dimension_numbers = #stablehlo.gather<{}>, slice_sizes = array<i64: {}>"
CONV = (
    "window_strides = array<i64: {s}>, padding = dense<{p}> : tensor<{pn}x2xi64>, lhs_dilation = array<i64: {l}>, rhs_dilation = array<i64: {r}>, "
    "dimension_numbers = #stablehlo.conv<{d}>, feature_group_count = {f} : i64, batch_group_count = {b} : i64"
)


def conv(
    s: str = "1, 1",
    p: str = "0",
    pn: int = 2,
    l: str = "1, 1",
    r: str = "1, 1",
    d: str = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]",
    f: int = 1,
    b: int = 1,
) -> str:
    return CONV.format(s=s, p=p, pn=pn, l=l, r=r, d=d, f=f, b=b)


C_TYPES = "tensor<1x4x4x2xf32>, tensor<3x3x2x4xf32>"
DOT = "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [{}], rhs_batching_dimensions = [{}], lhs_contracting_dimensions = [{}], rhs_contracting_dimensions = [{}]>"
WINDOW = "window_dimensions = array<i64: {}>, window_strides = array<i64: {}>, base_dilations = array<i64: {}>, window_dilations = array<i64: {}>"

# op, attributes, operand types, result types, what the message begins with, regions
BROKEN = [
    ("abs", "", "tensor<3xi32>", "tensor<4xi32>", "(C1)", ""),
    ("abs", "", "tensor<3xcomplex<f32>>", "tensor<3xf64>", "(C2)", ""),
    ("add", "", "tensor<3xi32>, tensor<3xi32>", "tensor<3xi64>", "(C1)", ""),
    ("add", "", "tensor<3xf32>, tensor<3x!quant.uniform<i8:f32, 0.5>>", "tensor<3xf32>", "(C2)", ""),
    ("and", "", "tensor<3xi32>, tensor<3xi8>", "tensor<3xi32>", "(C1)", ""),
    (
        "batch_norm_inference",
        "epsilon = 0.0 : f32, feature_index = 2 : i64",
        "tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>",
        "tensor<2x3xf32>",
        "(C1)",
        "",
    ),
    (
        "batch_norm_inference",
        "epsilon = 0.0 : f32, feature_index = 1 : i64",
        "tensor<2x3xf32>, tensor<3xf64>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>",
        "tensor<2x3xf32>",
        "(C2)",
        "",
    ),
    (
        "batch_norm_inference",
        "epsilon = 0.0 : f32, feature_index = 1 : i64",
        "tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>",
        "tensor<2x3xf32>",
        "(C3)",
        "",
    ),
    ("bitcast_convert", "", "tensor<2xf64>", "tensor<2x3xf32>", "(C1)", ""),
    ("bitcast_convert", "", "tensor<2xcomplex<f32>>", "tensor<2xf64>", "(C2)", ""),
    ("broadcast_in_dim", "broadcast_dimensions = array<i64: 0>", "tensor<1x3xi32>", "tensor<2x3xi32>", "(C2)", ""),
    ("broadcast_in_dim", "broadcast_dimensions = array<i64: 0, 5>", "tensor<1x3xi32>", "tensor<2x3xi32>", "(C3)", ""),
    ("broadcast_in_dim", "broadcast_dimensions = array<i64: 1, 1>", "tensor<1x3xi32>", "tensor<2x3xi32>", "(C4)", ""),
    ("broadcast_in_dim", "broadcast_dimensions = array<i64: 0, 1>", "tensor<1x3xi32>", "tensor<2x4xi32>", "(C5)", ""),
    ("cholesky", "lower = true", "tensor<3xf32>", "tensor<3xf32>", "(C2)", ""),
    ("cholesky", "lower = true", "tensor<3x4xf32>", "tensor<3x4xf32>", "(C3)", ""),
    ("clamp", "", "tensor<2xi32>, tensor<3xi32>, tensor<i32>", "tensor<3xi32>", "(C1)", ""),
    ("clamp", "", "tensor<i32>, tensor<3xi32>, tensor<2xi32>", "tensor<3xi32>", "(C2)", ""),
    ("clamp", "", "tensor<i8>, tensor<3xi32>, tensor<i32>", "tensor<3xi32>", "(C3)", ""),
    (
        "compare",
        "comparison_direction = #stablehlo<comparison_direction LT>",
        "tensor<3xi32>, tensor<3xi8>",
        "tensor<3xi1>",
        "(C1)",
        "",
    ),
    (
        "compare",
        "comparison_direction = #stablehlo<comparison_direction LT>",
        "tensor<3xi32>, tensor<3xi32>",
        "tensor<4xi1>",
        "(C2)",
        "",
    ),
    (
        "compare",
        "comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type FLOAT>",
        "tensor<3xi32>, tensor<3xi32>",
        "tensor<3xi1>",
        "(C3)",
        "",
    ),
    ("complex", "", "tensor<3xf32>, tensor<3xf64>", "tensor<3xcomplex<f32>>", "(C1)", ""),
    ("complex", "", "tensor<3xf32>, tensor<3xf32>", "tensor<3xcomplex<f64>>", "(C3)", ""),
    ("complex", "", "tensor<3xf16>, tensor<3xf16>", "tensor<3xcomplex<f32>>", "(I1, I2)", ""),
    ("concatenate", "dimension = 0 : i64", "tensor<2xi32>, tensor<2xi8>", "tensor<4xi32>", "(C1)", ""),
    ("concatenate", "dimension = 0 : i64", "tensor<2x3xi32>, tensor<2x4xi32>", "tensor<4x3xi32>", "(C2)", ""),
    ("concatenate", "dimension = 1 : i64", "tensor<2xi32>, tensor<2xi32>", "tensor<4xi32>", "(C4)", ""),
    ("concatenate", "dimension = 0 : i64", "tensor<2xi32>, tensor<2xi32>", "tensor<5xi32>", "(C6)", ""),
    ("convert", "", "tensor<3xi32>", "tensor<4xf32>", "(C1)", ""),
    ("convolution", conv(), "tensor<1x4x4x2xf32>, tensor<3x2x4xf32>", "tensor<1x2x2x4xf32>", "(C1)", ""),
    ("convolution", conv(s="1"), C_TYPES, "tensor<1x2x2x4xf32>", "(C2)", ""),
    ("convolution", conv(s="1, 0"), C_TYPES, "tensor<1x2x2x4xf32>", "(C3)", ""),
    ("convolution", conv(pn=3), C_TYPES, "tensor<1x2x2x4xf32>", "(C4)", ""),
    ("convolution", conv(pn=10**7), C_TYPES, "tensor<1x2x2x4xf32>", "(C4)", ""),
    ("convolution", conv(l="1"), C_TYPES, "tensor<1x2x2x4xf32>", "(C5)", ""),
    ("convolution", conv(l="1, 0"), C_TYPES, "tensor<1x2x2x4xf32>", "(C6)", ""),
    ("convolution", conv(r="1"), C_TYPES, "tensor<1x2x2x4xf32>", "(C7)", ""),
    ("convolution", conv(r="0, 1"), C_TYPES, "tensor<1x2x2x4xf32>", "(C8)", ""),
    ("convolution", conv(b=2), C_TYPES, "tensor<1x2x2x4xf32>", "(C10)", ""),
    ("convolution", conv(f=4), C_TYPES, "tensor<1x2x2x4xf32>", "(C11)", ""),
    ("convolution", conv(f=0), C_TYPES, "tensor<1x2x2x4xf32>", "(C21)", ""),
    ("convolution", conv(b=0), C_TYPES, "tensor<1x2x2x4xf32>", "(C22)", ""),
    ("convolution", conv(f=2, b=2), C_TYPES, "tensor<1x2x2x4xf32>", "(C23)", ""),
    ("convolution", conv(f=2), C_TYPES, "tensor<1x2x2x4xf32>", "(C14)", ""),
    ("convolution", conv(), C_TYPES, "tensor<1x2x3x4xf32>", "(C25)", ""),
    ("convolution", conv(), "tensor<1x4x4x2xf32>, tensor<3x3x2x4xi32>", "tensor<1x2x2x4xf32>", "(C27)", ""),
    ("dot_general", DOT.format("0", "", "1", "0"), "tensor<2x3xf32>, tensor<3x4xf32>", "tensor<2x4xf32>", "(C1)", ""),
    ("dot_general", DOT.format("", "", "1", ""), "tensor<2x3xf32>, tensor<3x4xf32>", "tensor<2x3x4xf32>", "(C2)", ""),
    ("dot_general", DOT.format("1", "0", "1", "0"), "tensor<2x3xf32>, tensor<3x4xf32>", "tensor<3x2x4xf32>", "(C3)", ""),
    ("dot_general", DOT.format("0", "0", "1", "0"), "tensor<3x3xf32>, tensor<3x4xf32>", "tensor<3x4xf32>", "(C4)", ""),
    ("dot_general", DOT.format("5", "0", "1", "1"), "tensor<2x3xf32>, tensor<2x3xf32>", "tensor<2xf32>", "(C5)", ""),
    ("dot_general", DOT.format("", "", "5", "0"), "tensor<2x3xf32>, tensor<3x4xf32>", "tensor<2x4xf32>", "(C6)", ""),
    ("dot_general", DOT.format("0", "5", "1", "1"), "tensor<2x3xf32>, tensor<2x3xf32>", "tensor<2xf32>", "(C7)", ""),
    ("dot_general", DOT.format("", "", "1", "5"), "tensor<2x3xf32>, tensor<3x4xf32>", "tensor<2x4xf32>", "(C8)", ""),
    ("dot_general", DOT.format("0", "0", "1", "1"), "tensor<2x3xf32>, tensor<4x3xf32>", "tensor<2xf32>", "(C9)", ""),
    ("dot_general", DOT.format("", "", "1", "0"), "tensor<2x3xf32>, tensor<5x4xf32>", "tensor<2x4xf32>", "(C10)", ""),
    ("dot_general", DOT.format("", "", "1", "0"), "tensor<2x3xf32>, tensor<3x4xf32>", "tensor<2x5xf32>", "(C12)", ""),
    ("dot_general", DOT.format("", "", "1", "0"), "tensor<2x3xf32>, tensor<3x4xi32>", "tensor<2x4xf32>", "(C13)", ""),
    (
        "dot_general",
        DOT.format("", "", "1", "0"),
        "tensor<2x3xf32>, tensor<3x4x!quant.uniform<i8:f32, 0.5:3>>",
        "tensor<2x4xf32>",
        "(C15)",
        "",
    ),
    ("dynamic_slice", "slice_sizes = array<i64: 2>", "tensor<4x4xi32>, tensor<i64>, tensor<i64>", "tensor<2x2xi32>", "(C2)", ""),
    (
        "dynamic_slice",
        "slice_sizes = array<i64: 2, 5>",
        "tensor<4x4xi32>, tensor<i64>, tensor<i64>",
        "tensor<2x5xi32>",
        "(C4)",
        "",
    ),
    (
        "dynamic_slice",
        "slice_sizes = array<i64: 2, 2>",
        "tensor<4x4xi32>, tensor<i64>, tensor<i32>",
        "tensor<2x2xi32>",
        "(C3)",
        "",
    ),
    ("dynamic_update_slice", "", "tensor<4xi32>, tensor<2xi8>, tensor<i64>", "tensor<4xi32>", "(C2)", ""),
    ("dynamic_update_slice", "", "tensor<4xi32>, tensor<5xi32>, tensor<i64>", "tensor<4xi32>", "(C6)", ""),
    (
        "fft",
        "fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 4>",
        "tensor<4xf32>",
        "tensor<4xcomplex<f32>>",
        "(C2)",
        "",
    ),
    (
        "fft",
        "fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64>",
        "tensor<4xcomplex<f32>>",
        "tensor<4xcomplex<f32>>",
        "(C3)",
        "",
    ),
    (
        "fft",
        "fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 5>",
        "tensor<4xf32>",
        "tensor<3xcomplex<f32>>",
        "(C4)",
        "",
    ),
    (
        "fft",
        "fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 4>",
        "tensor<4xf32>",
        "tensor<4xcomplex<f32>>",
        "(C5)",
        "",
    ),
    (
        "gather",
        GATHER.format("offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0], index_vector_dim = 1", "1, 3"),
        "tensor<4x3xi32>, tensor<2x1xi32>",
        "tensor<2x3xi32>",
        "(C1)",
        "",
    ),
    (
        "gather",
        GATHER.format("offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 7", "1, 3"),
        "tensor<4x3xi32>, tensor<2x1xi32>",
        "tensor<2x1x3xi32>",
        "(C2)",
        "",
    ),
    (
        "gather",
        GATHER.format("offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1", "1, 3"),
        "tensor<4x3xi32>, tensor<2x1xi32>",
        "tensor<2x3xi32>",
        "(C3)",
        "",
    ),
    (
        "gather",
        GATHER.format("offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "2, 3"),
        "tensor<4x3xi32>, tensor<2x1xi32>",
        "tensor<2x3xi32>",
        "(C9)",
        "",
    ),
    (
        "gather",
        GATHER.format("offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [9], index_vector_dim = 1", "1, 3"),
        "tensor<4x3xi32>, tensor<2x1xi32>",
        "tensor<2x3xi32>",
        "(C19)",
        "",
    ),
    (
        "gather",
        GATHER.format("offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "1, 4"),
        "tensor<4x3xi32>, tensor<2x1xi32>",
        "tensor<2x4xi32>",
        "(C21)",
        "",
    ),
    (
        "gather",
        GATHER.format("offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "1, 3"),
        "tensor<4x3xi32>, tensor<2x1xi32>",
        "tensor<2x2xi32>",
        "(C22)",
        "",
    ),
    (
        "gather",
        GATHER.format("offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "1, 3"),
        "tensor<4x3xi32>, tensor<2x1xi32>",
        "tensor<2x3xi8>",
        "(C23)",
        "",
    ),
    ("get_dimension_size", "dimension = 2 : i64", "tensor<2x3xi64>", "tensor<i32>", "(C1)", ""),
    ("iota", "iota_dimension = 2 : i64", "", "tensor<2x3xi64>", "(C1)", ""),
    (
        "pad",
        "edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 1>, interior_padding = array<i64: 0>",
        "tensor<3xi32>, tensor<i8>",
        "tensor<5xi32>",
        "(C1)",
        "",
    ),
    (
        "pad",
        "edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 1, 2>, interior_padding = array<i64: 0>",
        "tensor<3xi32>, tensor<i32>",
        "tensor<5xi32>",
        "(C2)",
        "",
    ),
    (
        "pad",
        "edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 1>, interior_padding = array<i64: -1>",
        "tensor<3xi32>, tensor<i32>",
        "tensor<3xi32>",
        "(C3)",
        "",
    ),
    (
        "pad",
        "edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 1>, interior_padding = array<i64: 0>",
        "tensor<3xi32>, tensor<i32>",
        "tensor<6xi32>",
        "(C4)",
        "",
    ),
    ("reduce", "dimensions = array<i64: 1>", "tensor<2x3xf32>, tensor<i32>", "tensor<2xf32>", "(C2)", F_SUM),
    ("reduce", "dimensions = array<i64: 2>", "tensor<2x3xf32>, tensor<f32>", "tensor<2xf32>", "(C4)", F_SUM),
    ("reduce", "dimensions = array<i64: 1, 1>", "tensor<2x3xf32>, tensor<f32>", "tensor<2xf32>", "(C5)", F_SUM),
    ("reduce", "dimensions = array<i64: 1>", "tensor<2x3xf32>, tensor<f32>", "tensor<2xf32>", "(C6)", I_SUM),
    ("reduce", "dimensions = array<i64: 1>", "tensor<2x3xf32>, tensor<f32>", "tensor<3xf32>", "(C7)", F_SUM),
    ("reduce", "dimensions = array<i64: 1>", "tensor<2x3xf32>, tensor<f32>", "tensor<2xf64>", "(C8)", F_SUM),
    (
        "reduce_window",
        WINDOW.format("2", "1, 1", "1, 1", "1, 1"),
        "tensor<2x3xf32>, tensor<f32>",
        "tensor<1x3xf32>",
        "(C4)",
        F_SUM,
    ),
    (
        "reduce_window",
        WINDOW.format("0, 1", "1, 1", "1, 1", "1, 1"),
        "tensor<2x3xf32>, tensor<f32>",
        "tensor<2x3xf32>",
        "(C5)",
        F_SUM,
    ),
    (
        "reduce_window",
        WINDOW.format("2, 1", "1, 0", "1, 1", "1, 1"),
        "tensor<2x3xf32>, tensor<f32>",
        "tensor<1x3xf32>",
        "(C7)",
        F_SUM,
    ),
    (
        "reduce_window",
        WINDOW.format("2, 1", "1, 1", "1, 1", "1, 1"),
        "tensor<2x3xf32>, tensor<f32>",
        "tensor<2x3xf32>",
        "(C15)",
        F_SUM,
    ),
    ("reduce_precision", "exponent_bits = 0 : i32, mantissa_bits = 2 : i32", "tensor<2xf32>", "tensor<2xf32>", "(C2)", ""),
    ("reduce_precision", "exponent_bits = 1 : i32, mantissa_bits = -2 : i32", "tensor<2xf32>", "tensor<2xf32>", "(C3)", ""),
    ("reshape", "", "tensor<2x3xi32>", "tensor<7xi32>", "(C2)", ""),
    ("reshape", "", "tensor<2x3xi32>", "tensor<6xi8>", "(C1)", ""),
    ("reverse", "dimensions = array<i64: 0, 0>", "tensor<2x3xi32>", "tensor<2x3xi32>", "(C2)", ""),
    ("reverse", "dimensions = array<i64: 3>", "tensor<2x3xi32>", "tensor<2x3xi32>", "(C3)", ""),
    (
        "rng_bit_generator",
        "rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>",
        "tensor<3xui64>",
        "tensor<3xui64>, tensor<2xui32>",
        "(C2)",
        "",
    ),
    ("select", "", "tensor<2xi1>, tensor<3xi32>, tensor<3xi32>", "tensor<3xi32>", "(C1)", ""),
    ("select", "", "tensor<3xi1>, tensor<3xi32>, tensor<3xi8>", "tensor<3xi32>", "(C2)", ""),
    (
        "slice",
        "start_indices = array<i64: 1>, limit_indices = array<i64: 3, 4>, strides = array<i64: 1, 1>",
        "tensor<3x4xi64>",
        "tensor<2x2xi64>",
        "(C2)",
        "",
    ),
    (
        "slice",
        "start_indices = array<i64: 1>, limit_indices = array<i64: 5>, strides = array<i64: 1>",
        "tensor<4xi64>",
        "tensor<4xi64>",
        "(C3)",
        "",
    ),
    (
        "slice",
        "start_indices = array<i64: 1>, limit_indices = array<i64: 3>, strides = array<i64: 0>",
        "tensor<4xi64>",
        "tensor<2xi64>",
        "(C4)",
        "",
    ),
    (
        "slice",
        "start_indices = array<i64: 1>, limit_indices = array<i64: 3>, strides = array<i64: 1>",
        "tensor<4xi64>",
        "tensor<3xi64>",
        "(C5)",
        "",
    ),
    ("transpose", "permutation = array<i64: 0, 0>", "tensor<2x3xi32>", "tensor<2x2xi32>", "(C2)", ""),
    ("transpose", "permutation = array<i64: 1, 0>", "tensor<2x3xi32>", "tensor<2x3xi32>", "(C3)", ""),
    (
        "triangular_solve",
        "left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>",
        "tensor<3x3xf32>, tensor<4x3xf32>",
        "tensor<4x3xf32>",
        "(C3)",
        "",
    ),
    ("uniform_dequantize", "", "tensor<2x!quant.uniform<i8:f32, 0.5>>", "tensor<2xf64>", "(C2)", ""),
    ("uniform_quantize", "", "tensor<2xf64>", "tensor<2x!quant.uniform<i8:f32, 0.5>>", "(C2)", ""),
    ("cosine", "", "tensor<3xi32>", "tensor<3xi32>", "operand 'operand' must be a tensor of floating-point", ""),
    ("popcnt", "", "tensor<3xf32>", "tensor<3xf32>", "operand 'operand' must be a tensor of integer", ""),
    ("add", "", "tensor<2xsi8>, tensor<2xsi8>", "tensor<2xsi8>", "operand 'lhs' must be", ""),
    ("optimization_barrier", "", "tensor<2xsi32>", "tensor<2xsi32>", "operand 'inputs' must be", ""),
    # a name without a value was as if it were not there, and symbols were texts
    ("dot", "precision_config", "tensor<2xf32>, tensor<2xf32>", "tensor<f32>", "attribute 'precision_config' must be list", ""),
    ("convolution", conv().replace("padding = dense<0> : tensor<2x2xi64>", "padding"), C_TYPES, "tensor<1x2x2x4xf32>", "attribute 'padding' must be", ""),
    ("exponential", "result_accuracy", "tensor<2xf32>", "tensor<2xf32>", "attribute 'result_accuracy' must be", ""),
    ("collective_permute", "source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle", "tensor<2xf32>", "tensor<2xf32>", "attribute 'channel_handle' must be", ""),
    ("all_gather", "all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>, use_global_device_ids = true", "tensor<2xf32>", "tensor<2xf32>", "attribute 'use_global_device_ids' must be present or not", ""),
    ("custom_call", 'call_target_name = "a", backend_config', "tensor<2xf32>", "tensor<2xf32>", "attribute 'backend_config' must be string", ""),
    ("custom_call", 'call_target_name = "a", backend_config = @a', "tensor<2xf32>", "tensor<2xf32>", "attribute 'backend_config' must be string", ""),
    ("custom_call", "call_target_name = @a", "tensor<2xf32>", "tensor<2xf32>", "attribute 'call_target_name' must be string", ""),
    ("custom_call", 'call_target_name = "a", api_version = 4 : i32, backend_config = ""', "tensor<2xf32>", "tensor<2xf32>", "(I4)", ""),
    ("infeed", "layout", "!stablehlo.token", "tensor<2xf32>, !stablehlo.token", "attribute 'layout' must be list", ""),
    ("infeed", "layout = [@main]", "!stablehlo.token", "tensor<2xf32>, !stablehlo.token", "layout has a list of integers", ""),
    ("infeed", "layout = []", "!stablehlo.token", "tensor<2xf32>, !stablehlo.token", "layout has a list of integers", ""),
]


def program(op: str, attributes: str, operands: str, results: str, regions: str) -> str:
    types = _split(operands)
    names = [f"%a{i}" for i in range(len(types))]
    arguments = ", ".join(f"{name}: {type_}" for name, type_ in zip(names, types, strict=True))
    count = len(_split(results))
    left = f"%r:{count}" if count > 1 else "%r"
    properties = f" <{{{attributes}}}>" if attributes else ""
    return (
        f'"builtin.module"() ({{\n"func.func"() <{{function_type = ({operands}) -> (), sym_name = "main"}}> ({{\n^bb0({arguments}):\n'
        f'{left} = "stablehlo.{op}"({", ".join(names)}){properties} {regions} : ({operands}) -> ({results})\n'
        f'"func.return"() : () -> ()\n}}) : () -> ()\n}}) : () -> ()\n'
    )


def _split(types: str) -> list[str]:
    return [part.strip() for part in re.split(r",\s*(?=tensor|!)", types) if part.strip()]


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: f"{case[0]}-{case[4].split()[0]}")
def test_broken_constraint_is_reported(case: tuple[str, ...]) -> None:
    op, attributes, operands, results, wanted, regions = case
    findings = check(parse_module(program(op, attributes, operands, results, regions)))
    assert any(finding.what == f"stablehlo.{op}" and finding.why.startswith(wanted) for finding in findings), [
        str(f) for f in findings
    ]


@pytest.mark.parametrize("dims", [
    "offset_dims = [1], offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1",
    "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 0, index_vector_dim = 1"])
def test_a_member_that_a_structure_has_twice(dims: str) -> None:
    findings = check(parse_module(program("gather", GATHER.format(dims, "1, 4"), "tensor<3x4xf32>, tensor<2x1xi32>", "tensor<2x4xf32>", "")))
    assert [finding.why for finding in findings if "must be #stablehlo.gather<...>" in finding.why]


@pytest.mark.skipif(specification() is None, reason="no specification: set TRANSLOAD_SPEC to its folder")
def test_every_op_and_every_constraint_is_declared() -> None:
    """Numbers that depend on how many processes there are are checked when a program runs."""
    text = specification().read_text(encoding="utf-8")  # type: ignore[union-attr]
    grouped = {"all_gather", "all_reduce", "all_to_all", "collective_broadcast", "collective_permute", "reduce_scatter"}
    for op in op_names():
        declaration = registry.lookup(f"stablehlo.{op}")
        assert declaration is not None, op
        section = text[text.index(f"\n### {op}\n") :].partition("#### Examples")[0].partition("#### Constraints")[2]
        stated = set(re.findall(r"^ *\* \(C(\d+)\)", section, re.M))
        declared = {number for constraint in declaration.constraints for number in re.findall(r"C(\d+)", constraint.doc)}
        assert op in grouped or stated <= declared, f"{op}: {sorted(stated - declared)}"
