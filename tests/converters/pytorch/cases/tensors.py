"""Cases of what moves, reads and writes elements."""

from __future__ import annotations

from .spec import Cases, Dt, t

__all__ = ["fill"]


def fill(cases: Cases) -> None:
    _shape(cases)
    _join(cases)
    _pad(cases)
    _index(cases)
    _scatter(cases)
    _create(cases)
    _quantize(cases)


def _shape(cases: Cases) -> None:
    for op in ("view.default", "reshape.default"):
        for shape, wanted in (((2, 6), [3, 4]), ((2, 3, 4), [2, -1]), ((4,), [2, 2, 1]), ((2, 3), [-1]), ((1,), []),
                              ((2, 0), [0, 5])):
            cases.add(op, t(*shape), wanted)
    for shape, first, last in (((2, 3, 4), 0, -1), ((2, 3, 4), 1, 2), ((2, 3, 4), 0, 1)):
        cases.add("flatten.using_ints", t(*shape), first, last)
    cases.add("unflatten.int", t(2, 12), 1, [3, -1])
    for shape, dim in (((2, 1, 3), 1), ((2, 1, 3), 0), ((1, 1), -1)):
        cases.add("squeeze.dim", t(*shape), dim)
        cases.add("squeeze.dims", t(*shape), [dim])
        cases.add("unsqueeze.default", t(*shape), dim)
    cases.add("squeeze.default", t(1, 2, 1, 3))
    for shape, dims in (((2, 3, 4), [2, 0, 1]), ((2, 3), [1, 0]), ((2, 3, 4), [0, -1, 1]), ((), [])):
        cases.add("permute.default", t(*shape), dims)
    for shape, a, b in (((2, 3, 4), 0, 2), ((2, 3, 4), -1, -2), ((2, 3), 0, 1)):
        cases.add("transpose.int", t(*shape), a, b)
    cases.add("t.default", t(2, 3))
    cases.add("movedim.intlist", t(2, 3, 4), [0, 1], [2, 0])
    for shape, wanted in (((3, 1), [3, 4]), ((3, 1), [2, -1, 4]), ((1,), [2, 3]), ((), [2])):
        cases.add("expand.default", t(*shape), wanted)
    cases.add("broadcast_tensors.default", [t(2, 1), t(3)])
    for shape, times in (((2, 3), [2, 1]), ((2, 3), [2, 1, 2]), ((3,), [2])):
        cases.add("repeat.default", t(*shape), times)
    for dim in (0, 1, None):
        cases.add("repeat_interleave.self_int", t(2, 3), 2, dim)
    for shape, dims in (((2, 3, 4), [0]), ((2, 3, 4), [1, -1]), ((5,), [0])):
        cases.add("flip.default", t(*shape), dims)
    for k in (0, 1, 2, 3):
        cases.add("rot90.default", t(2, 3, 4), k, [0, 2])
    for shifts, dims in (([1], [0]), ([-2, 1], [1, 0]), ([3], [])):
        cases.add("roll.default", t(3, 5), shifts, dims)
    for dimension, size, step in ((0, 2, 1), (1, 3, 2), (-1, 2, 2)):
        cases.add("unfold.default", t(4, 7), dimension, size, step)
    for size, stride, offset in (([2, 3], [1, 2], 0), ([3, 3], [3, 1], 2), ([4], [2], 1)):
        cases.add("as_strided.default", t(12), size, stride, offset)
    for factor in (2, 3):
        cases.add("pixel_shuffle.default", t(2, 2 * factor * factor, 3, 2), factor)
        cases.add("pixel_unshuffle.default", t(2, 2, 3 * factor, 2 * factor), factor)
    cases.add("channel_shuffle.default", t(2, 6, 3, 2), 3)
    for source, to in (("f32", "f16"), ("f32", "i32"), ("i32", "f32"), ("f32", "i1"), ("i1", "f32"), ("i64", "i32"),
                       ("f16", "f32"),
                       ("f32", "bf16"), ("i32", "i8"), ("ui8", "f32")):
        cases.add("_to_copy.default", t(3, 4, d=source), dtype=Dt(to))
        cases.add("to.dtype", t(3, 4, d=source), Dt(to))
    cases.add("copy.default", t(3, 4), t(4))
    cases.add("copy.default", t(3, 4), t(3, 4, d="i32"))


