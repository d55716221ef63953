"""Functions of TensorFlow between layers of Keras 2 (`TFOpLambda`): each is an operation of Keras 3 by another name."""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import Value

from ..layer import LAYERS, Call, rule_of
from .operations import TWO

_FUNCTIONS = {
    "__operators__.add": "Add", "math.add": "Add", "__operators__.getitem": "GetItem", "math.subtract": "Subtract",
    "math.multiply": "Multiply", "math.divide": "Divide", "math.truediv": "Divide", "math.floordiv": "FloorDivide",
    "math.floormod": "Mod", "math.pow": "Power", "math.maximum": "Maximum", "math.minimum": "Minimum", "math.abs": "Absolute",
    "math.negative": "Negative", "math.sqrt": "Sqrt", "math.rsqrt": "Rsqrt", "math.square": "Square", "math.exp": "Exp",
    "math.log": "Log", "math.log1p": "Log1p", "math.sin": "Sin", "math.cos": "Cos", "math.tanh": "Tanh",
    "math.sigmoid": "Sigmoid", "math.softplus": "Softplus", "math.erf": "Erf", "math.sign": "Sign", "math.floor": "Floor",
    "math.ceil": "Ceil", "math.round": "Round", "math.reciprocal": "Reciprocal", "math.reduce_sum": "Sum",
    "math.reduce_mean": "Mean", "math.reduce_max": "Max", "math.reduce_min": "Min", "math.reduce_prod": "Prod",
    "math.reduce_any": "Any", "math.reduce_all": "All", "math.reduce_variance": "Var", "math.reduce_std": "Std",
    "math.reduce_logsumexp": "Logsumexp", "math.argmax": "Argmax", "math.argmin": "Argmin", "math.cumsum": "Cumsum",
    "math.equal": "Equal", "math.not_equal": "NotEqual", "math.greater": "Greater", "math.greater_equal": "GreaterEqual",
    "math.less": "Less", "math.less_equal": "LessEqual", "math.logical_and": "LogicalAnd", "math.logical_or": "LogicalOr",
    "math.logical_not": "LogicalNot", "math.top_k": "TopK", "math.l2_normalize": "Normalize",
    "linalg.l2_normalize": "Normalize", "nn.l2_normalize": "Normalize", "linalg.matmul": "Matmul", "linalg.norm": "Norm",
    "linalg.tensordot": "Tensordot", "tensordot": "Tensordot", "norm": "Norm", "einsum": "Einsum", "concat": "Concatenate",
    "stack": "Stack", "unstack": "Unstack", "split": "Split", "reshape": "Reshape", "transpose": "Transpose",
    "compat.v1.transpose": "Transpose", "expand_dims": "ExpandDims", "squeeze": "Squeeze", "compat.v1.squeeze": "Squeeze",
    "tile": "Tile", "repeat": "Repeat", "broadcast_to": "BroadcastTo", "pad": "Pad", "compat.v1.pad": "Pad", "cast": "Cast",
    "where": "Where", "clip_by_value": "Clip", "reverse": "Flip", "one_hot": "OneHot", "zeros_like": "ZerosLike",
    "ones_like": "OnesLike", "compat.v1.gather": "Take", "gather": "Take", "identity": "Copy", "stop_gradient": "StopGradient",
    "nn.relu": "Relu", "nn.relu6": "Relu6", "nn.sigmoid": "Sigmoid", "nn.softmax": "Softmax", "nn.log_softmax": "LogSoftmax",
    "nn.leaky_relu": "LeakyRelu", "nn.elu": "Elu", "nn.selu": "Selu", "nn.gelu": "Gelu", "nn.silu": "Silu", "nn.swish": "Silu",
    "nn.tanh": "Tanh", "nn.softplus": "Softplus", "nn.depth_to_space": "DepthToSpace", "nn.space_to_depth": "SpaceToDepth",
    "compat.v1.depth_to_space": "DepthToSpace", "compat.v1.space_to_depth": "SpaceToDepth", "image.resize": "Resize",
    "compat.v1.image.resize": "Resize", "convert_to_tensor": "ConvertToTensor"}
"""Functions of TensorFlow by the names that Keras 2 writes, as operations of Keras 3."""

_NAMES = {"keepdims": ("keep_dims",), "axis": ("dim", "dims"), "subscripts": ("equation",), "x_min": ("clip_value_min",),
          "x_max": ("clip_value_max",), "axes": ("perm",), "num_classes": ("depth",), "repeats": ("multiples",),
          "negative_slope": ("alpha",), "constant_values": (), "x1": ("x",), "x2": ("y", "b")}
"""Arguments of operations by other names."""


_OF_TWO = (*TWO, "Divide", "Matmul", "LogicalAnd", "LogicalOr", "Take", "Tensordot")


@LAYERS.layer("TFOpLambda", casts=False)
def function(call: Call, *given: Any) -> Any:
    """A function of TensorFlow: the first argument stands before, the others have names."""
    name = str(call.config.get("function"))
    known = _FUNCTIONS.get(name)
    if known is None:
        raise Unsupported(f"it calls the function tf.{name[:80]}, which is not known here",
                          "export the model as a SavedModel (model.export) or to ONNX (tf2onnx)")
    arguments = dict(call.arguments)
    rest = list(given)
    for key in ("y", "b", "indices"):
        if key in arguments and len(rest) == 1 and known in _OF_TWO:
            rest.append(arguments.pop(key))
    if known == "Where" and "x" in arguments:
        rest += [arguments.pop("x"), arguments.pop("y", None)]
    if known == "Einsum":
        rest = [call.arguments.get("equation", rest[0])] + [each for each in _leaves(rest) if isinstance(each, Value)]
    if known == "Split" and isinstance(arguments.get("num_or_size_splits"), list):
        arguments["num_or_size_splits"] = list(np.cumsum(arguments["num_or_size_splits"])[:-1].tolist())
    for wanted, others in _NAMES.items():
        for other in others:
            if other in arguments and wanted not in arguments and wanted not in ("x1", "x2"):
                arguments[wanted] = arguments.pop(other)
    inner = Call(call.g, call.layer, call.masks, arguments)
    inner.layer = type(call.layer)(call.layer.name, f"operation_{known}", {"name": call.layer.name}, None)
    inner.config = inner.layer.config
    rule = rule_of(f"operation_{known}")
    if rule is None:
        raise Unsupported(f"it calls the function tf.{name[:80]}, which is not known here")
    return rule.build(inner, *rest)


def _leaves(values: Any) -> list[Any]:
    return [leaf for value in values for leaf in (_leaves(value) if isinstance(value, list | tuple) else [value])]
