# ruff: noqa: E501 - lines of programs
"""Ops with structure (movement, contraction, indexing, reduction, windows, control, numerics), generated, against XLA."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.xla_oracle import COMPLEX, FLOATS, SIGNED, Batch, body, comparator, identity, ints, numbers, pairs, tensor_type

pytest.importorskip("jaxlib", reason="jaxlib is the oracle")
pytestmark = pytest.mark.slow

TYPES = ("i1", "i4", "i8", "ui8", "i16", "i32", "ui32", "i64", "f8E4M3FN", "bf16", "f16", "f32", "f64", *COMPLEX)


@pytest.mark.parametrize("element", TYPES)
def test_movement(element: str) -> None:
    rng, batch = np.random.default_rng(11), Batch()
    for shape in ((4,), (3, 5), (2, 3, 4), (1, 4, 1, 3)):
        rank = len(shape)
        x = batch.argument(numbers(rng, shape, element), element)
        order = rng.permutation(rank)
        batch.op("transpose", [x], tensor_type([shape[i] for i in order], element), f"permutation = {ints(order)}")
        flipped = [i for i in range(rank) if rng.random() < 0.6]
        batch.op("reverse", [x], tensor_type(shape, element), f"dimensions = {ints(flipped)}")
        batch.op("reshape", [x], tensor_type([int(np.prod(shape))], element))
        places = sorted(rng.choice(rank + 2, rank, replace=False))
        wide = [2, 3, 4, 2, 3, 2][: rank + 2]
        for i, place in enumerate(places):
            wide[place] = shape[i] if shape[i] != 1 else int(rng.integers(1, 4))
        batch.op("broadcast_in_dim", [x], tensor_type(wide, element), f"broadcast_dimensions = {ints(places)}")
        for _ in range(2):
            starts = [int(rng.integers(0, size)) for size in shape]
            limits = [int(rng.integers(start, size + 1)) for start, size in zip(starts, shape, strict=True)]
            steps = [int(rng.integers(1, 3)) for _ in shape]
            out = [-((a - b) // s) for a, b, s in zip(starts, limits, steps, strict=True)]
            batch.op(
                "slice",
                [x],
                tensor_type(out, element),
                f"start_indices = {ints(starts)}, limit_indices = {ints(limits)}, strides = {ints(steps)}",
            )
            low, high = rng.integers(-1, 3, rank), rng.integers(-1, 3, rank)
            low = np.where(np.array(shape) + low + high < 0, 0, low)
            inner = rng.integers(0, 3, rank)
            sizes = [max((s - 1) * (i + 1) + 1, 0) + a + b for s, i, a, b in zip(shape, inner, low, high, strict=True)]
            if min(sizes) >= 0:
                batch.op(
                    "pad",
                    [x, batch.argument(numbers(rng, (), element), element)],
                    tensor_type(sizes, element),
                    f"edge_padding_low = {ints(low)}, edge_padding_high = {ints(high)}, interior_padding = {ints(inner)}",
                )
            part = [int(rng.integers(1, size + 1)) for size in shape]
            begin = [batch.argument(np.array(rng.integers(-2, 6), np.int32), "i32") for _ in shape]
            batch.op("dynamic_slice", [x, *begin], tensor_type(part, element), f"slice_sizes = {ints(part)}")
            update = batch.argument(numbers(rng, part, element), element)
            batch.op("dynamic_update_slice", [x, update, *begin], tensor_type(shape, element))
        axis = int(rng.integers(0, rank))
        other = [size if i != axis else int(rng.integers(0, 4)) for i, size in enumerate(shape)]
        y = batch.argument(numbers(rng, other, element), element)
        joined = [size if i != axis else size + other[axis] for i, size in enumerate(shape)]
        batch.op("concatenate", [x, y], tensor_type(joined, element), f"dimension = {axis} : i64")
        batch.op("get_dimension_size", [x], "tensor<i32>", f"dimension = {axis} : i64")
        if element not in ("i1", "i4"):
            batch.op("iota", [], tensor_type(shape, element), f"iota_dimension = {axis} : i64")
    assert batch.run() >= 48


@pytest.mark.parametrize("element", ("i8", "ui8", "i32", "i64", *FLOATS[2:], *COMPLEX))
def test_dot_general(element: str) -> None:
    rng, batch = np.random.default_rng(12), Batch()
    for n_batch, n_over, n_left, n_right in (
        (0, 1, 1, 1),
        (1, 1, 1, 1),
        (2, 1, 1, 0),
        (0, 2, 1, 2),
        (1, 0, 1, 1),
        (1, 2, 0, 1),
        (0, 1, 0, 0),
    ):
        sizes = [int(size) for size in rng.integers(1, 5, n_batch + n_over)]
        left, right = [int(s) for s in rng.integers(1, 5, n_left)], [int(s) for s in rng.integers(1, 5, n_right)]
        orders = [rng.permutation(n_batch + n_over + n_left), rng.permutation(n_batch + n_over + n_right)]
        operands, roles = [], []
        for order, rest in zip(orders, (left, right), strict=True):
            full = [*sizes, *rest]
            operands.append(batch.argument(numbers(rng, [full[i] for i in order], element, -2, 2), element))
            where = list(np.argsort(order))
            roles.append(([int(w) for w in where[:n_batch]], [int(w) for w in where[n_batch : n_batch + n_over]]))
        rests = [
            [full[i] for i in order if i >= n_batch + n_over]
            for order, full in zip(orders, ([*sizes, *left], [*sizes, *right]), strict=True)
        ]
        batch.op(
            "dot_general",
            operands,
            tensor_type([*sizes[:n_batch], *rests[0], *rests[1]], element),
            f"dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = {roles[0][0]}, rhs_batching_dimensions = {roles[1][0]}, "
            f"lhs_contracting_dimensions = {roles[0][1]}, rhs_contracting_dimensions = {roles[1][1]}>",
            tolerance=2e-2 if element in ("bf16", "f16") else None,
        )
    assert batch.run() == 7


@pytest.mark.parametrize("seed", range(12))
def test_convolution(seed: int) -> None:
    """Random dimension numbers, strides, dilations, padding, reversal and groups."""
    rng, batch = np.random.default_rng(100 + seed), Batch()
    for _ in range(5):
        spatial = int(rng.integers(0, 4))
        element = str(rng.choice(["f32", "f64", "bf16"]))
        kind = int(rng.integers(0, 3))
        groups, batches = (int(rng.integers(2, 4)), 1) if kind == 1 else (1, int(rng.integers(2, 4))) if kind == 2 else (1, 1)
        n, c, f = batches * int(rng.integers(1, 3)), int(rng.integers(1, 3)), groups * batches * int(rng.integers(1, 3))
        window = [int(k) for k in rng.integers(1, 4, spatial)]
        size = [int(s) for s in rng.integers(3, 7, spatial)]
        stride, left, right = ([int(v) for v in rng.integers(1, 3, spatial)] for _ in range(3))
        padding = [[int(v) for v in rng.integers(-1, 3, 2)] for _ in range(spatial)]
        reverse = [bool(v) for v in rng.integers(0, 2, spatial)]
        orders = [rng.permutation(spatial + 2) for _ in range(3)]
        names = [
            ["b", *map(str, range(spatial)), "f"],
            ["o", *map(str, range(spatial)), "i"],
            ["b", *map(str, range(spatial)), "f"],
        ]
        texts = ["[" + ", ".join(name[i] for i in order) + "]" for name, order in zip(names, orders, strict=True)]
        lhs, rhs = [n, *size, c * groups], [f, *window, c]
        out = [n // batches]
        for s, k, st, le, ri, (a, b) in zip(size, window, stride, left, right, padding, strict=True):
            extent, reach = (s - 1) * le + 1 + a + b, (k - 1) * ri + 1
            out.append(0 if extent <= 0 or reach > extent else (extent - reach) // st + 1)
        out.append(f)
        operands = [
            batch.argument(numbers(rng, [shape[i] for i in order], element, -2, 2), element)
            for shape, order in zip((lhs, rhs), orders, strict=False)
        ]
        flags = f"array<i1{': ' if spatial else ''}{', '.join('true' if flag else 'false' for flag in reverse)}>"
        batch.op(
            "convolution",
            operands,
            tensor_type([out[i] for i in orders[2]], element),
            f"window_strides = {ints(stride)}, padding = {pairs(padding)}, lhs_dilation = {ints(left)}, rhs_dilation = {ints(right)}, "
            f"window_reversal = {flags}, dimension_numbers = #stablehlo.conv<{texts[0]}x{texts[1]}->{texts[2]}>, "
            f"feature_group_count = {groups} : i64, batch_group_count = {batches} : i64",
            tolerance=2e-2 if element == "bf16" else 1e-4,
        )
    assert batch.run() == 5


@pytest.mark.parametrize("seed", range(10))
def test_gather_and_scatter(seed: int) -> None:
    rng, batch = np.random.default_rng(200 + seed), Batch()
    for _ in range(4):
        rank, element = int(rng.integers(1, 4)), str(rng.choice(["i32", "f32", "i8", "bf16"]))
        shape = [int(s) for s in rng.integers(2, 5, rank)]
        n_batching = int(rng.integers(0, rank))
        dims = [int(d) for d in rng.permutation(rank)]
        batching, free = sorted(dims[:n_batching]), dims[n_batching:]
        indexed = free[: int(rng.integers(1, len(free) + 1))]
        collapsed = sorted(d for d in free if rng.random() < 0.4)
        sizes = [1 if d in batching or d in collapsed else int(rng.integers(1, shape[d] + 1)) for d in range(rank)]
        extra = [int(s) for s in rng.integers(1, 4, int(rng.integers(0, 2)))]
        outer = [shape[d] for d in batching] + extra
        vector = int(rng.integers(0, len(outer) + 1))
        index_shape = [*outer[:vector], len(indexed), *outer[vector:]]
        index_batching = [i + (i >= vector) for i in range(len(batching))]
        indices = batch.argument(rng.integers(-1, 5, index_shape).astype(np.int32), "i32")
        windows = [size for d, size in enumerate(sizes) if d not in batching and d not in collapsed]
        total = len(outer) + len(windows)
        offsets = sorted(int(d) for d in rng.choice(total, len(windows), replace=False))
        outer_sizes, window_sizes = iter(outer), iter(windows)
        result = [next(window_sizes) if i in offsets else next(outer_sizes) for i in range(total)]
        x = batch.argument(numbers(rng, shape, element), element)
        batch.op(
            "gather",
            [x, indices],
            tensor_type(result, element),
            f"dimension_numbers = #stablehlo.gather<offset_dims = {offsets}, collapsed_slice_dims = {collapsed}, operand_batching_dims = "
            f"{batching}, start_indices_batching_dims = {index_batching}, start_index_map = {indexed}, index_vector_dim = {vector}>, "
            f"slice_sizes = {ints(sizes)}",
            tolerance=0,
        )
        # Of a window that lies partly outside, XLA leaves out all, the specification what is outside: wholly in or out.
        starts = np.moveaxis(np.zeros(index_shape, np.int32), vector, -1)
        for place, d in enumerate(indexed):
            starts[..., place] = rng.integers(0, shape[d] - sizes[d] + 1, starts.shape[:-1])
        starts[rng.random(starts.shape) < 0.15] = 99
        indices = batch.argument(np.moveaxis(starts, -1, vector), "i32")
        update = batch.argument(numbers(rng, result, element), element)
        combine = str(rng.choice(["add", "maximum", "multiply", "minimum"]))
        batch.op(
            "scatter",
            [x, indices, update],
            tensor_type(shape, element),
            f"scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = {offsets}, inserted_window_dims = {collapsed}, "
            f"input_batching_dims = {batching}, scatter_indices_batching_dims = {index_batching}, scatter_dims_to_operand_dims = {indexed}, "
            f"index_vector_dim = {vector}>, indices_are_sorted = false, unique_indices = false",
            body(combine, element),
        )
    assert batch.run() == 8


@pytest.mark.parametrize("element", (*SIGNED[1:], "ui8", "ui32", "bf16", "f16", "f32", "f64"))
def test_reduction(element: str) -> None:
    rng, batch = np.random.default_rng(13), Batch()
    loose = {"bf16": 0.1, "f16": 0.02}.get(element, 1e-4)
    for shape in ((5,), (3, 4), (2, 3, 4), (0, 3)):
        for combine in ("add", "maximum", "minimum", "multiply"):
            values = numbers(rng, shape, element, 0.5, 1.5)
            x, init = (
                batch.argument(values, element),
                batch.argument(identity(combine, values.dtype), element),
            )  # how often others come in is left open
            gone = [d for d in range(len(shape)) if rng.random() < 0.6]
            out = [size for d, size in enumerate(shape) if d not in gone]
            batch.op(
                "reduce",
                [x, init],
                tensor_type(out, element),
                f"dimensions = {ints(gone)}",
                body(combine, element),
                tolerance=loose,
            )
            if 0 in shape:
                continue
            y = batch.argument(numbers(rng, shape, element, 0.5, 1.5), element)
            both = tensor_type(out, element)
            batch.op(
                "reduce",
                [x, y, init, init],
                [both, both],
                f"dimensions = {ints(gone)}",
                body(combine, element, 2),
                tolerance=loose,
            )
            window, stride, base, dilation = ([int(v) for v in rng.integers(1, 3, len(shape))] for _ in range(4))
            padding = [[int(v) for v in rng.integers(0, 3, 2)] for _ in shape]
            counts = []
            for size, k, s, b, d, (low, high) in zip(shape, window, stride, base, dilation, padding, strict=True):
                extent, reach = (size - 1) * b + 1 + low + high, (k - 1) * d + 1
                counts.append((extent - reach) // s + 1 if reach <= extent else 0)
            batch.op(
                "reduce_window",
                [x, init],
                tensor_type(counts, element),
                f"window_dimensions = {ints(window)}, window_strides = {ints(stride)}, base_dilations = {ints(base)}, "
                f"window_dilations = {ints(dilation)}, padding = {pairs(padding)}",
                body(combine, element),
                tolerance=loose,
            )
    for direction in ("GT", "LE"):
        for shape, axis in (((9,), 0), ((3, 7), 1), ((6, 2, 3), 0)):
            x = batch.argument(numbers(rng, shape, element), element)
            y = batch.argument(np.arange(np.prod(shape), dtype=np.int32).reshape(shape), "i32")
            before = comparator("GT" if direction == "GT" else "LT", element, ("i32",))
            batch.op(
                "sort",
                [x, y],
                [tensor_type(shape, element), tensor_type(shape, "i32")],
                f"dimension = {axis} : i64, is_stable = true",
                before,
                tolerance=0,
            )
    operand = (
        rng.permutation(20).reshape(4, 5).astype(numbers(rng, (), element).dtype)
    )  # no two alike: which is taken is left open
    x, source = batch.argument(operand, element), batch.argument(numbers(rng, (3, 3), element), element)
    init = batch.argument(np.zeros((), numbers(rng, (), element).dtype), element)
    batch.op(
        "select_and_scatter",
        [x, source, init],
        tensor_type((4, 5), element),
        f"window_dimensions = {ints((2, 2))}, window_strides = {ints((1, 2))}, padding = {pairs(((0, 0), (0, 1)))}",
        f"{comparator('GE', element)}, {body('add', element)}",
        tolerance=loose,
    )
    assert batch.run() >= 40


@pytest.mark.parametrize("element", ("ui8", "ui16", "ui32", "ui64", "i8", "i32", "i64", "f16", "f32", "f64"))
def test_random_bits(element: str) -> None:
    rng, batch = np.random.default_rng(14), Batch()
    for shape in ((), (1,), (5,), (8,), (3, 4), (3, 5), (2, 3, 5)):
        for algorithm, count in (("THREE_FRY", 2), ("PHILOX", 3), ("PHILOX", 2)):
            state = rng.integers(0, 1 << 63, count).astype(np.uint64)
            if rng.random() < 0.3:
                state[1:] = np.uint64(0xFFFFFFFFFFFFFFFF)  # the counter runs over
            s = batch.argument(state, "ui64")
            batch.op(
                "rng_bit_generator",
                [s],
                [batch.type_of(s), tensor_type(shape, element)],
                f"rng_algorithm = #stablehlo<rng_algorithm {algorithm}>",
                tolerance=0,
            )
    assert batch.run() == 21


@pytest.mark.parametrize("element", ("ui32", "ui64"))
def test_random_bits_by_default(element: str) -> None:
    """Left to the implementation: XLA's are those of Philox, of either state."""
    batch = Batch()
    for state in ((3, 2**63 + 5), (3, 2**64 - 1, 9)):
        s = batch.argument(np.array(state, np.uint64), "ui64")
        batch.op(
            "rng_bit_generator",
            [s],
            [batch.type_of(s), tensor_type((5,), element)],
            "rng_algorithm = #stablehlo<rng_algorithm DEFAULT>",
            tolerance=0,
        )
    assert batch.run() == 2


