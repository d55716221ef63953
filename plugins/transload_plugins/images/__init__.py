"""What comes before and after a network that sees images, as parts of it: pixels made numbers, numbers made boxes."""

from __future__ import annotations

from typing import Any

from transload.hookspecs import hookimpl
from transload.plugin import Pass

_HERE = __name__


@hookimpl
def register_passes(register: Any) -> None:
    register(Pass(
        "fuse-preprocess", f"{_HERE}.preprocess:fuse_preprocess",
        "Have an input take uint8 pixels: what makes numbers of them becomes part of the graph."))
    register(Pass(
        "add-postprocess", f"{_HERE}.postprocess:add_postprocess",
        "Have a detector give boxes: what its heads give is decoded, and the best kept of those that overlap."))
