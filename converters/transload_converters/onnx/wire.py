"""What is known of an ONNX file before it is parsed: whether it is one, and where its large weights lie.

Field numbers: ModelProto.graph = 7, GraphProto.initializer = 5, TensorProto.raw_data = 9 (onnx.proto).
"""

from __future__ import annotations

import re
from pathlib import Path

from transload.protobuf import cut_out

__all__ = ["RawData", "cut_out_raw_data", "detect"]

_RAW_DATA_OF_INITIALIZERS = {7: {5: {9: None}}}
_LARGE = 4096
"""Bytes from which a weight is cut out; smaller ones may hold shapes that shape inference needs."""

RawData = dict[int, memoryview]
"""Raw bytes by the initializer's place in the graph."""

_SAVED_MODEL = re.compile(rb"\x08\x01\x12[\x80-\xff]*[\x00-\x7f]\x0a")
_SECOND_FIELDS = {0x12, 0x1A, 0x22, 0x28, 0x32, 0x3A, 0x42, 0x72}
"""Tags that can follow `ir_version` in a ModelProto."""


def detect(head: bytes, path: Path | None = None) -> bool:
    """Whether a file's first bytes look like an ONNX model: `ir_version`, as writers put first, and a field of a model.

    Core ML's messages begin in the same way, and files of them are told by their names. So do SavedModels, whose second field
    holds a message where a model has the name of its producer.
    """
    if (path is not None and path.suffix.lower() == ".mlmodel") or _SAVED_MODEL.match(head):
        return False
    return len(head) > 2 and head[0] == 0x08 and 1 <= head[1] <= 64 and head[2] in _SECOND_FIELDS


def cut_out_raw_data(data: memoryview) -> tuple[bytes | memoryview, RawData]:
    """A serialized model without its large weights, and those weights as views of `data`."""
    text, cuts = cut_out(data, _RAW_DATA_OF_INITIALIZERS, large=_LARGE)
    if any(cut.places[0] > 0 for cut in cuts):  # several graphs, which a parser joins: places would not be theirs
        return data, {}
    return text, {cut.places[1]: cut.content for cut in cuts}
