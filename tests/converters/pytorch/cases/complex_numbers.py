"""Complex numbers and Fourier transforms; and operators with results for training, of which the first one is compared."""

from __future__ import annotations

from .spec import Cases, t

__all__ = ["fill"]

_OF_ONE = (
    "view_as_real abs angle sgn exp log sqrt square reciprocal neg real imag _conj _conj_physical "
    "conj_physical clone sum mean")


def fill(cases: Cases) -> None:
    """Add the cases of this family."""
    _complex(cases)
    _transforms(cases)
    _with_more_results(cases)


def _complex(cases: Cases) -> None:
    z, w, x = t(2, 3, 6, d="c64"), t(2, 3, 6, d="c64", lo=1, hi=3), t(2, 3, 6)
    cases.add("complex.default", x, t(2, 3, 6))
    cases.add("polar.default", t(2, 3, lo=0, hi=2), t(2, 3))
    cases.add("view_as_complex.default", t(2, 3, 2))
    cases.add("complex.default", t(3, 1), t(6))
    cases.add("polar.default", t(1, lo=0, hi=2), t(2, 3))
    for name in ("eq", "ne"):
        cases.add(f"{name}.Tensor", t(3, d="c64", values=(1 + 2j, 1 + 2j, 1 + 2j)),
                  t(3, d="c64", values=(1 + 2j, 1 - 2j, 2 + 2j)))
    cases.add("tanh.default", t(9, d="c64"))
    cases.add("numpy_T.default", z)
    cases.add("matrix_H.default", t(2, 3, d="c64"))
    whole = t(3, d="i64", values=(0, 1, 2))
    some = t(3, d="c64", values=(0, 1 + 1j, 2))
    for name in ("eq", "ne"):
        cases.add(f"{name}.Tensor", some, whole)
        cases.add(f"{name}.Tensor", t(3), some)
        cases.add(f"{name}.Scalar", some, 1 + 1j)
        cases.add(f"{name}.Scalar", some, 2)
    for name in ("add.Tensor", "sub.Tensor"):
        cases.add(name, some, whole)
        cases.add(name, t(3, d="i1", values=(1, 0, 1)) if name == "add.Tensor" else whole, some)
    cases.add("cat.default", [some, whole])
    cases.add("where.self", t(3, d="i1", values=(1, 0, 1)), some, whole)
    cases.add("index_put.default", some, [t(2, d="i64", values=(0, 2))], t(2, d="c64"))
    for name in _OF_ONE.split():
        cases.add(f"{name}.default", w)
    for name in ("add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor"):
        cases.add(name, z, w)
        cases.add(name, x, w)
        cases.add(name, z, t(2, 3, 6, lo=1, hi=2))
    cases.add("pow.Tensor_Scalar", z, 3)
    cases.add("mul.Scalar", z, 2.5)
    cases.add("matmul.default", z, t(2, 6, 3, d="c64"))
    cases.add("bmm.default", z, t(2, 6, 3, d="c64"))
    cases.add("einsum.default", "bij,bkj->bik", [z, w])
    cases.add("permute.default", z, [2, 0, 1])
    cases.add("slice.Tensor", z, 2, 1, 5, 2)
    cases.add("cat.default", [z, w], 1)
    cases.add("index_select.default", z, 2, t(4, d="i64", lo=0, hi=5))
    cases.add("sum.dim_IntList", z, [1])
    cases.add("mean.dim", z, [0, 2], True)


