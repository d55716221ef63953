"""Writing the digits network as TFLite files, in float32 and in int8."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from network import CHANNELS, CLASSES, DEPTH_MULTIPLIER, FLATTENED, IMAGE_SIZE, POOL, WIDE_CHANNELS, Arrays
from transload_converters.tflite.writer import ModelWriter, Quantization

#: Shapes of the feature maps of one image, in the order in which they are computed.
_MAP_SHAPES = {
    "image": (1, IMAGE_SIZE, IMAGE_SIZE, 1),
    "conv1": (1, 8, 8, CHANNELS),
    "depthwise": (1, 4, 4, WIDE_CHANNELS),
    "pointwise": (1, 4, 4, WIDE_CHANNELS),
    "residual": (1, 4, 4, WIDE_CHANNELS),
    "pooled": (1, 2, 2, WIDE_CHANNELS),
    "flattened": (1, FLATTENED),
    "logits": (1, CLASSES),
    "probabilities": (1, CLASSES),
}

#: The operator versions in which int8 kernels appeared (``tensorflow/lite/tools/versioning/op_version.cc``).
#: In float32 everything that is used here is in version 1.
_INT8_VERSIONS = {
    "CONV_2D": 3,
    "DEPTHWISE_CONV_2D": 3,
    "ADD": 2,
    "AVERAGE_POOL_2D": 2,
    "FULLY_CONNECTED": 4,
    "SOFTMAX": 2,
}


def float_model(parameters: Arrays) -> bytes:
    """Return the TFLite file of the float32 network, given its weights and biases."""
    constants = {name: values.astype(np.float32) for name, values in parameters.items()}
    return _model("Digits network, float32", "float32", constants, {})


def int8_model(constants: Arrays, quantizations: Mapping[str, Quantization]) -> bytes:
    """Return the TFLite file of the int8 network, given what ``quantization.quantize_network`` returned."""
    return _model("Digits network, int8", "int8", constants, quantizations)


def _model(
    description: str, dtype: str, constants: Arrays, quantizations: Mapping[str, Quantization]
) -> bytes:
    """Write the network with feature maps of the type ``dtype``; all tensors are known by name."""
    model = ModelWriter(description)
    tensors: dict[str, int] = {}
    for name, shape in _MAP_SHAPES.items():
        signature = (-1, *shape[1:])
        tensors[name] = model.add_tensor(name, shape, dtype, None, quantizations.get(name), signature)
    for name, values in constants.items():
        quantization = quantizations.get(name)
        tensors[name] = model.add_tensor(name, values.shape, values.dtype, values, quantization)
    new_shape = np.array([-1, FLATTENED], np.int32)
    tensors["flattened_shape"] = model.add_tensor("flattened_shape", (2,), "int32", new_shape)

    def add(operator: str, inputs: str, output: str, **options: object) -> None:
        """Add an operator; ``inputs`` are tensor names with spaces between them."""
        version = _INT8_VERSIONS.get(operator, 1) if dtype == "int8" else 1
        operands = [tensors[name] for name in inputs.split()]
        model.add_operator(operator, operands, [tensors[output]], options, version=version)

    same = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    relu = {"fused_activation_function": "RELU"}
    add("CONV_2D", "image conv1_weights conv1_bias", "conv1", **same, **relu)
    add(
        "DEPTHWISE_CONV_2D",
        "conv1 depthwise_weights depthwise_bias",
        "depthwise",
        padding="SAME",
        stride_h=2,
        stride_w=2,
        depth_multiplier=DEPTH_MULTIPLIER,
    )
    add("CONV_2D", "depthwise pointwise_weights pointwise_bias", "pointwise", **same, **relu)
    add("ADD", "depthwise pointwise", "residual")
    pool = {"filter_height": POOL, "filter_width": POOL, "stride_h": POOL, "stride_w": POOL}
    add("AVERAGE_POOL_2D", "residual", "pooled", padding="VALID", **pool)
    add("RESHAPE", "pooled flattened_shape", "flattened", new_shape=new_shape)
    add("FULLY_CONNECTED", "flattened logits_weights logits_bias", "logits")
    add("SOFTMAX", "logits", "probabilities", beta=1.0)

    image, probabilities = tensors["image"], tensors["probabilities"]
    model.inputs, model.outputs = [image], [probabilities]
    model.add_signature("serving_default", {"image": image}, {"probabilities": probabilities})
    return model.finish()
