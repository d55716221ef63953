"""PyTorch's other files, which are pickles, and how a program is made of what they hold."""

from __future__ import annotations

import re
from pathlib import Path

from transload.files import archive_names
from transload.plugin import ForeignFormat

__all__ = ["FORMATS", "is_torch"]

FORMATS = (
    ForeignFormat(
        "torch", "a file of PyTorch",
        "it runs code when it is loaded, and may hold weights without a network; where the network is defined, load it and "
        "export "
        "it: program = torch.export.export(model.eval(), (example_input,)); torch.export.save(program, 'model.pt2')",
        (".pt", ".pth"), "transload_converters.pytorch.foreign:is_torch"),
)


def is_torch(head: bytes, path: Path) -> bool:
    """What `torch.save` and `torch.jit.save` write: an archive with a pickle in it, or, before 2020, a pickle."""
    if head.startswith(b"PK"):
        return any(name.endswith(("/data.pkl", "/constants.pkl")) for name in archive_names(path))
    return re.match(rb"\x80[\x02-\x05]", head) is not None and path.suffix.lower() in (".pt", ".pth", ".bin", ".tar")
