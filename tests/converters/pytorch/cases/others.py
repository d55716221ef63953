"""Other names and overloads of operators, each called once or twice: what a rewrite is written for is called."""

from __future__ import annotations

from .spec import Cases, Dt, t

__all__ = ["fill"]

_UNARY = (
    "fix absolute negative special_log1p arctan arcsinh special_erf special_expit special_round special_exp2 special_expm1 "
    "special_erfc special_sinc detach contiguous lift lift_fresh lift_fresh_copy resolve_conj resolve_neg conj real "
    "to_dense ravel atleast_1d atleast_2d atleast_3d mT adjoint mH numpy_T fliplr flipud "
    "nanmean std_mean var_mean msort median count_nonzero angle zero diag diagflat _aminmax "
    "_cast_Byte _cast_Char _cast_Double _cast_Float _cast_Half _cast_Int _cast_Long _cast_Short")


def fill(cases: Cases) -> None:
    """Add the cases of this family."""
    _names(cases)
    _made(cases)
    _arithmetic(cases)
    _products(cases)
    _moved(cases)
    _layers(cases)
    _numbers(cases)
    _differences(cases)
    _series(cases)


def _names(cases: Cases) -> None:
    for name in _UNARY.split():
        cases.add(f"{name}.default", t(3, 4, lo=0.1, hi=0.9))
    for name in ("arcsin", "arccos", "arctanh", "special_logit"):
        cases.add(f"{name}.default", t(3, 4, lo=0.1, hi=0.9))
    cases.add("arccosh.default", t(3, 4, lo=1.1, hi=4))
    for name in ["subtract", "multiply", "divide", "true_divide", "not_equal", "greater", "greater_equal", "less", "less_equal"]:
        cases.add(f"{name}.Tensor", t(3, 4), t(4, lo=0.5, hi=2))
        cases.add(f"{name}.Scalar", t(3, 4), 1.5)
    for name in ("max.other", "min.other", "arctan2.default", "special_xlog1py.default"):
        cases.add(name, t(3, 4), t(4, lo=0.5, hi=2))
    for mode in ("floor", "trunc"):
        cases.add("divide.Tensor_mode", t(3, 4), t(4, lo=0.5, hi=2), rounding_mode=mode)
        cases.add("divide.Scalar_mode", t(3, 4), 0.7, rounding_mode=mode)
    cases.add("floor_divide.Scalar", t(3, 4), 0.7)
    cases.add("remainder.Scalar_Tensor", 5.5, t(3, 4, lo=0.5, hi=2))
    cases.add("float_power.Tensor_Tensor", t(3, 4, lo=0.5, hi=2), t(4))
    cases.add("float_power.Tensor_Scalar", t(3, 4, lo=0.5, hi=2), 2)
    cases.add("float_power.Scalar", 2.0, t(3, 4))
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"):
        cases.add(f"{name}.Scalar_Tensor", 13, t(3, 4, d="i32", lo=0, hi=5))
    cases.add("xlogy.Scalar_Other", t(3, 4), 2.5)
    cases.add("xlogy.Scalar_Self", 2.5, t(3, 4, lo=0.5, hi=3))


def _made(cases: Cases) -> None:
    x = t(2, 3)
    cases.add("new_full.default", x, [3, 2], 1.5)
    cases.add("new_ones.default", x, [3, 2])
    cases.add("fill.Tensor", x, t(lo=1, hi=2))
    cases.add("arange.default", 5, dtype=Dt("i64"))
    cases.add("arange.start", 2, 7, dtype=Dt("f32"))
    cases.add("logspace.default", 0.0, 2.0, 5)
    cases.add("logspace.default", 1.0, 3.0, 4, 2.0)
    cases.add("eye.default", 4, dtype=Dt("f32"))
    for name in ("tril_indices", "triu_indices"):
        cases.add(f"{name}.default", 3, 4, dtype=Dt("i64"))
    cases.add("linalg_diagonal.default", t(3, 4))
    cases.add("meshgrid.default", [t(3), t(2)])
    cases.add("where.Scalar", t(3, 4, d="i1"), 1.0, 2.0)
    cases.add("argwhere.default", t(3, 4, values=tuple(float(n % 3) for n in range(12)), constant=True))


