"""Special functions by series, gradients of pooling, resizing and padding, what is written in place, dimensions by layouts."""

from __future__ import annotations

import numpy as np

from .spec import cases, each, ints, values, x

_WINDOWS = [{"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1]}, {"ksize": [1, 3, 2, 1], "strides": [1, 2, 1, 1]}]
_RESIZES = [{}, {"align_corners": True}, {"half_pixel_centers": True}]
_UNORDERED = values([[[[3, 1], [0, 7], [9, 2], [4, 4]], [[8, 5], [6, 3], [1, 1], [2, 9]], [[5, 5], [7, 2], [3, 8], [0, 6]],
                      [[2, 4], [4, 0], [8, 6], [1, 3]]]], "float32")
_NUMBERS = np.arange(64.0).reshape(1, 4, 4, 4, 1)
_CUBE, _CORNERS = values(_NUMBERS, "float32"), values(_NUMBERS[:, 1::2, 1::2, 1::2], "float32")

CASES = [
    *cases("Digamma", on=[(x(3, 4, low=0.1, high=9),), (x(7, low=-4.9, high=-0.1),), (values([0.0, -1.0, 1.0, 30.0]),)]),
    *cases("BesselI0e BesselI1e BesselI0 BesselI1", x(4, 5, low=-20, high=20), types="float32 float64"),
    *cases("Erfinv", on=[(x(4, 5, low=-0.99, high=0.99),), (values([1.0, -1.0, 0.0, 0.9999]),)], types="float32 float64"),
    *cases("Ndtri", x(4, 5, low=0.01, high=0.99)),
    *cases("NextAfter", on=[(x(4, 3), x(3)), (values([0.0, 1.0, -1.0, 2.0]), values([-1.0, 1.0, 0.0, 2.5]))],
           types="float32 float64", hub_only=True),
    *cases("TruncateDiv", x(3, 4), values([1.5, -0.7, 2.0, -3.0]), types="float32 float64"),
    *cases("MaxPoolGrad", _UNORDERED, x(1, 2, 2, 2), x(1, 2, 2, 2), ways=_WINDOWS[:1], padding=each("SAME", "VALID")),
    *cases("MaxPoolGrad", _UNORDERED, x(1, 2, 4, 2), x(1, 2, 4, 2), ways=_WINDOWS[1:], padding="SAME"),
    *cases("MaxPoolGradV2", _UNORDERED, x(1, 2, 2, 2), x(1, 2, 2, 2), ints(1, 2, 2, 1), ints(1, 2, 2, 1), padding="SAME"),
    *cases("MaxPool3DGrad", _CUBE, _CORNERS, x(1, 2, 2, 2, 1), ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1],
           padding="VALID"),
    *cases("ResizeBilinearGrad", on=[(x(1, 6, 5, 2), x(1, 3, 4, 2)), (x(1, 2, 3, 1), x(1, 5, 4, 1))], ways=_RESIZES),
    *cases("ResizeNearestNeighborGrad", on=[(x(1, 6, 5, 2), ints(3, 4)), (x(1, 2, 3, 1), ints(5, 4))], ways=_RESIZES),
    *cases("MirrorPadGrad", x(5, 7), values([[1, 1], [2, 0]], "int32").const, mode=each("REFLECT", "SYMMETRIC")),
    *cases("InplaceUpdate InplaceAdd InplaceSub", x(4, 3), ints(2, 0), x(2, 3), types="float32 int32"),
    *cases("UnravelIndex", values([1, 5, 3, 0], "int32"), ints(2, 3)),
    *cases("DataFormatDimMap", values([0, 1, 3, -1], "int32"), src_format=each("NHWC", "NCHW"), dst_format=each("NCHW", "HWNC")),
    *cases("DataFormatVecPermute", values([7, 4, 9, 3], "int32"), src_format="NHWC", dst_format=each("NCHW", "HWNC")),
    *cases("DataFormatVecPermute", values([7, 4], "int32"), src_format="NHWC", dst_format="NCHW"),
    *cases("ApproxTopK", x(3, 8), k=each(1, 3), reduction_dimension=each(-1, 1), is_max_k=each(True, False), xla=True),
    *cases("_FusedConv2D", x(1, 5, 6, 3), x(2, 3, 3, 4), x(4), strides=[1, 1, 2, 1], padding=each("SAME", "VALID"),
           fused_ops=each(["BiasAdd"], ["BiasAdd", "Relu"], ["BiasAdd", "Relu6"], ["BiasAdd", "Elu"]), num_args=1,
           num_host_args=0),
    *cases("_FusedConv2D", x(1, 5, 6, 3), x(2, 3, 3, 4), x(4, low=0.5, high=2), x(4), x(4), x(4, low=0.5, high=2),
           strides=[1, 1, 1, 1], padding="SAME", fused_ops=each(["FusedBatchNorm"], ["FusedBatchNorm", "Relu"]), num_args=4,
           num_host_args=0, epsilon=0.01),
    *cases("_FusedMatMul", x(3, 4), x(4, 5), x(5), num_args=1,
           fused_ops=each(["BiasAdd"], ["BiasAdd", "Relu"], ["BiasAdd", "Tanh"], ["BiasAdd", "LeakyRelu"])),
    *cases("AccumulateNV2", x(2, 3), x(2, 3), shape=(2, 3)),
    *cases("GuaranteeConst", x(2, 3)),
    *cases("Empty", ints(2, 3), dtype="float32", init=True),
    *cases("QuantizeAndDequantize", x(3, 4), input_min=-2.0, input_max=2.0, range_given=True),
    *cases("Copy CopyHost DebugIdentityV2", x(2, 3)),
    *cases("CheckNumericsV2", x(2, 3), message="a number"),
    *cases("ToBool", on=[(values([3.0]),), (x(2, 3),), (values([0.0]),)], xla=True),
]