def _join(cases: Cases) -> None:
    for shapes, dim in ((((2, 3), (2, 4)), 1), (((2, 3), (1, 3), (3, 3)), 0), (((0,), (2, 3)), 0),
                        (((2, 0), (1, 0)), 0), (((2, 3), (2, 3)), -1)):
        cases.add("cat.default", [t(*shape) for shape in shapes], dim)
    cases.add("cat.default", [t(2, 3), t(2, 3, d="i32")], 0)
    for dim in (0, 1, -1):
        cases.add("stack.default", [t(2, 3), t(2, 3)], dim)
    for op in ("hstack.default", "vstack.default", "dstack.default", "column_stack.default"):
        cases.add(op, [t(3), t(3)])
        cases.add(op, [t(2, 3), t(2, 3)])
    for size, dim in ((2, 0), (2, 1), (5, 1)):
        cases.add("split.Tensor", t(4, 5), size, dim)
    for sizes, dim in (([1, 4], 1), ([2, 2], 0), ([1, 0, 3], 0)):
        cases.add("split_with_sizes.default", t(4, 5), sizes, dim)
    for chunks, dim in ((2, 0), (3, 1), (4, 1)):
        cases.add("chunk.default", t(4, 5), chunks, dim)
    for dim in (0, 1, -1):
        cases.add("unbind.int", t(2, 3, 4), dim)
    cases.add("tensor_split.sections", t(7, 3), 3)
    cases.add("tensor_split.indices", t(7, 3), [2, 5])
    for dim, start, end, step in ((0, 1, 3, 1), (1, None, 4, 2), (1, -3, None, 1), (0, 0, 9223372036854775807, 3), (1, 3, 2, 1)):
        cases.add("slice.Tensor", t(4, 5), dim, start, end, step)
    for dim, index in ((0, 1), (1, -1), (-1, 0)):
        cases.add("select.int", t(4, 5), dim, index)
    cases.add("narrow.default", t(4, 5), 1, 1, 3)


def _pad(cases: Cases) -> None:
    for pad, value in (([1, 2], 0.0), ([1, 0, 0, 2], 1.5), ([-1, 1], 0.0), ([0, 0, 1, 1, 2, 0], -1.0)):
        cases.add("constant_pad_nd.default", t(2, 3, 4), pad, value)
    cases.add("constant_pad_nd.default", t(3, 4, d="i32"), [1, 1], 7)
    for n, shape in ((1, (2, 3, 5)), (2, (2, 3, 5, 4)), (3, (1, 2, 4, 5, 4))):
        for pad in ([1, 2] * n, [2, 0] * n):
            cases.add(f"reflection_pad{n}d.default", t(*shape), pad)
            cases.add(f"replication_pad{n}d.default", t(*shape), pad)
        cases.add(f"reflection_pad{n}d.default", t(*shape[1:]), [1, 1] * n)
    for mode in ("constant", "reflect", "replicate", "circular"):
        cases.add("pad.default", t(2, 3, 5, 4), [1, 1, 2, 0], mode)