def _arithmetic(cases: Cases) -> None:
    cases.add("clip.default", t(3, 4), -1.0, 0.5)
    cases.add("clip.Tensor", t(3, 4), t(4, lo=-1, hi=0), t(4, lo=0.2, hi=1))
    cases.add("clamp_min.Tensor", t(3, 4), t(4))
    cases.add("clamp_max.Tensor", t(3, 4), t(4))
    for name in ("norm.Scalar",):
        cases.add(name, t(3, 4), 2)
    cases.add("norm.ScalarOpt_dim", t(3, 4), 2, [1], True)
    cases.add("norm.ScalarOpt_dim_dtype", t(3, 4), 1, [0], False, dtype=Dt("f32"))
    cases.add("norm.ScalarOpt_dtype", t(3, 4), 2, dtype=Dt("f32"))
    cases.add("linalg_norm.default", t(3, 4), None, [1])
    cases.add("frobenius_norm.dim", t(3, 4), [0, 1])
    cases.add("dist.default", t(3, 4), t(3, 4))
    cases.add("pairwise_distance.default", t(3, 4), t(3, 4))
    cases.add("cdist.default", t(3, 4), t(5, 4))
    cases.add("_euclidean_dist.default", t(3, 4), t(5, 4))
    cases.add("pdist.default", t(4, 3))
    for name in ("std_mean", "var_mean"):
        cases.add(f"{name}.dim", t(3, 4), [1], True, True)
    cases.add("std_mean.correction", t(3, 4), [0], correction=0)
    cases.add("special_logsumexp.default", t(3, 4), [1])
    cases.add("sort.stable", t(3, 5, distinct=True), stable=True, dim=1)
    cases.add("argsort.stable", t(3, 5, distinct=True), stable=True, dim=0, descending=True)


def _products(cases: Cases) -> None:
    cases.add("linalg_matmul.default", t(2, 3, 4), t(4, 5))
    cases.add("_int_mm.default", t(20, 8, d="i8"), t(8, 16, d="i8"))
    for name in ("vdot", "inner", "ger"):
        cases.add(f"{name}.default", t(5), t(5))
    cases.add("inner.default", t(2, 3, 4), t(5, 4))
    cases.add("addbmm.default", t(3, 5), t(2, 3, 4), t(2, 4, 5), beta=0.5, alpha=2)
    cases.add("addr.default", t(3, 4), t(3), t(4), beta=0.5, alpha=2)
    cases.add("_addmm_activation.default", t(5), t(3, 4), t(4, 5))
    cases.add("linalg_vecdot.default", t(3, 4), t(3, 4))
    cases.add("bilinear.default", t(3, 4), t(3, 5), t(2, 4, 5), t(2))
    cases.add("chain_matmul.default", [t(2, 3), t(3, 4), t(4, 5)])
    cases.add("linalg_multi_dot.default", [t(2, 3), t(3, 4), t(4, 5)])
    cases.add("linalg_matrix_power.default", t(3, 3), 3)
    cases.add("matrix_power.default", t(3, 3), 2)
    cases.add("cross.default", t(4, 3), t(4, 3), 1)
    cases.add("_safe_softmax.default", t(3, 4), -1)


def _moved(cases: Cases) -> None:
    x = t(2, 4, 6)
    for name, more in (("swapaxes.default", [0, 2]), ("swapdims.default", [0, 1]),
                       ("movedim.int", [0, 2]), ("moveaxis.int", [2, 0]), ("moveaxis.intlist", [[0, 1], [1, 2]]),
                       ("broadcast_to.default", [[3, 2, 4, 6]]), ("expand_as.default", [t(3, 2, 4, 6)]),
                       ("view_as.default", [t(8, 6)]), ("reshape_as.default", [t(6, 8)]), ("_unsafe_view.default", [[4, 12]]),
                       ("tile.default", [[2, 1]]), ("split.sizes", [[1, 3], 1]), ("hsplit.int", [2]), ("vsplit.int", [2]),
                       ("dsplit.int", [3]), ("type_as.default", [t(2, d="i32")]), ("to.other", [t(2, d="f16")]),
                       ("to.prim_dtype", [Dt("f16")]), ("take_along_dim.default", [t(2, 4, 6, d="i64", lo=0, hi=3), 1])):
        cases.add(name, x, *more)
    for name in ("concat", "concatenate"):
        cases.add(f"{name}.default", [t(2, 3), t(2, 2)], 1)
    cases.add("row_stack.default", [t(3), t(3)])
    cases.add("matrix_H.default", t(3, 4))
    rows = t(3, d="i64", lo=0, hi=3)
    cases.add("_unsafe_index.Tensor", t(4, 5), [rows])
    for name in ("_unsafe_index_put", "_index_put_impl"):
        cases.add(f"{name}.default", t(4, 5), [t(3, d="i64", values=(0, 2, 3))], t(3, 5))
    at = t(2, 3, d="i64", values=(0, 2, 1, 3, 1, 0))
    cases.add("scatter.reduce", t(4, 3), 0, at, t(2, 3), reduce="add")
    cases.add("scatter.value_reduce", t(4, 3), 0, at, 2.0, reduce="multiply")
    cases.add("index_fill.int_Tensor", t(4, 5), 0, rows, t(lo=1, hi=2))
    cases.add("as_strided_scatter.default", t(3, 4), t(2, 2), [2, 2], [4, 1], 1)
    cases.add("searchsorted.Scalar", t(4, values=(-1.0, 0.0, 0.5, 2.0)), 0.5)
    cases.add("bucketize.Scalar", 0.5, t(4, values=(-1.0, 0.0, 0.5, 2.0)))
    cases.add("isin.Tensor_Scalar", t(3, 4, d="i32", lo=0, hi=3), 2)
    cases.add("native_channel_shuffle.default", t(1, 6, 2, 3), 2)
    cases.add("_pad_circular.default", t(1, 2, 4, 5), [1, 2, 1, 0])


