"""Activation functions, softmax, gradients of functions, losses."""

from __future__ import annotations

from .spec import cases, each, values, x

_FLOATS = "float32 float16 bfloat16"

CASES = [
    *cases("Relu Relu6 Elu Selu Softplus Softsign LeakyRelu", x(3, 7, low=-8.0, high=8.0), types=_FLOATS),
    *cases("Relu Relu6", x(3, 7), types="int32 int8 int16 uint8"),
    *cases("LeakyRelu", x(2, 5), alpha=each(0.0, 0.01, 0.5)),
    *cases("Softmax LogSoftmax", each(x(4), x(2, 5), x(2, 3, 4)), types=_FLOATS),
    *cases("Softmax LogSoftmax", x(3, 6, low=-40.0, high=40.0)),
    *cases("SigmoidGrad TanhGrad RsqrtGrad SqrtGrad InvGrad ReciprocalGrad", x(3, 4, low=0.1, high=0.9), x(3, 4),
           types="float32 float16"),
    *cases("ReluGrad Relu6Grad EluGrad SeluGrad SoftplusGrad SoftsignGrad LeakyReluGrad", x(3, 4), x(3, 4, low=-8.0, high=8.0),
           types="float32 float16"),
    *cases("LeakyReluGrad", x(3, 4), x(3, 4), alpha=each(0.0, 0.3)),
    *cases("SoftmaxCrossEntropyWithLogits", x(4, 5), x(4, 5, low=0.0, high=1.0), types="float32 float16"),
    *cases("SparseSoftmaxCrossEntropyWithLogits", x(4, 5), each(values([0, 4, 2, 1], "int32"), values([3, 0, 1, 1], "int64"))),
    *cases("L2Loss", each(x(3, 4), x(7), x(2, 2, 2)), types="float32 float16"),
]
