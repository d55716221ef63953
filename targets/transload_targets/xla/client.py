"""Compiled programs of PJRT: arrays in and out, without jax."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from transload.budget import check_deadline, timed
from transload.errors import RunError
from transload.worker import ChildLate, Limits, Worker

from .platforms import Device, device_of

__all__ = ["STRICT", "XLA", "Compiled", "Isolated", "Program", "warm"]

_NEEDS = "transload_targets", "numpy", "ml_dtypes", "jaxlib"
_FIRST = "transload_targets.xla.client", "jaxlib.xla_client", "jaxlib._jax"
XLA = Worker("XLA", needs=_NEEDS, first=_FIRST)
"""The process of the judge. Its programs are other people's; those that the engine `xla` runs here are what our own conversions
make, or have passed the verifier, and `allowed` in either case."""
_RUNS = Worker("XLA", needs=_NEEDS, first=_FIRST, limits=Limits(seconds=7 * 24 * 3600.0))
"""The process of the engine: what an execution may take ends its runs (`timed`), and a user may allow hours."""

STRICT: dict[str, dict[str, Any]] = {
    "cpu": {
        "xla_allow_excess_precision": False,  # an f16 or bf16 in the program is rounded where the program says so
        "xla_cpu_enable_fast_math": False,
        "xla_cpu_enable_fast_min_max": False,  # NaN stays NaN
    },
    "gpu": {"xla_allow_excess_precision": False, "xla_gpu_enable_fast_min_max": False},
    "tpu": {"xla_allow_excess_precision": False},
}
"""Options under which a program computes what it says: no contraction, reassociation or wider intermediates than written."""

FAST: dict[str, dict[str, Any]] = {
    "cpu": {"xla_cpu_experimental_ynn_fusion_type": ""},  # Eigen's products of floats are the faster ones
    "gpu": {},
    "tpu": {},
}
"""Options that change nothing but the time it takes."""

_ALIGNMENT = 64
"""Bytes at a multiple of which an array has to begin for XLA's CPU client to use it without a copy."""


class Program:
    """A compiled program. `RunError` says what XLA says where it does not compile.

    `text` is a module of StableHLO in text or bytecode whose function `main` is to be run; `what` names it in messages.
    """

    def __init__(self, text: str | bytes, what: str, platform: str = "cpu", options: Mapping[str, Any] | None = None) -> None:
        self.on: Device = device_of(platform)
        wanted = {**STRICT[platform], **FAST[platform], **(options or {})}
        try:
            try:
                self.executable = self._compiled(text, wanted)
            except Exception as error:  # XlaRuntimeError; raised again unless it is about an option
                if "No such compile option" not in str(error):
                    raise
                # Another version of XLA, which does not know what makes this one faster.
                self.executable = self._compiled(text, {**STRICT[platform], **(options or {})})
        except Exception as error:  # XlaRuntimeError, ValueError: the program is not one that XLA takes
            raise RunError(f"{what}: XLA cannot compile it: {_first_lines(error)}") from None

    @classmethod
    def load(cls, data: bytes, what: str, platform: str) -> Program:
        """A program from what `serialized` gave. `RunError` where this XLA or device does not take it."""
        self = cls.__new__(cls)
        self.on = device_of(platform)
        client, xla_client = self.on.client, self.on.xla_client
        try:
            self.executable = client.deserialize_executable(
                data, xla_client.DeviceList((self.on.device,)), xla_client.CompileOptions())
        except Exception as error:  # XlaRuntimeError: of another version, or damaged
            raise RunError(f"{what}: is not a program for this device and version of XLA: {_first_lines(error)}") from None
        return self

    def _compiled(self, text: str | bytes, options: Mapping[str, Any]) -> Any:
        xla_client = self.on.xla_client
        settings = xla_client.CompileOptions()
        settings.env_option_overrides = list(options.items())
        return self.on.client.compile_and_load(text, xla_client.DeviceList((self.on.device,)), settings)

    def place(self, array: np.ndarray) -> Any:
        """An array as one on the device; where that is the host and the array is aligned, without a copy.

        Until the results are fetched, the array is not to be changed.
        """
        return _place(self.on, array)

    def start(self, buffers: Sequence[Any]) -> list[Any]:
        """Begin to run on arrays that are on the device; the results are there when they are fetched."""
        try:
            return [shard[0] for shard in self.executable.execute_sharded(buffers).disassemble_into_single_device_arrays()]
        except Exception as error:  # XlaRuntimeError
            raise RunError(f"XLA stopped: {_first_lines(error)}") from None

    def fetch(self, results: Sequence[Any]) -> list[np.ndarray]:
        """Results as arrays of numpy, when they are there."""
        try:
            return [np.array(result._single_device_array_to_np_array_did_copy()[0]) for result in results]
        except Exception as error:  # XlaRuntimeError: what went wrong while it ran
            raise RunError(f"XLA stopped: {_first_lines(error)}") from None

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Run on arrays of the parameters' shapes and dtypes."""
        return self.fetch(self.start([self.place(array) for array in arrays]))

    def serialized(self) -> bytes | None:
        """The compiled program as bytes that the same version of XLA loads on such a device; None where it gives none."""
        try:
            return bytes(self.on.client.serialize_executable(self.executable))
        except Exception:  # XlaRuntimeError: the platform does not serialize
            return None

    def facts(self) -> dict[str, float | int]:
        """What XLA says of the program: operations, bytes moved, bytes of memory; what it does not say is left out."""
        facts: dict[str, float | int] = {}
        try:
            costs = self.executable.cost_analysis()
            memory = self.executable.get_compiled_memory_stats()
        except Exception:  # XlaRuntimeError: the platform does not tell
            return facts
        costs = costs[0] if isinstance(costs, list) and costs else costs
        for name, key in (("flops", "flops"), ("transcendentals", "transcendentals"), ("bytes_accessed", "bytes accessed")):
            if isinstance(costs, dict) and key in costs:
                facts[name] = int(costs[key])
        for name in ("argument", "output", "temp", "generated_code"):
            facts[f"{name}_bytes"] = int(getattr(memory, f"{name}_size_in_bytes"))
        return facts