def _transforms(cases: Cases) -> None:
    z, x = t(2, 3, 6, d="c64"), t(2, 3, 6)
    for normalization in (0, 1, 2):
        for forward in (True, False):
            cases.add("_fft_c2c.default", z, [2], normalization, forward)
            cases.add("_fft_c2c.default", z, [0, 2], normalization, forward)
        for onesided in (True, False):
            cases.add("_fft_r2c.default", x, [1], normalization, onesided)
            cases.add("_fft_r2c.default", x, [1, 2], normalization, onesided)
        cases.add("_fft_c2r.default", z, [2], normalization, 10)
        cases.add("_fft_c2r.default", z, [0, 2], normalization, 11)
    for name in ("fft", "ifft", "irfft", "hfft"):
        cases.add(f"fft_{name}.default", z)
        cases.add(f"fft_{name}.default", z, 5, 1, "ortho")
    for name in ("fft2", "ifft2", "fftn", "ifftn", "irfft2", "irfftn"):
        cases.add(f"fft_{name}.default", z)
        cases.add(f"fft_{name}.default", z, [4, 7], [1, 2], "forward")
    for name in ("rfft", "ihfft"):
        cases.add(f"fft_{name}.default", x)
        cases.add(f"fft_{name}.default", x, 9, 1, "ortho")
    for name in ("rfft2", "rfftn"):
        cases.add(f"fft_{name}.default", x)
        cases.add(f"fft_{name}.default", x, [4, 7], [1, 2], "forward")
    for name in ("fft_fftshift", "fft_ifftshift"):
        cases.add(f"{name}.default", z, [1])
        cases.add(f"{name}.default", x)
    cases.add("fft_fftfreq.default", 7, 0.5)
    cases.add("fft_rfftfreq.default", 7, 0.5)
    for name in ("hann", "hamming", "blackman", "bartlett", "kaiser"):
        cases.add(f"{name}_window.default", 8)
        cases.add(f"{name}_window.periodic", 8, False)
    cases.add("hamming_window.periodic_alpha", 8, True, 0.6)
    cases.add("hamming_window.periodic_alpha_beta", 8, True, 0.6, 0.3)
    cases.add("kaiser_window.beta", 8, True, 5.0)
    window = t(8, lo=0.5, hi=1, constant=True)
    cases.add("stft.default", t(2, 40), 8, 3, 8, window, False, True, True)
    cases.add("stft.center", t(40), 8, None, 8, window, normalized=True, onesided=False, return_complex=True)
    cases.add("istft.default", t(2, 5, 9, d="c64"), 8, 2, 8, window)


def _with_more_results(cases: Cases) -> None:
    table, places = t(10, 4), t(6, d="i64", lo=0, hi=9)
    starts = t(3, d="i64", values=(0, 2, 3), constant=True)
    for mode in (0, 1, 2):
        cases.add("embedding_bag.default", table, places, starts, False, mode)
        cases.add("_embedding_bag_forward_only.default", table, places, starts, False, mode)
        cases.add("embedding_bag.padding_idx", table, places, starts, False, mode, False, None, False, None)
        padded = t(6, d="i64", values=(1, 2, 2, 9, 2, 4))  # the second bag is all padding, or ends on the last row
        cases.add("embedding_bag.padding_idx", table, padded, starts, False, mode, False, None, False, 2)
        cases.add("embedding_bag.padding_idx", table, padded, starts, False, mode, False, None, False, -1)
        cases.add("_embedding_bag.default", table, padded, starts, False, mode, False, None, False, 2)
    weights = t(6, lo=0.5, hi=2)
    cases.add("_embedding_bag.default", table, padded, starts, False, 0, False, weights, False, 2)
    query, key = t(1, 2, 5, 4), t(1, 2, 7, 4)
    cases.add("_scaled_dot_product_flash_attention_for_cpu.default", query, key, t(1, 2, 7, 4))
    cases.add("_scaled_dot_product_attention_math.default", query, key, t(1, 2, 7, 4))
    x, weight, bias, mean, variance = t(2, 3, 4), t(3), t(3), t(3), t(3, lo=0.5, hi=2)
    cases.add("native_batch_norm.default", x, weight, bias, mean, variance, False, 0.1, 1e-5)
    cases.add("_batch_norm_no_update.default", x, weight, bias, mean, variance, 0.1, 1e-5)
    cases.add("_batch_norm_impl_index.default", x, weight, bias, mean, variance, False, 0.1, 1e-5, False)
    cases.add("_weight_norm_interface.default", t(3, 4), t(3, 1, lo=0.5, hi=2))
    cases.add("log_sigmoid_forward.default", t(3, 4))
    cases.add("to.dtype_layout", t(3, 4))
    for reduce in ("prod", "mean", "amax", "amin"):
        for own in (True, False):
            places = t(3, d="i64", values=(0, 4, 0), constant=True)
            cases.add("index_reduce.default", t(5, 4), 0, places, t(3, 4), reduce, include_self=own)
