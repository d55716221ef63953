"""Running custom operations: by the kernel of the dialect that is named as their domain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import RunError
from ..ir import Op
from ..plugin_host import host

__all__ = ["run_custom"]


def run_custom(op: Op, name: str, options: Mapping[str, Any], arrays: tuple[np.ndarray, ...]) -> Any:
    """Execute a custom op called `name`, `"<domain>.<operator>"`, on arrays.

    Its kernel is the one that the dialect `<domain>` has under that name; it is called as `kernel(op, *arrays,
    options=options)`, with `op` for the types of the results. Raises `RunError` where there is none.
    """
    found = host().kernel(name)
    if found is None:
        raise RunError(
            f"the custom operation {name!r} ({op.called}) cannot be run: nobody here knows what it computes",
            hint="a plugin that does registers a dialect named as its domain, with a kernel of that name")
    return found[0](op, *arrays, options=options)
