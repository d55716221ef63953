"""What a serialized network says in fields that the schema has no numbers for: a file without text has no names for them.

A field within a layer's parameters may change what is computed. Those that mean nothing for that (`text.IGNORED`), and are in
every serialized network, are known by their numbers in BVLC Caffe and SSD.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["unnamed_fields", "unnamed_messages"]

_MEANINGLESS: dict[str, frozenset[int]] = {
    "BatchNormParameter": frozenset((2,)),  # moving_average_fraction
    "BiasParameter": frozenset((3,)),  # filler
    "ConvolutionParameter": frozenset((7, 8, 15, 17)),  # weight_filler, bias_filler, engine, force_nd_im2col
    "DetectionOutputParameter": frozenset((5, 10, 11)),  # save_output_param, visualize, visualize_threshold
    "EltwiseParameter": frozenset((3,)),  # stable_prod_grad
    "EmbedParameter": frozenset((4, 5)),  # weight_filler, bias_filler
    "InnerProductParameter": frozenset((3, 4)),  # weight_filler, bias_filler
    "LRNParameter": frozenset((6,)),  # engine
    "NormalizeBBoxParameter": frozenset((2,)),  # scale_filler
    "PReLUParameter": frozenset((1,)),  # filler
    "PoolingParameter": frozenset((11,)),  # engine
    "PythonParameter": frozenset((4,)),  # share_in_parallel
    "ReLUParameter": frozenset((2,)),  # engine
    "RecurrentParameter": frozenset((2, 3, 4)),  # weight_filler, bias_filler, debug_info
    "SPPParameter": frozenset((6,)),  # engine
    "ScaleParameter": frozenset((3, 5)),  # filler, bias_filler
    "SoftmaxParameter": frozenset((1,)),  # engine
    # losses, Accuracy, propagate_down and what Sigmoid and TanH have, an engine; of SSD what reads, trains and evaluates
    "LayerParameter": frozenset((11, 101, 102, 105, 114, 116, 124, 127, 200, 201, 205, 207)),
}
_LENGTH_DELIMITED = 2
"""The wire type of messages."""


def unnamed_fields(message: Any, what: str) -> Iterator[tuple[int, str]]:
    """The numbers of fields in a message, and in those within it, that mean something nobody knows, and where they are."""
    from google.protobuf.unknown_fields import UnknownFieldSet

    known = _MEANINGLESS.get(message.DESCRIPTOR.name, frozenset())
    yield from ((number, what) for number in sorted({field.field_number for field in UnknownFieldSet(message)} - known))
    for descriptor, value in message.ListFields():
        if descriptor.message_type is not None:
            for each in value if hasattr(value, "__len__") else [value]:
                yield from unnamed_fields(each, f"{what}.{descriptor.name}")


def unnamed_messages(layer: Any) -> list[int]:
    """The numbers of messages that a layer has and nobody knows: parameters of some fork."""
    from google.protobuf.unknown_fields import UnknownFieldSet

    known = _MEANINGLESS.get(layer.DESCRIPTOR.name, frozenset())
    return sorted({field.field_number for field in UnknownFieldSet(layer) if field.wire_type == _LENGTH_DELIMITED} - known)
