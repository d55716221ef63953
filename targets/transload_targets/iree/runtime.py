"""IREE's runtime, as it runs in a process of its own: a program loaded, and called.

Source: https://iree.dev/reference/bindings/python/ (package `iree-base-runtime`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transload.errors import RunError

__all__ = ["Session"]


class Session:
    """A `.vmfb` program on a device: called with arrays in order, it gives arrays."""

    def __init__(self, path: str, driver: str) -> None:
        from iree import runtime

        try:
            config = runtime.Config(driver)
        except Exception as error:  # ValueError: no driver; RuntimeError, because of what a driver said: no device
            raise RunError(f"IREE finds no device for {driver}: {_first_line(error.__cause__ or error)}") from None
        try:
            self._context = runtime.SystemContext(config=config)
            module = runtime.VmModule.mmap(self._context.instance, path)
            self._context.add_vm_module(module)
        except Exception as error:  # ValueError: damaged, or of another version or device
            raise RunError(f"{path}: IREE cannot load the program: {_first_line(error)}") from None
        self._function = self._context.modules[module.name]["main"]

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        try:
            given: Any = self._function(*arrays)
        except Exception as error:  # whatever it says of shapes, types and devices
            raise RunError(f"IREE stopped: {_first_line(error)}") from None
        results = given if isinstance(given, list | tuple) else [given]
        return [np.asarray(result.to_host()) for result in results]


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:300]
