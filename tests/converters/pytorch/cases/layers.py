"""Cases of layers: convolutions, pooling, normalization, products, attention, recurrent layers, resizing and sampling."""

from __future__ import annotations

from .spec import Cases, t

__all__ = ["fill"]


def fill(cases: Cases) -> None:
    _convolutions(cases)
    _pooling(cases)
    _normalization(cases)
    _products(cases)
    _recurrent(cases)
    _resizing(cases)
    _sampling(cases)


def _convolutions(cases: Cases) -> None:
    sizes = {1: (9,), 2: (7, 8), 3: (4, 5, 6)}
    for n, size in sizes.items():
        one, zero = [1] * n, [0] * n
        for bias in (None, t(4)):
            for stride, padding, dilation, groups in ((1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 1), (1, 1, 1, 2)):
                weight = t(4, 4 // groups, *(3,) * n)
                many = ([stride] * n, [padding] * n, [dilation] * n)
                fits = all(s + 2 * padding >= dilation * 2 + 1 for s in size)
                if fits:
                    cases.add("convolution.default", t(2, 4, *size), weight, bias, *many, False, zero, groups)
                    cases.add(f"conv{n}d.default", t(2, 4, *size), weight, bias, *many, groups)
            for stride, padding, extra, groups in ((1, 0, 0, 1), (2, 1, 1, 1), (2, 0, 0, 2)):
                weight = t(4, 4 // groups, *(3,) * n, constant=True)
                cases.add("convolution.default", t(1, 4, *size), weight, bias, [stride] * n, [padding] * n, one, True,
                          [extra] * n, groups)
        cases.add(f"conv{n}d.padding", t(1, 4, *size), t(4, 4, *(2,) * n), None, one, "same", one, 1)
        cases.add(f"conv{n}d.padding", t(1, 4, *size), t(4, 4, *(2,) * n), None, one, "valid", one, 1)
        cases.add(f"conv{n}d.default", t(4, *size), t(2, 4, *(3,) * n))
    cases.add("conv2d.default", t(2, 4, 7, 7), t(4, 1, 3, 3), None, [1, 1], [1, 1], [1, 1], 4)
    cases.add("conv2d.default", t(2, 4, 7, 7), t(8, 1, 3, 3), t(8), [2, 2], [1, 1], [1, 1], 4)
    cases.add("conv_transpose2d.input", t(1, 3, 4, 5), t(3, 2, 3, 2), t(2), [2, 1], [1, 0], [1, 0])
    for kernel, dilation, padding, stride in (([2, 2], [1, 1], [0, 0], [1, 1]), ([3, 2], [1, 1], [1, 1], [2, 1]),
                                              ([2, 2], [2, 1], [0, 1], [2, 2])):
        cases.add("im2col.default", t(2, 3, 6, 7), kernel, dilation, padding, stride)
        rows = [(s + 2 * p - d * (k - 1) - 1) // st + 1 for s, p, d, k,
                st in zip((6, 7), padding, dilation, kernel, stride, strict=True)]
        cases.add("col2im.default", t(2, 3 * kernel[0] * kernel[1], rows[0] * rows[1]), [6, 7], kernel, dilation, padding, stride)


def _pooling(cases: Cases) -> None:
    sizes = {1: (9,), 2: (7, 9), 3: (5, 6, 7)}
    for n, size in sizes.items():
        for kernel, stride, padding, ceil in ((2, 2, 0, False), (3, 2, 1, False), (3, 2, 1, True), (2, 3, 0, True),
                                              (3, 1, 1, False)):
            many = ([kernel] * n, [stride] * n, [padding] * n)
            cases.add(f"max_pool{n}d.default", t(2, 3, *size, distinct=True), *many, [1] * n, ceil)
            for count in (True, False):
                cases.add(f"avg_pool{n}d.default", t(2, 3, *size), *many, ceil, count)
            cases.add(f"max_pool{n}d_with_indices.default", t(1, 2, *size, distinct=True), *many, [1] * n, ceil)
        cases.add(f"max_pool{n}d.default", t(2, 3, *size, distinct=True), [2] * n, [1] * n, [0] * n, [2] * n)
        cases.add(f"max_pool{n}d.default", t(3, *size, distinct=True), [2] * n)
        for wanted in ([1] * n, [2] * n, [3] * n, [4] * n):
            cases.add(f"adaptive_avg_pool{n}d.default", t(2, 3, *size), wanted)
            cases.add(f"adaptive_max_pool{n}d.default", t(2, 3, *size, distinct=True), wanted)
    for wanted in ([1, 1], [3, 2], [7, 7]):
        cases.add("_adaptive_avg_pool2d.default", t(2, 3, 7, 9), wanted)
    cases.add("_adaptive_avg_pool3d.default", t(2, 3, 4, 5, 6), [2, 2, 3])
    cases.add("avg_pool2d.default", t(1, 2, 6, 6), [2, 2], [2, 2], [0, 0], False, True, 3)


def _normalization(cases: Cases) -> None:
    for shape in ((4, 3), (4, 3, 5), (2, 3, 4, 5)):
        c = shape[1]
        stats = (t(c), t(c, lo=0.5, hi=2))
        for weight, bias in ((t(c), t(c)), (None, None)):
            cases.add("_native_batch_norm_legit_no_training.default", t(*shape), weight, bias, *stats, 0.1, 1e-5)
            cases.add("batch_norm.default", t(*shape), weight, bias, *stats, False, 0.1, 1e-3, False)
            cases.add("_native_batch_norm_legit.no_stats", t(*shape), weight, bias, True, 0.1, 1e-5)
    cases.add("_native_batch_norm_legit.default", t(4, 3, 5), t(3), t(3), t(3), t(3, lo=0.5, hi=2), False, 0.1, 1e-5)
    for shape, normal in (((3, 6), [6]), ((2, 3, 4), [4]), ((2, 3, 4), [3, 4])):
        for weight, bias in ((t(*normal), t(*normal)), (None, None), (t(*normal), None)):
            cases.add("layer_norm.default", t(*shape), normal, weight, bias)
            cases.add("native_layer_norm.default", t(*shape), normal, weight, bias, 1e-5)
        cases.add("rms_norm.default", t(*shape), normal, t(*normal), 1e-6)
        cases.add("rms_norm.default", t(*shape), normal)
    cases.add("layer_norm.default", t(3, 6, d="f16"), [6], t(6, d="f16"), t(6, d="f16"))
    for shape, groups in (((2, 6, 5), 3), ((2, 6, 3, 4), 2), ((2, 6, 3, 4), 6)):
        c = shape[1]
        area = shape[2] if len(shape) == 3 else shape[2] * shape[3]
        for weight, bias in ((t(c), t(c)), (None, None)):
            cases.add("group_norm.default", t(*shape), groups, weight, bias)
            cases.add("native_group_norm.default", t(*shape), weight, bias, 2, c, area, groups, 1e-5)
    for shape in ((2, 3, 5), (2, 3, 4, 5)):
        cases.add("instance_norm.default", t(*shape), t(3), t(3), None, None, True, 0.1, 1e-5, False)


def _products(cases: Cases) -> None:
    cases.add("mm.default", t(3, 4), t(4, 5))
    cases.add("mm.default", t(3, 4, d="i32"), t(4, 5, d="i32"))
    cases.add("bmm.default", t(2, 3, 4), t(2, 4, 5))
    for a, b in (((3, 4), (4, 5)), ((4,), (4,)), ((4,), (4, 5)), ((3, 4), (4,)), ((2, 1, 3, 4), (5, 4, 2)), ((2, 3, 4), (4, 5))):
        cases.add("matmul.default", t(*a), t(*b))
    for alpha, beta in ((1, 1), (0.5, 2), (1, 0)):
        cases.add("addmm.default", t(5), t(3, 4), t(4, 5), beta=beta, alpha=alpha)
        cases.add("addmm.default", t(3, 5), t(3, 4), t(4, 5), beta=beta, alpha=alpha)
        cases.add("baddbmm.default", t(2, 3, 5), t(2, 3, 4), t(2, 4, 5), beta=beta, alpha=alpha)
        cases.add("addmv.default", t(3), t(3, 4), t(4), beta=beta, alpha=alpha)
    for shape in ((3, 4), (2, 3, 4), (4,)):
        for bias in (None, t(5)):
            cases.add("linear.default", t(*shape), t(5, 4), bias)
    for equation, shapes in (("ij,jk->ik", ((2, 3), (3, 4))), ("bij,bkj->bik", ((2, 3, 4), (2, 5, 4))), ("i,j->ij", ((3,), (4,))),
                             ("ii->i", ((3, 3),)), ("bhqd,bhkd->bhqk", ((2, 2, 3, 4), (2, 2, 5, 4))), ("...ij->...ji",
                                                                                                       ((2, 3, 4),)),
                             ("abc->", ((2, 3, 4),))):
        cases.add("einsum.default", equation, [t(*shape) for shape in shapes])
    cases.add("dot.default", t(4), t(4))
    cases.add("mv.default", t(3, 4), t(4))
    cases.add("outer.default", t(3), t(4))
    cases.add("trace.default", t(3, 4))
    cases.add("linalg_cross.default", t(2, 3), t(2, 3))
    cases.add("kron.default", t(2, 3), t(2, 2))
    cases.add("tensordot.default", t(2, 3, 4), t(4, 3, 5), [1, 2], [1, 0])
    q, k, v = t(2, 2, 5, 4), t(2, 2, 6, 4), t(2, 2, 6, 3)
    cases.add("scaled_dot_product_attention.default", q, k, v)
    cases.add("scaled_dot_product_attention.default", q, k, v, t(5, 6))
    cases.add("scaled_dot_product_attention.default", q, k, v, t(2, 1, 5, 6, d="i1"))
    cases.add("scaled_dot_product_attention.default", q, q, q, None, 0.0, True)
    cases.add("scaled_dot_product_attention.default", q, k, v, scale=0.3)
    cases.add("scaled_dot_product_attention.default", t(1, 4, 5, 4), t(1, 2, 5, 4), t(1, 2, 5, 4), enable_gqa=True)


def _recurrent(cases: Cases) -> None:
    for kind, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)):
        for layers, both, first, bias in ((1, False, False, True), (2, False, True, True), (1, True, True, True),
                                          (2, True, False, False)):
            directions = 2 if both else 1
            params = []
            for layer in range(layers):
                for _ in range(directions):
                    width = 3 if not layer else 4 * directions
                    params += [t(gates * 4, width, lo=-0.5, hi=0.5), t(gates * 4, 4, lo=-0.5, hi=0.5)]
                    params += [t(gates * 4), t(gates * 4)] if bias else []
            state = t(layers * directions, 2, 4)
            value = t(2, 5, 3) if first else t(5, 2, 3)
            cases.add(f"{kind}.input", value, [state, state] if kind == "lstm" else state, params, bias, layers, 0.0, False,
                      both, first)
        cell = (t(gates * 4, 3), t(gates * 4, 4), t(gates * 4), t(gates * 4))
        if kind == "lstm":
            _projecting(cases)
        cases.add(f"{kind}_cell.default", t(2, 3), [t(2, 4), t(2, 4)] if kind == "lstm" else t(2, 4), *cell)


