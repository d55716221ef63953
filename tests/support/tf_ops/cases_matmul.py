"""Matrix products and normalizations."""

from __future__ import annotations

from .spec import cases, each, values, x

_TURNS = [(x(3, 4), x(4, 5), False, False), (x(4, 3), x(4, 5), True, False), (x(3, 4), x(5, 4), False, True), (x(4, 3), x(5, 4),
    True, True)]
_STATISTICS = (x(3, low=0.5, high=2.0), x(3), x(3), x(3, low=0.3, high=2.0))
_HALVES = tuple(values(data, "float32") for data in ([0.5, 1.0, 2.0], [0.1, -0.2, 0.3], [0.0, 0.5, -0.5], [1.0, 0.5, 2.0]))

CASES = [
    *[case for a, b, left, right in _TURNS for case in cases(
        "MatMul", a, b, transpose_a=left, transpose_b=right, types="float32 float16 bfloat16 int32")],
    *[case for a, b, left, right in _TURNS for case in cases("SparseMatMul", a, b, transpose_a=left, transpose_b=right)],
    *cases("BatchMatMul BatchMatMulV2", x(2, 3, 4), x(2, 4, 5), types="float32 int32 float16"),
    *cases("BatchMatMulV2", on=[(x(2, 1, 3, 4), x(3, 4, 2)), (x(3, 4), x(2, 4, 5)), (x(2, 3, 4), x(4, 5))]),
    *cases("BatchMatMul BatchMatMulV2", x(2, 4, 3), x(2, 5, 4), adj_x=True, adj_y=True),
    *cases("BatchMatMul BatchMatMulV2", x(2, 3, 3), x(2, 3, 3), grad_x=True, grad_y=each(True, False)),
    *cases("BatchMatMulV2", x(2, 3, 4), x(5, 4), adj_y=True),
    *cases("BatchMatMulV3", x(2, 3, 4), x(2, 4, 5), Tout="float32"),
    *cases("BatchMatMulV3", x(2, 3, 4, dtype="int8"), x(2, 4, 5, dtype="int8"), Tout="int32"),
    *cases("Einsum", x(2, 3, 4), x(2, 4, 5), equation=each("bij,bjk->bik", "bij,bjk->bki", "bij,bjk->ik")),
    *cases("Einsum", x(2, 3), x(3, 4), equation=each("ij,jk->ik", "ij,jk->ki", "ij,jk->k")),
    *cases("Einsum", x(2, 3, 4), x(4, 5), equation=each("...i,ij->...j", "abc,cd->abd")),
    *cases("Einsum", x(2, 3, 4), equation=each("abc->cab", "abc->ac", "abc->")),
    *cases("Einsum", x(2, 3, 4, 5), x(2, 6, 4, 5), equation="bqhd,bkhd->bhqk"),
    *cases("Einsum", x(2, 3), x(2, 3), equation=each("ij,ij->i", "ij,ij->", "ij,kj->ik")),
    *cases("Cross", each(x(3), x(2, 3)), x(2, 3))[1:],
    *cases("Cross", x(4, 3), x(4, 3), types="int32"),
    # normalization
    *cases("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3", x(2, 4, 5, 3), *_STATISTICS, is_training=False,
           epsilon=each(1e-3, 1e-4),
           outputs=(0, 1, 2)),
    *cases("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3", x(2, 4, 5, 3), *_STATISTICS[:2], x(0), x(0), is_training=True,
           outputs=(0, 1, 2)),
    *cases("FusedBatchNormV3", x(2, 4, 5, 3), *_STATISTICS, is_training=True, exponential_avg_factor=0.3, outputs=(0, 1, 2)),
    *cases("FusedBatchNormV3", x(2, 3, 4, 5), *_STATISTICS, is_training=False, data_format="NCHW", xla=True, outputs=(0,)),
    *cases("FusedBatchNormV2 FusedBatchNormV3", x(2, 4, 5, 3), *_HALVES, is_training=False, types="float16 bfloat16",
           outputs=(0,)),
    *cases("FusedBatchNormGrad FusedBatchNormGradV2", x(2, 3, 2, 3), x(2, 3, 2, 3), *_STATISTICS[:2], x(3, low=0.3, high=2.0),
           is_training=each(True, False), outputs=(0, 1, 2)),
    *cases("FusedBatchNormGradV3", x(2, 3, 2, 3), x(2, 3, 2, 3), *_STATISTICS[:2], x(3, low=0.3, high=2.0), x(0),
           is_training=each(True, False), outputs=(0, 1, 2)),
    *cases("BatchNormWithGlobalNormalization", x(2, 4, 5, 3), x(3), x(3, low=0.3, high=2.0), x(3), x(3), variance_epsilon=1e-3,
           scale_after_normalization=each(True, False)),
    *cases("LRN", x(1, 3, 2, 8), depth_radius=each(1, 2, 5), bias=each(1.0, 2.0), alpha=0.5, beta=each(0.5, 0.75)),
    *cases("LRN", x(1, 3, 2, 4)),
]