def _index(cases: Cases) -> None:
    for shape in ((3,), (2, 2), ()):
        cases.add("embedding.default", t(7, 4), t(*shape, d="i64", lo=0, hi=6))
        cases.add("index.Tensor", t(5, 4), [t(*shape, d="i64", lo=-5, hi=4)])
    for dim in (0, 1, -1):
        cases.add("index_select.default", t(3, 4, 5), dim, t(2, d="i64", lo=0, hi=2))
        cases.add("gather.default", t(3, 4, 3), dim, t(2, 3, 3, d="i64", lo=0, hi=2))
        cases.add("gather.default", t(3, 4, 3, d="i32"), dim, t(2, 3, 3, d="i64", lo=0, hi=2))
    i, j = t(3, d="i64", lo=0, hi=2), t(2, 1, d="i64", lo=0, hi=2)
    for indices in ([i, i], [None, i], [i, None, i], [j, i], [None, i, j], [i, j, i], [None, None, i]):
        cases.add("index.Tensor", t(3, 4, 5), indices)
    cases.add("index.Tensor", t(3, 4), [t(3, d="i1", constant=True, values=(True, False, True))])
    cases.add("take.default", t(3, 4), t(2, 2, d="i64", lo=0, hi=11))
    for classes in (5, 7):
        cases.add("one_hot.default", t(2, 3, d="i64", lo=0, hi=4), classes)
    cases.add("nonzero.default", t(3, 4, d="i32", lo=0, hi=1, constant=True))
    for offset in (0, 1, -1):
        cases.add("diagonal.default", t(3, 4), offset)
        cases.add("diagonal.default", t(2, 3, 4), offset, 1, 2)
        cases.add("diag_embed.default", t(2, 3), offset)
        cases.add("tril.default", t(3, 4), offset)
        cases.add("triu.default", t(2, 3, 3), offset)
    for mode in (0, 1, 2):
        cases.add("_embedding_bag.default", t(6, 3), t(5, d="i64", lo=0, hi=5), t(2, d="i64", constant=True, values=(0, 2)),
                  False, mode)


def _scatter(cases: Cases) -> None:
    places = t(2, 3, d="i64", values=(0, -1, 5, 5, 3, 0))
    cases.add("put.default", t(3, 4), places, t(2, 3), True)
    cases.add("put.default", t(3, 4), t(4, d="i64", values=(2, -2, 11, 0)), t(4))
    for part in (0.0, 0.3, 1.0):
        cases.add("quantile.scalar", t(4, 7), part, 1)
    cases.add("quantile.scalar", t(3, 5), 0.4, keepdim=True)
    cases.add("quantile.scalar", t(3, values=(1, float("nan"), 3)), 0.4)
    for how in ("linear", "lower", "higher", "midpoint", "nearest"):
        cases.add("quantile.default", t(4, 7, 2), t(3, constant=True, values=(0.25, 0.6, 0.9)), 1, how == "lower",
                  interpolation=how)
    apart = t(2, 11, values=(*range(11), *(x * x - 30 for x in range(11))))
    most = t(4, values=(float("inf"), 1, float("-inf"), float("inf")))
    for how in ("linear", "lower", "higher", "midpoint", "nearest"):
        cases.add("quantile.default", apart, t(3, constant=True, values=(0.6, 0.7, 0.93)), 1, interpolation=how)
        cases.add("quantile.default", most, t(5, constant=True, values=(0.0, 0.4, 0.5, 0.6, 1.0)), interpolation=how)
    for dim, keep, kind in ((0, True, "i64"), (1, False, "i64"), (-1, False, "i32")):
        cases.add("mode.default", t(6, 8, 3, d=kind, lo=0, hi=3), dim, keep)
    cases.add("mode.default", t(2, 6, values=(1, 2, 2, 1, -3, 0, 4, 4, 4, 0, 0, 0)))
    cases.add("histc.default", t(3, 40), 7, -1.5, 1.75)
    cases.add("histc.default", t(101, values=tuple(-3.3 + 0.064 * i for i in range(101))), 100, -3.3, 3.1)
    cases.add("histc.default", t(5, values=(0, 1, 0.5, 1.5, -0.1)), 4, 0, 1)
    for dim in (0, 1):
        index = t(2, 3, d="i64", values=(0, 1, 2, 2, 0, 1) if dim else (0, 1, 0, 2, 2, 1))
        cases.add("scatter.src", t(4, 4), dim, index, t(2, 3))
        cases.add("scatter.src", t(4, 4), dim, index, t(3, 4))
        cases.add("scatter.value", t(4, 4), dim, index, 1.5)
        cases.add("scatter_add.default", t(4, 4), dim, t(3, 3, d="i64", lo=0, hi=3), t(3, 3))
        for how in ("sum", "prod", "amax", "amin", "mean"):
            for include in (True, False):
                cases.add("scatter_reduce.two", t(4, 4), dim, t(3, 3, d="i64", lo=0, hi=3), t(3, 3), how, include_self=include)
        cases.add("index_add.default", t(4, 3) if not dim else t(3, 4), dim, t(3, d="i64", lo=0, hi=3),
                  t(3, 3))
        cases.add("index_copy.default", t(4, 3) if not dim else t(3, 4), dim, t(2, d="i64", values=(2, 0)), t(2, 3)
                  if not dim else t(3, 2))
        cases.add("index_fill.int_Scalar", t(4, 3), dim, t(2, d="i64", values=(2, 0)), 7.0)
        cases.add("select_scatter.default", t(3, 4), t(4) if not dim else t(3), dim, 1)
    for dim, start, end, step, size in ((0, 1, 3, 1, (2, 4)), (1, None, None, 2, (3, 2)), (1, -2, None, 1, (3, 2)),
                                        (0, 0, 3, 1, (3, 4))):
        cases.add("slice_scatter.default", t(3, 4), t(*size), dim, start, end, step)
    for offset in (0, 1):
        cases.add("diagonal_scatter.default", t(3, 4), t(3), offset)
    i = t(2, d="i64", values=(2, 0))
    for indices, values in (([i], t(2, 4)), ([i], t()), ([None, i], t(3, 2)), ([i, i], t(2)), ([i, None], t(1, 4))):
        cases.add("index_put.default", t(3, 4), indices, values)
        cases.add("index_put.default", t(3, 4), indices, values, True)
    cases.add("index_put.default", t(3, 4), [t(3, 4, d="i1")], t())
    cases.add("index_put.default", t(3, 4, 5), [None, i, i], t(3, 2))
    cases.add("masked_scatter.default", t(3, 4), t(3, 4, d="i1"), t(12))
    cases.add("masked_scatter.default", t(3, 4), t(4, d="i1"), t(3, 4))