def _projecting(cases: Cases) -> None:
    """LSTM whose hidden state of 4 is projected to 2, from a first state that is given, or 0."""
    for layers, both, first, bias, zero in ((1, False, False, True, False), (2, True, True, False, False),
                                            (2, True, False, True, True)):
        directions = 2 if both else 1
        params = []
        for layer in range(layers):
            for _ in range(directions):
                params += [t(16, 2 * directions if layer else 3, lo=-0.5, hi=0.5), t(16, 2, lo=-0.5, hi=0.5)]
                params += [*([t(16), t(16)] if bias else []), t(2, 4)]
        shape = (layers * directions, 2, 2)
        state = t(*shape, constant=True, values=(0,) * (shape[0] * 4)) if zero else t(*shape)
        cases.add("lstm.input", t(2, 5, 3) if first else t(5, 2, 3), [state, t(layers * directions, 2, 4)], params, bias, layers,
                  0.0, False, both, first)
    cases.add("lstm.input", t(1, 1, 3), [t(1, 1, 2), t(1, 1, 4)], [t(16, 3), t(16, 2), t(2, 4)], False, 1, 0.0, False,
              False, False)


def _resizing(cases: Cases) -> None:
    for name, size, wanted in (("nearest1d", (6,), ([12], [9], [4])), ("nearest2d", (5, 6), ([10, 12], [7, 4], [5, 18])),
                               ("nearest3d", (3, 4, 2), ([6, 8, 4],)), ("linear1d", (6,), ([12], [4])),
                               ("bilinear2d", (5, 6), ([10, 12], [7, 4], [3, 3])), ("trilinear3d", (3, 4, 2), ([6, 5, 4],)),
                               ("bicubic2d", (5, 6), ([10, 12], [7, 4]))):
        for out in wanted:
            if name.startswith("nearest"):
                cases.add(f"upsample_{name}.vec", t(1, 2, *size), out, None)
                cases.add(f"_upsample_nearest_exact{name[-2:]}.vec", t(1, 2, *size), out, None)
            else:
                for align in (False, True):
                    cases.add(f"upsample_{name}.vec", t(1, 2, *size), out, align, None)
    for factors in ([2.0, 2.0], [1.5, 2.5], [0.5, 0.7], [1.1, 2.1], [2.1, 1.15]):  # the last ones copy, and double, a dimension
        cases.add("upsample_nearest2d.vec", t(1, 2, 5, 6), None, factors)
        for align in (False, True):
            cases.add("upsample_bilinear2d.vec", t(1, 2, 5, 6), None, align, factors)
            cases.add("upsample_bicubic2d.vec", t(1, 2, 5, 6), None, align, factors)
    for out in ([3, 3], [10, 9]):
        cases.add("_upsample_bilinear2d_aa.vec", t(1, 2, 6, 7), out, False, None)
        cases.add("_upsample_bicubic2d_aa.vec", t(1, 2, 6, 7), out, False, None)
    for kind in ("bilinear", "bicubic"):
        name = f"_upsample_{kind}2d_aa.vec"
        for out in ([5, 13], [1, 1], [1, 5], [13, 4]):
            cases.add(name, t(1, 2, 9, 7), out, True, None)
        cases.add(name, t(1, 2, 1, 7), [3, 5], True, None)
        for factors in ([1.05, 0.6], [1.05, 1.1], [0.7, 1.7]):  # a size that stays, by a scale that is not 1
            cases.add(name, t(1, 2, 9, 7), None, False, factors)


def _sampling(cases: Cases) -> None:
    for mode in (0, 1, 2):
        for padding in (0, 1, 2):
            for align in (False, True):
                cases.add("grid_sampler_2d.default", t(2, 2, 4, 5), t(2, 3, 3, 2, lo=-1.3, hi=1.3), mode, padding, align)
    for align in (False, True):
        cases.add("affine_grid_generator.default", t(2, 2, 3), [2, 3, 4, 5], align)