@pytest.mark.parametrize("element", ("f32", "f64"))
def test_numerics(element: str) -> None:
    rng, batch = np.random.default_rng(15), Batch()
    complex_ = f"complex<{element}>"
    for shape, length in (((8,), (8,)), ((3, 6), (6,)), ((4, 6), (4, 6)), ((2, 2, 3, 4), (2, 3, 4)), ((5, 7), (7,))):
        x, z = batch.argument(numbers(rng, shape, element), element), batch.argument(numbers(rng, shape, complex_), complex_)
        half = (*shape[:-1], shape[-1] // 2 + 1)
        for kind, operand, out in (
            ("FFT", z, tensor_type(shape, complex_)),
            ("IFFT", z, tensor_type(shape, complex_)),
            ("RFFT", x, tensor_type(half, complex_)),
        ):
            batch.op(
                "fft", [operand], out, f"fft_type = #stablehlo<fft_type {kind}>, fft_length = {ints(length)}", tolerance=1e-4
            )
        spectrum = np.fft.rfftn(rng.normal(size=shape), axes=range(len(shape) - len(length), len(shape)))
        y = batch.argument(spectrum.astype(np.complex64 if element == "f32" else np.complex128), complex_)
        batch.op(
            "fft",
            [y],
            tensor_type(shape, element),
            f"fft_type = #stablehlo<fft_type IRFFT>, fft_length = {ints(length)}",
            tolerance=1e-4,
        )
    for shape in ((4, 5), (2, 3, 4, 3)):
        feature = len(shape) - 1
        count = shape[feature]
        x = batch.argument(numbers(rng, shape, element), element)
        vectors = [batch.argument(numbers(rng, (count,), element, 0.5, 2), element) for _ in range(4)]
        properties = f"epsilon = 0.001 : f32, feature_index = {feature} : i64"
        full, vector = tensor_type(shape, element), tensor_type((count,), element)
        batch.op("batch_norm_inference", [x, *vectors], full, properties, tolerance=1e-4)
        batch.op("batch_norm_training", [x, *vectors[:2]], [full, vector, vector], properties, tolerance=1e-4)
        grad = batch.argument(numbers(rng, shape, element), element)
        batch.op("batch_norm_grad", [x, *vectors[:3], grad], [full, vector, vector], properties, tolerance=1e-4)
    assert batch.run() == 26
