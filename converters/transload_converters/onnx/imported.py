"""onnxruntime, which is not to tell its maker what it runs."""

from __future__ import annotations

import os
from typing import Any

__all__ = ["onnxruntime"]

_SILENT = "ORT_DISABLE_TELEMETRY"
"""From 1.32 on onnxruntime, unless this is set before it is imported, keeps events of each session in the user's folders, with
paths, errors and names of nodes, and sends them. Its `disable_telemetry_events` comes too late, and ends none of that."""


def onnxruntime() -> Any:
    """The package, imported so that it sends and keeps nothing, unless the user's environment says otherwise."""
    os.environ.setdefault(_SILENT, "1")
    import onnxruntime as found

    return found