def _layers(cases: Cases) -> None:
    image, filters = t(1, 4, 6, 7), t(6, 4, 3, 3)
    whole = {"stride": [1, 1], "padding": [1, 1], "dilation": [1, 1], "transposed": False, "output_padding": [0, 0], "groups": 1,
             "benchmark": False, "deterministic": False, "cudnn_enabled": True}
    cases.add("_convolution.default", image, filters, t(6), **whole, allow_tf32=True)
    cases.add("_convolution.deprecated", image, filters, t(6), **whole)
    cases.add("_convolution_mode.default", image, filters, None, [1, 1], "same", [1, 1], 1)
    cases.add("thnn_conv2d.default", image, filters, [3, 3], t(6), [1, 1], [1, 1])
    cases.add("slow_conv_dilated2d.default", image, filters, [3, 3], t(6), [1, 1], [2, 2], [2, 2])
    volume, cubes = t(1, 2, 4, 5, 4), t(3, 2, 2, 2, 2)
    cases.add("slow_conv3d.default", volume, cubes, [2, 2, 2], t(3))
    cases.add("slow_conv_dilated3d.default", volume, cubes, [2, 2, 2], t(3), [1, 1, 1], [0, 0, 0], [2, 2, 2])
    cases.add("conv_transpose1d.default", t(1, 3, 5), t(3, 2, 3), t(2), [2], [1], [1])
    cases.add("conv_transpose3d.input", volume, t(2, 3, 2, 2, 2, constant=True), t(3), [2, 1, 1])
    cases.add("slow_conv_transpose2d.default", image, t(4, 3, 3, 3), [3, 3], t(3), [2, 2], [1, 1], [1, 1])
    cases.add("slow_conv_transpose3d.default", volume, t(2, 3, 2, 2, 2, constant=True), [2, 2, 2], t(3))
    cases.add("conv_tbc.default", t(6, 2, 3), t(2, 3, 4), t(4), 1)
    cases.add("_weight_norm.default", t(4, 3), t(4, 1), 0)
    cases.add("max_unpool2d.default", t(1, 1, 2, 2), t(1, 1, 2, 2, d="i64", values=(0, 3, 9, 14)), [4, 4])
    cases.add("max_unpool3d.default", t(1, 1, 1, 2, 2), t(1, 1, 1, 2, 2, d="i64", values=(0, 3, 9, 14)), [2, 4, 4], [2, 2, 2],
              [0, 0, 0])
    for name, size, out in (("nearest1d", (6,), [9]), ("nearest2d", (5, 6), [7, 4]), ("nearest3d", (3, 4, 2), [6, 5, 4])):
        cases.add(f"upsample_{name}.default", t(1, 2, *size), out)
        cases.add(f"_upsample_nearest_exact{name[-2:]}.default", t(1, 2, *size), out)
    for name, size, out in (("linear1d", (6,), [9]), ("bilinear2d", (5, 6), [7, 4]), ("trilinear3d", (3, 4, 2), [6, 5, 4]),
                            ("bicubic2d", (5, 6), [7, 4])):
        cases.add(f"upsample_{name}.default", t(1, 2, *size), out, False)
    for name in ("bilinear", "bicubic"):
        cases.add(f"_upsample_{name}2d_aa.default", t(1, 2, 6, 7), [3, 4], False)
    cases.add("grid_sampler.default", t(1, 2, 4, 5), t(1, 3, 3, 2, lo=-1.2, hi=1.2), 0, 1, True)
    cases.add("_grid_sampler_2d_cpu_fallback.default", t(1, 2, 4, 5), t(1, 3, 3, 2, lo=-1.2, hi=1.2), 0, 0, True)
    cases.add("rrelu.default", t(3, 4), 0.1, 0.3, False)
    cases.add("_prelu_kernel.default", t(2, 3, 4), t(1, 3, 1))
    for name in ("feature_dropout", "alpha_dropout", "feature_alpha_dropout"):
        cases.add(f"{name}.default", t(3, 4), 0.5, False)


