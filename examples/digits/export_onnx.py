"""Writing the digits network as an ONNX file."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from network import CLASSES, FLATTENED, IMAGE_SIZE, POOL, WIDE_CHANNELS, Arrays, same_padding

#: The operator set is an older one, so that older runtimes read the file; this is the version of the file
#: format that came with it.
_OPSET = 17
_IR_VERSION = 8


def onnx_model(parameters: Arrays) -> bytes:
    """Return the ONNX file of the float32 network, given its weights and biases.

    ONNX has the channels before height and width. Weights are turned into that order here, and so are those
    of the matrix product, which reads the flattened feature maps in the order of its columns.
    """
    constants = {
        "conv1_weights": parameters["conv1_weights"].transpose(0, 3, 1, 2),
        # [1, 3, 3, C * M] becomes [C * M, 1, 3, 3]: each input channel is a group of M output channels.
        "depthwise_weights": parameters["depthwise_weights"].transpose(3, 0, 1, 2),
        "pointwise_weights": parameters["pointwise_weights"].transpose(0, 3, 1, 2),
        "logits_weights": _columns_by_channel(parameters["logits_weights"]),
    }
    constants |= {name: values for name, values in parameters.items() if name.endswith("_bias")}

    top, bottom = same_padding(IMAGE_SIZE, kernel=3, stride=2)
    groups = parameters["conv1_bias"].size
    three = {"kernel_shape": [3, 3]}
    nodes = [
        _node("Conv", "image conv1_weights conv1_bias", "conv1_sums", pads=[1, 1, 1, 1], **three),
        _node("Relu", "conv1_sums", "conv1"),
        _node(
            "Conv",
            "conv1 depthwise_weights depthwise_bias",
            "depthwise",
            group=groups,
            pads=[top, top, bottom, bottom],
            strides=[2, 2],
            **three,
        ),
        _node("Conv", "depthwise pointwise_weights pointwise_bias", "pointwise_sums", kernel_shape=[1, 1]),
        _node("Relu", "pointwise_sums", "pointwise"),
        _node("Add", "depthwise pointwise", "residual"),
        _node("AveragePool", "residual", "pooled", kernel_shape=[POOL, POOL], strides=[POOL, POOL]),
        _node("Flatten", "pooled", "flattened", axis=1),
        _node("Gemm", "flattened logits_weights logits_bias", "logits", transB=1),
        _node("Softmax", "logits", "probabilities", axis=-1),
    ]
    image_shape: list[str | int | None] = ["batch", 1, IMAGE_SIZE, IMAGE_SIZE]
    graph = helper.make_graph(
        nodes,
        "digits",
        inputs=[helper.make_tensor_value_info("image", TensorProto.FLOAT, image_shape)],
        outputs=[helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", CLASSES])],
        initializer=[
            numpy_helper.from_array(np.ascontiguousarray(values, np.float32), name)
            for name, values in constants.items()
        ],
    )
    model = helper.make_model(
        graph,
        producer_name="transload digits example",
        doc_string="Digits network, float32",
        ir_version=_IR_VERSION,
        opset_imports=[helper.make_opsetid("", _OPSET)],
    )
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString(deterministic=True))


def _node(operator: str, inputs: str, output: str, **attributes: Any) -> onnx.NodeProto:
    """Make a node named after its output; ``inputs`` are tensor names with spaces between them."""
    return helper.make_node(operator, inputs.split(), [output], name=output, **attributes)


def _columns_by_channel(weights: np.ndarray) -> np.ndarray:
    """Put columns that stand for (height, width, channel) into the order (channel, height, width)."""
    return weights.reshape(-1, 2, 2, WIDE_CHANNELS).transpose(0, 3, 1, 2).reshape(-1, FLATTENED)