def warm() -> None:
    """Start the process that a verification will need."""
    XLA.start()


class Isolated:
    """A program compiled and run in a process of its own, with its constants; `ChildEnded` where it brings that down.

    The process is ended where a run takes longer than an execution may, which nothing else ends: `TimeOver`.
    """

    def __init__(
        self, text: str, what: str, platform: str, options: Mapping[str, Any], constants: Sequence[np.ndarray],
    ) -> None:
        self._there = _RUNS.open("transload_targets.xla.client:Compiled", text, what, platform, dict(options), list(constants))

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        with timed():
            try:
                found: list[np.ndarray] = self._there(list(arrays))
            except ChildLate:
                check_deadline()
                raise
        return found


class Compiled:
    """A program and its constants, which it takes behind its inputs."""

    def __init__(
        self, text: str, what: str, platform: str, options: Mapping[str, Any], constants: Sequence[np.ndarray],
    ) -> None:
        self.program = Program(text, what, platform, options)
        self.resident = [self.program.place(array) for array in constants]

    def start(self, arrays: Sequence[np.ndarray]) -> list[Any]:
        """Begin to run on the inputs."""
        return self.program.start([*map(self.program.place, arrays), *self.resident])

    def fetch(self, results: Sequence[Any]) -> list[np.ndarray]:
        """The results, when they are there."""
        return self.program.fetch(results)

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        return self.fetch(self.start(arrays))


class _Described:
    """Shape and dtype of an array, by the names that the runtime asks for."""

    weak_type = False

    def __init__(self, array: np.ndarray) -> None:
        self.shape, self.dtype = array.shape, array.dtype


@lru_cache(maxsize=4)
def _sharding(on: Device) -> Any:
    """All of an array on one device, as the runtime wants it said."""

    class OneDevice(on.runtime.SingleDeviceSharding):  # type: ignore[name-defined]
        memory_kind = None

        def _to_xla_hlo_sharding(self, rank: int) -> Any:
            return on.xla_client.HloSharding.replicate()

    return OneDevice(on.device, None)


def _place(on: Device, array: np.ndarray) -> Any:
    array = np.ascontiguousarray(array).reshape(np.shape(array))
    if on.platform == "cpu" and array.ctypes.data % _ALIGNMENT:
        array = _aligned(array)  # XLA would copy it too, but on another thread, which takes longer to wake than to copy
    if hasattr(on.client, "buffer_from_pyval"):  # jaxlib for Python 3.10, whose other way asks jax how wide numbers may be
        return on.client.buffer_from_pyval(array, on.device)
    return on.runtime.batched_device_put(_Described(array), _sharding(on), [array], [on.device], enable_x64=True)


def _aligned(array: np.ndarray) -> np.ndarray:
    """A copy where XLA takes an array of the host as it is."""
    room = np.empty(array.nbytes + _ALIGNMENT, np.uint8)
    start = -room.ctypes.data % _ALIGNMENT
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def _first_lines(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return "; ".join(lines[:3])[:800] or type(error).__name__