def _numbers(cases: Cases) -> None:
    scale, zero = t(values=(0.05,), constant=True), t(d="i64", values=(3,), constant=True)
    for name in ("tensor", "tensor2"):
        limits = [-128, 127] if name == "tensor" else [t(d="i64", values=(n,), constant=True) for n in (-128, 127)]
        cases.add(f"quantized_decomposed.quantize_per_tensor.{name}", t(3, 4), scale, zero, *limits, Dt("i8"))
        cases.add(f"quantized_decomposed.dequantize_per_tensor.{name}", t(3, 4, d="i8"), scale, zero, *limits, Dt("i8"))
    cases.add("quantized_decomposed.convert_element_type.no_fuse", t(3, 4), Dt("f16"))


def _differences(cases: Cases) -> None:
    for name in ("mse_loss", "l1_loss"):
        for reduction in (0, 1, 2):
            cases.add(f"{name}.default", t(3, 4), t(3, 4), reduction)
        cases.add(f"{name}.default", t(3, 4), t(4))
        cases.add(f"{name}.default", t(3, 4, d="f16"), t(3, 4, d="f16"))
    cases.add("diff.default", t(3, 4))
    cases.add("diff.default", t(3, 5), 2, 0)
    cases.add("diff.default", t(3, 5), 0, 1)
    cases.add("diff.default", t(3, 5), 7)
    cases.add("diff.default", t(3, 5), 1, -1, t(3, 1), t(3, 2))
    for dtype in ("i32", "i1", "bf16"):
        cases.add("diff.default", t(3, 5, d=dtype))
    for name in ("trapezoid", "cumulative_trapezoid"):
        cases.add(f"{name}.dx", t(3, 5))
        cases.add(f"{name}.dx", t(3, 5), dx=0.3, dim=0)
        cases.add(f"{name}.dx", t(3, 1))
        cases.add(f"{name}.dx", t(3, 5, d="i32"), dx=2)
        cases.add(f"{name}.x", t(3, 5), t(5))
        cases.add(f"{name}.x", t(5, 3), t(5), dim=0)
        cases.add(f"{name}.x", t(2, 3, 5), t(3, 5))
        cases.add(f"{name}.x", t(2, 3, 5), t(2, 3, 5), dim=1)
    cases.add("ldexp.Tensor", t(3, 4), t(4, d="i32"))
    cases.add("ldexp.Tensor", t(3, 4), t(3, 4))
    cases.add("ldexp.Tensor", t(3, 4, d="i32"), t(d="i64", lo=2, hi=5))
    for dtype in ("f16", "bf16"):
        cases.add("ldexp.Tensor", t(3, 4, d=dtype), t(3, 4, d=dtype))
        cases.add("ldexp.Tensor", t(3, 4, d=dtype), t(4, d="i32", lo=-3, hi=3))
    for name in ("special_softmax", "special_log_softmax"):
        cases.add(f"{name}.default", t(3, 4), 0)
        cases.add(f"{name}.default", t(3, 4, d="f16"), -1, dtype=Dt("f32"))
    cases.add("special_xlogy.default", t(3, 4), t(4, lo=0.5, hi=2))
    cases.add("special_xlogy.other_scalar", t(3, 4), 2.5)
    cases.add("special_xlogy.self_scalar", 2.5, t(3, 4, lo=0.5, hi=3))


def _series(cases: Cases) -> None:
    """Near zero, at whole numbers and far from both."""
    for name in ("lgamma", "special_gammaln", "digamma", "special_digamma", "special_psi"):
        for low, high in ((-1e-6, 1e-6), (-4.5, 3.5), (0.9, 2.1), (5, 1e6)):
            cases.add(f"{name}.default", t(4, 9, lo=low, hi=high))
        cases.add(f"{name}.default", t(2, 5, d="i32", lo=-3, hi=4))
    for name in ("erfinv", "special_erfinv", "special_ndtri"):
        for low, high in ((0.0, 1e-6), (0.001, 0.999), (-0.5, 1.5)):
            cases.add(f"{name}.default", t(4, 9, lo=low, hi=high))
    for name in ("i0", "special_i0", "special_i0e", "special_i1", "special_i1e"):
        for low, high in ((-1e-3, 1e-3), (-20, 20)):
            cases.add(f"{name}.default", t(4, 9, lo=low, hi=high))
    for name in ("lgamma", "digamma", "erfinv", "i0"):
        for d in ("f16", "bf16"):
            cases.add(f"{name}.default", t(3, 5, d=d, lo=0.1, hi=0.9))
