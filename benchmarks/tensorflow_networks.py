"""Random functions of networks: windows, products, recurrent cells and what else layers are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow_draws import Draw, nn, op, raw, v1


def _spatial(d: Draw, rank: int, least: int = 4) -> list[int]:
    return [d.n(least, least + 4) for _ in range(rank)]


@op("conv")
def _(d: Draw) -> Any:
    rank = d.one(1, 2, 2, 2, 3)
    groups = d.one(1, 1, 2) if rank == 2 else 1
    cin, cout = groups * d.n(1, 3), groups * d.n(1, 3)
    kernel = [d.n(1, 3) for _ in range(rank)]
    strides, dilations = [d.n(1, 3) for _ in range(rank)], [1] * rank
    if d.chance(0.4):
        strides, dilations = [1] * rank, [d.n(1, 2) for _ in range(rank)]
    value = d.x((d.n(1, 2), *_spatial(d, rank, 5), cin), d.one("float32", "float32", "float64", "float16"))
    filters = d.maybe_const(d.array((*kernel, cin // groups, cout), value.dtype.name), 0.7)
    padding = d.one("SAME", "VALID")
    if rank == 2 and d.chance(0.25):
        padding = [[0, 0], [d.n(0, 2), d.n(0, 2)], [d.n(0, 2), d.n(0, 2)], [0, 0]]
        return nn.conv2d(value, filters, strides, padding, dilations=dilations)
    return getattr(nn, f"conv{rank}d")(
        value, filters, strides if rank > 1 else strides[0], padding, dilations=dilations if rank > 1 else dilations[0]
    )


@op("depthwise")
def _(d: Draw) -> Any:
    channels, stride = d.n(1, 4), d.n(1, 2)
    value = d.x((d.n(1, 2), *_spatial(d, 2, 5), channels))
    filters = d.maybe_const(d.array((d.n(1, 3), d.n(1, 3), channels, d.n(1, 2))))
    rate = [1, 1] if stride > 1 else [d.n(1, 2), d.n(1, 2)]
    return nn.depthwise_conv2d(value, filters, [1, stride, stride, 1], d.one("SAME", "VALID"), dilations=rate)


@op("separable")
def _(d: Draw) -> Any:
    return nn.separable_conv2d(
        d.x((1, 6, 6, 3)),
        d.put(d.array((3, 3, 3, 2))),
        d.maybe_const(d.array((1, 1, 6, 4))),
        [1, 1, 1, 1],
        d.one("SAME", "VALID"),
    )


@op("conv_transpose")
def _(d: Draw) -> Any:
    rank = d.one(1, 2, 2, 3)
    size, kernel, stride = _spatial(d, rank, 2), [d.n(1, 4) for _ in range(rank)], d.n(1, 3)
    cin, cout, padding = d.n(1, 3), d.n(1, 3), d.one("SAME", "VALID")
    out = [n * stride for n in size] if padding == "SAME" else [(n - 1) * stride + k for n, k in zip(size, kernel, strict=True)]
    value = d.x((2, *size, cin))
    filters = d.maybe_const(d.array((*kernel, cout, cin)))
    return getattr(nn, f"conv{rank}d_transpose")(value, filters, [2, *out, cout], stride, padding)


@op("pool")
def _(d: Draw) -> Any:
    rank = d.one(1, 2, 2, 3)
    which = d.one(nn.max_pool, nn.avg_pool)
    value = d.x((d.n(1, 2), *_spatial(d, rank), d.n(1, 3)))
    return which(value, [d.n(1, 3) for _ in range(rank)], [d.n(1, 3) for _ in range(rank)], d.one("SAME", "VALID"))


@op("pool_generic")
def _(d: Draw) -> Any:
    window, dilations = [d.n(1, 3), d.n(1, 3)], d.one([1, 1], [2, 1], [2, 2])
    return nn.pool(d.x((1, 8, 7, 2)), window, d.one("MAX", "AVG"), padding=d.one("SAME", "VALID"), dilations=dilations)


@op("max_pool_grad")
def _(d: Draw) -> Any:
    value = d.put(d.rng.permutation(2 * 6 * 5 * 3).reshape(2, 6, 5, 3).astype("float32"))
    k, s = d.n(1, 3), d.n(1, 3)
    pooled = nn.max_pool2d(value, k, s, d.one("SAME", "VALID"))
    return tf.gradients(pooled * d.x(()), value)[0]


@op("gradients")
def _(d: Draw) -> Any:
    value = d.x((1, 6, 6, 2))
    kernel = tf.constant(d.array((3, 3, 2, 2)))
    result = d.one(
        lambda v: nn.relu(nn.conv2d(v, kernel, 1, "SAME")),
        lambda v: nn.avg_pool2d(v, 2, 2, "SAME"),
        tf.tanh,
        tf.sigmoid,
        nn.elu,
        lambda v: nn.softmax(v) ** 2,
        lambda v: tf.reduce_mean(v, 1),
        lambda v: tf.image.resize(v, (12, 12), "bilinear"),
        nn.relu6,
        lambda v: v[:, 1:4, ::2],
        lambda v: tf.pad(v, [[0, 0], [1, 1], [1, 1], [0, 0]]),
        lambda v: nn.conv2d(v, kernel, 2, "VALID"),
        nn.softplus,
        nn.selu,
        nn.leaky_relu,
        tf.sqrt,
        lambda v: tf.gather(v, [0, 2, 2], axis=1),
        tf.exp,
        lambda v: tf.image.resize(v, (3, 3), "nearest"),
        lambda v: nn.local_response_normalization(v, 2),
        lambda v: tf.pad(v, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT"),
    )(value)
    return tf.gradients(result, value)[0]


@op("argmax_pool")
def _(d: Draw) -> Any:
    value = d.put(d.rng.permutation(2 * 6 * 5 * 3).reshape(2, 6, 5, 3).astype("float32"))
    return list(
        nn.max_pool_with_argmax(value, d.n(1, 3), d.n(1, 3), d.one("SAME", "VALID"), include_batch_in_index=d.chance(0.5))
    )


@op("batch_norm")
def _(d: Draw) -> Any:
    c = d.n(1, 4)
    value = d.x((2, *_spatial(d, 2, 2), c))
    numbers = [d.maybe_const(d.array((c,), low=0.2)) for _ in range(4)]
    if d.chance(0.5):
        return v1.nn.fused_batch_norm(value, *numbers, epsilon=0.01, is_training=False)[0]
    if d.chance(0.4):
        return v1.nn.fused_batch_norm(value, numbers[0], numbers[1], is_training=True)[0]
    return nn.batch_normalization(value, numbers[0], numbers[1], d.one(None, numbers[2]), d.one(None, numbers[3]), 0.001)


@op("norms")
def _(d: Draw) -> Any:
    value = d.x((2, 4, 5, 6))
    return d.one(
        lambda: nn.local_response_normalization(value, d.n(1, 4), bias=1.5, alpha=0.3, beta=0.6),
        lambda: nn.moments(value, d.axes(4) or [1]),
        lambda: tf.linalg.l2_normalize(value, d.axis(4)),
        lambda: tf.norm(value, ord=d.one(1, 2, "euclidean"), axis=d.axis(4)),
        lambda: nn.bias_add(value, d.x((6,))),
        lambda: tf.clip_by_value(value, -1.0, 1.5),
        lambda: tf.clip_by_norm(value, 2.0),
        lambda: nn.normalize_moments(tf.constant(4.0), value, value, None),
    )()


@op("losses")
def _(d: Draw) -> Any:
    logits = d.x((4, 5))
    return d.one(
        lambda: nn.softmax_cross_entropy_with_logits(d.x((4, 5), low=0.0, high=1.0), logits),
        lambda: nn.sparse_softmax_cross_entropy_with_logits(d.put(d.rng.integers(0, 5, 4).astype("int32")), logits),
        lambda: nn.sigmoid_cross_entropy_with_logits(d.x((4, 5), low=0.0, high=1.0), logits),
    )()


@op("space")
def _(d: Draw) -> Any:
    b, c = d.n(2, 3), d.n(1, 2)
    return d.one(
        lambda: tf.nn.space_to_depth(d.x((2, 2 * b, 3 * b, c)), b),
        lambda: nn.depth_to_space(d.x((2, 2, 3, c * b * b)), b),
        lambda: tf.space_to_batch(d.x((2, 2 * b, 3 * b - 1, c)), [b, b], [[0, 0], [1, 0]]),
        lambda: tf.batch_to_space(d.x((2 * b * b, 2, 3, c)), [b, b], [[0, 0], [1, d.n(0, 1)]]),
    )()


@op("resize")
def _(d: Draw) -> Any:
    method = d.one("bilinear", "nearest", "bicubic", "area", "lanczos3", "gaussian")
    value = d.x(
        (d.n(1, 2), *_spatial(d, 2, 2), d.n(1, 3)), d.one("float32", "float32", "uint8") if method == "nearest" else "float32"
    )
    size = [d.n(1, 10), d.n(1, 10)]
    if method in ("bilinear", "nearest", "bicubic") and d.chance(0.6):
        corners = d.chance(0.5)
        return getattr(v1.image, {"nearest": "resize_nearest_neighbor"}.get(method, f"resize_{method}"))(
            value, size, align_corners=corners, half_pixel_centers=not corners and d.chance(0.5)
        )
    return tf.image.resize(value, size, method, antialias=d.chance(0.3), preserve_aspect_ratio=False)


@op("image")
def _(d: Draw) -> Any:
    value = d.x((2, 5, 6, 3), low=0.0, high=1.0)
    boxes = np.sort(d.array((3, 4), low=0.0, high=1.0).reshape(3, 2, 2), 1).reshape(3, 4)
    which = d.rng.integers(0, 2, 3).astype("int32")
    return d.one(
        lambda: tf.image.crop_and_resize(
            value,
            d.maybe_const(boxes),
            d.maybe_const(which),
            [d.n(1, 5), d.n(1, 5)],
            d.one("bilinear", "nearest"),
            d.one(0.0, 2.0),
        ),
        lambda: tf.image.rgb_to_grayscale(value),
        lambda: tf.image.rgb_to_hsv(value),
        lambda: tf.image.hsv_to_rgb(value),
        lambda: tf.image.adjust_contrast(value, 1.7),
        lambda: tf.image.adjust_hue(value, 0.2),
        lambda: tf.image.adjust_saturation(value, 0.4),
        lambda: tf.image.flip_left_right(value),
        lambda: tf.image.rot90(value, d.n(0, 3)),
        lambda: tf.image.central_crop(value, 0.5),
        lambda: tf.image.pad_to_bounding_box(value, 1, 2, 8, 9),
        lambda: tf.image.per_image_standardization(value),
        lambda: tf.image.extract_patches(value, [1, 2, 3, 1], [1, 2, 1, 1], [1, 1, d.n(1, 2), 1], d.one("SAME", "VALID")),
        lambda: tf.image.resize_with_pad(value, 7, 4),
        lambda: tf.image.resize_with_crop_or_pad(value, 4, 8),
        lambda: tf.image.rgb_to_yuv(value),
        lambda: tf.image.yuv_to_rgb(value),
        lambda: tf.image.total_variation(value),
        lambda: list(tf.image.image_gradients(value)),
        lambda: tf.image.sobel_edges(value),
        lambda: tf.image.ssim(value, value * 0.5, 1.0, filter_size=3),
    )()


@op("nms")
def _(d: Draw) -> Any:
    boxes = np.concatenate([d.array((8, 2), low=0, high=1), d.array((8, 2), low=1, high=2)], 1).astype("float32")
    scores = d.rng.permutation(8).astype("float32") / 8
    if d.chance(0.5):
        return list(
            tf.image.non_max_suppression_padded(d.put(boxes), d.put(scores), d.n(1, 8), d.one(0.3, 0.6), d.one(-1e9, 0.2), True)
        )
    return list(
        tf.image.combined_non_max_suppression(
            d.put(boxes.reshape(1, 8, 1, 4)),
            d.put(scores.reshape(1, 8, 1)),
            d.n(1, 4),
            d.n(1, 5),
            d.one(0.3, 0.6),
            d.one(-1e9, 0.2),
            pad_per_class=d.chance(0.3),
            clip_boxes=d.chance(0.5),
        )
    )


@op("matrix")
def _(d: Draw) -> Any:
    shape = (*d.shape(0, 1, 0), d.n(1, 4), d.n(1, 4))
    square = (*shape[:-1], shape[-2])
    return d.one(
        lambda: tf.linalg.band_part(d.x(shape), d.n(-1, 2), d.n(-1, 2)),
        lambda: tf.linalg.diag(d.x(shape), k=d.n(-2, 2)),
        lambda: tf.linalg.diag_part(d.x(shape), k=0),
        lambda: tf.linalg.set_diag(d.x(square), d.x(square[:-1])),
        lambda: tf.linalg.det(d.x(square)),
        lambda: tf.linalg.trace(d.x(square)),
        lambda: tf.linalg.matrix_transpose(d.x(shape)),
        lambda: tf.linalg.inv(d.x(square) + tf.eye(square[-1]) * 9.0),
        lambda: tf.linalg.solve(d.x(square) + tf.eye(square[-1]) * 9.0, d.x((*square[:-1], 2))),
        lambda: tf.linalg.cross(d.x((2, 3)), d.x((2, 3))),
        lambda: tf.linalg.tensor_diag(d.x((3,))),
        lambda: tf.linalg.tensor_diag_part(d.x((3, 3))),
        lambda: tf.linalg.matvec(d.x(shape), d.x((shape[-1],))),
        lambda: tf.linalg.diag(d.x((2, 3)), k=d.n(-1, 1), padding_value=7.0),
        lambda: tf.linalg.diag_part(
            d.x((2, 4, 5)), k=d.one((0, 1), (-1, 1), 2), align=d.one("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT")
        ),
    )()


@op("misc")
def _(d: Draw) -> Any:
    return d.one(
        lambda: tf.searchsorted(tf.constant(np.sort(d.array((6,)))), d.x((4,)), d.one("left", "right")),
        lambda: raw.Bucketize(input=d.x(d.shape()), boundaries=[-1.0, 0.0, 2.0]),
        lambda: tf.histogram_fixed_width(d.x((9,)), [-2.0, 2.0], 5),
        lambda: tf.math.bincount(d.put(d.rng.integers(0, 5, 7).astype("int32")), minlength=5, maxlength=5),
        lambda: tf.math.invert_permutation(d.put(d.rng.permutation(5).astype("int32"))),
        lambda: tf.math.confusion_matrix([0, 1, 2], d.put(np.array([0, 2, 2])), 3),
        lambda: tf.math.polyval([1.0, d.x(()), 3.0], d.x((3,))),
        lambda: tf.add_n([d.x((2, 3)), d.x((2, 3)), d.x((2, 3))]),
        lambda: tf.math.accumulate_n([d.x((2, 3)), d.x((2, 3))]),
        lambda: tf.meshgrid(d.x((3,)), d.x((2,)), indexing=d.one("xy", "ij")),
        lambda: tf.sequence_mask(d.put(np.array([0, 2, 3], "int32")), 4, d.one("float32", "bool")),
        lambda: tf.repeat(d.x((2, 3)), d.one(2, [1, 2]), axis=0),
        lambda: tf.boolean_mask(d.x((3, 2)), tf.constant([True, False, True])),
        lambda: tf.dynamic_stitch([[0, 2], [1, 3]], [d.x((2, 3)), d.x((2, 3))]),
        lambda: list(tf.dynamic_partition(d.x((4, 2)), tf.constant([0, 1, 1, 0]), 2)),
        lambda: tf.ensure_shape(d.x((2, 3)), (2, 3)),
        lambda: [*tf.unique(tf.constant([3, 1, 3])), d.x(())],
        lambda: tf.bitcast(d.x((3,)), d.one("int32", "uint32")),
        lambda: tf.quantization.fake_quant_with_min_max_args(d.x((2, 3)), -2.0, 2.5, d.one(8, 4), d.chance(0.5)),
        lambda: tf.quantization.fake_quant_with_min_max_vars(d.x((2, 3)), -2.0, d.one(2.5, 1.0), 8, d.chance(0.5)),
        lambda: tf.quantization.fake_quant_with_min_max_vars_per_channel(d.x((2, 3)), [-1.0, -2.0, 0.0], [1.0, 3.0, 2.0]),
        lambda: tf.quantization.quantize_and_dequantize_v2(d.x((2, 3)), -2.0, 2.0, range_given=True),
        lambda: tf.nn.dilation2d(d.x((1, 5, 5, 2)), d.x((2, 2, 2)), [1, 1, 1, 1], d.one("SAME", "VALID"), "NHWC", [1, 1, 1, 1]),
        lambda: tf.nn.crelu(d.x((2, 3)), axis=d.one(-1, 0)),
        lambda: tf.nn.embedding_lookup(tf.constant(d.array((5, 3))), d.put(d.rng.integers(0, 5, (2, 2)))),
        lambda: tf.math.reduce_euclidean_norm(d.x((2, 3)), 1),
        lambda: tf.unravel_index(d.put(np.array([1, 5, 3], "int32")), [2, 3]),
        lambda: tf.math.top_k(d.put(d.rng.permutation(6).astype("int32")), 2),
        lambda: tf.guarantee_const(d.x((2,))),
        lambda: tf.math.count_nonzero(d.x((3, 4), "int32"), axis=d.axes(2)),
        lambda: raw.DataFormatDimMap(x=d.put(np.array([0, 1, 2, -1], "int32")), src_format="NHWC", dst_format="NCHW"),
        lambda: raw.DataFormatVecPermute(
            x=d.put(np.array([7, 4, 5, 9], "int32")), src_format=d.one("NHWC", "NCHW"), dst_format=d.one("NCHW", "NHWC")
        ),
        lambda: raw.MatrixDiagV2(diagonal=d.x((2, 3)), k=0, num_rows=-1, num_cols=-1, padding_value=0.0),
        lambda: raw.Mod(x=d.x((3,), "int32", 1, 3), y=d.x((3,), "int32", 1, 3)),
        lambda: tf.sparse.to_dense(tf.sparse.from_dense(tf.constant([[1.0, 0.0], [0.0, 2.0]]))) + d.x(()),
        lambda: tf.sparse.sparse_dense_matmul(tf.SparseTensor([[0, 1], [1, 0]], [1.5, -2.0], (2, 3)), d.x((3, 4))),
        lambda: tf.RaggedTensor.from_row_splits(d.x((5,)), [0, 2, 2, 5]).to_tensor(),
        lambda: tf.ragged.range([2, 0, 3]).to_tensor() + d.x((), "int32"),
    )()
