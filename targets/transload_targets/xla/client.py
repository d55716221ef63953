"""The PJRT client of this process: programs in, arrays in and out, without jax."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from transload.errors import RunError

__all__ = ["Program", "available"]


def available() -> str | None:
    """None, or what to install."""
    return None if importlib.util.find_spec("jaxlib") is not None else "jaxlib is not installed: pip install 'transload[xla]'"


@lru_cache(maxsize=1)
def _client() -> tuple[Any, Any, Any]:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # its start-up lines are no news to a user
    import jaxlib._jax as runtime
    from jaxlib import xla_client

    client = xla_client.make_cpu_client()
    return client, xla_client, runtime


class _Lent:
    """A device's array as one that numpy can read."""

    def __init__(self, buffer: Any, runtime: Any) -> None:
        self.buffer = buffer
        self.runtime = runtime

    def __dlpack__(self, **_: Any) -> Any:
        return self.runtime.buffer_to_dlpack_managed_tensor(self.buffer)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class Program:
    """A compiled program. Raises `RunError` with what XLA says where it does not compile."""

    def __init__(self, text: str, what: str) -> None:
        client, xla_client, self.runtime = _client()
        self.device = client.devices()[0]
        try:
            devices = xla_client.DeviceList((self.device,))
            self.executable = client.compile_and_load(text, devices, xla_client.CompileOptions())
        except Exception as error:  # XlaRuntimeError, ValueError: the program is not one that XLA takes
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            raise RunError(f"{what}: XLA cannot compile it: {'; '.join(lines[:3])[:800]}") from None

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Run on arrays of the parameters' shapes and dtypes."""
        buffers = [
            self.runtime.dlpack_managed_tensor_to_buffer(_writable(array).__dlpack__(), self.device, None) for array in arrays
        ]
        try:
            shards = self.executable.execute_sharded(buffers).disassemble_into_single_device_arrays()
        except Exception as error:  # XlaRuntimeError
            raise RunError(f"XLA stopped: {str(error).strip()[:800]}") from None
        return [np.array(np.from_dlpack(_Lent(shard[0], self.runtime))) for shard in shards]


def _writable(array: np.ndarray) -> np.ndarray:
    """A contiguous array that may be handed over: dlpack takes no read-only ones."""
    out = np.ascontiguousarray(array).reshape(np.shape(array))
    return out if out.flags.writeable else out.copy()