def _create(cases: Cases) -> None:
    for d in ("f32", "i64", "i1", "f16"):
        cases.add("full.default", [2, 3], True if d == "i1" else 3, dtype=Dt(d))
        cases.add("full_like.default", t(2, 3, d=d), 1)
        for name in ("zeros", "ones"):
            cases.add(f"{name}.default", [2, 3], dtype=Dt(d))
            cases.add(f"{name}_like.default", t(2, 3, d=d))
    cases.add("fill.Scalar", t(2, 3), 1.5)
    cases.add("scalar_tensor.default", 2.5, dtype=Dt("f32"))
    cases.add("new_zeros.default", t(2), [2, 2])
    for start, end, step in ((0, 5, 1), (1, 9, 3), (5, -2, -2), (0.5, 2.9, 0.5)):
        cases.add("arange.start_step", start, end, step)
    cases.add("arange.start_step", 0, 5, 1, dtype=Dt("f32"))
    cases.add("linspace.default", 0.0, 1.0, 5)
    cases.add("eye.m", 3, 4)
    cases.add("meshgrid.indexing", [t(3), t(2)], indexing="ij")
    cases.add("meshgrid.indexing", [t(3), t(2)], indexing="xy")
    cases.add("cartesian_prod.default", [t(3), t(2)])


def _quantize(cases: Cases) -> None:
    q = "quantized_decomposed."
    for d, low, high, zero in (("i8", -128, 127, 3), ("ui8", 0, 255, 130), ("i8", -127, 127, 0)):
        cases.add(f"{q}quantize_per_tensor.default", t(3, 4), 0.02, zero, low, high, Dt(d))
        cases.add(f"{q}dequantize_per_tensor.default", t(3, 4, d=d, lo=low if low > -128 else -100, hi=100), 0.02, zero, low,
                  high, Dt(d))
    scales, zeros = t(3, lo=0.01, hi=0.03, constant=True), t(3, d="i64", lo=0, hi=0, constant=True)
    cases.add(f"{q}dequantize_per_channel.default", t(3, 4, d="i8", lo=-100, hi=100, constant=True), scales, zeros, 0, -127, 127,
              Dt("i8"))
    cases.add(f"{q}quantize_per_channel.default", t(3, 4, constant=True), scales, zeros, 0, -127, 127, Dt("i8"))
