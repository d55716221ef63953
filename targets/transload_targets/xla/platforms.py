"""Which devices XLA can use here: the CPU that jaxlib brings along, and GPUs and TPUs through PJRT plugins.

A plugin is a shared library that a package brings: below the namespace `jax_plugins`, under the entry points of that
name, or `libtpu`. `PJRT_NAMES_AND_LIBRARY_PATHS` (`name:path,name:path`) names others, as it does for JAX.
"""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from transload.errors import RunError
from transload.installed import installed

__all__ = [
    "PLATFORMS", "Device", "available", "available_cpu", "available_gpu", "available_tpu", "best", "device_of", "is_forked",
    "why_not",
]

PLATFORMS = ("cpu", "gpu", "tpu")
_GPU_NAMES = ("cuda", "rocm", "gpu")
_ADVICE = {
    "gpu": "no PJRT plugin for a GPU is installed: pip install 'jax-cuda12-pjrt' (NVIDIA) or 'jax-rocm60-pjrt' (AMD)",
    "tpu": "no PJRT plugin for a TPU is installed: pip install libtpu",
}


@dataclass(frozen=True)
class Device:
    """One device, with the client that compiles for it and the modules of jaxlib that drive it."""

    platform: str
    device: Any
    client: Any
    xla_client: Any
    runtime: Any


def available_cpu() -> str | None:
    """None, or what to install."""
    return None if importlib.util.find_spec("jaxlib") is not None else "jaxlib is not installed: pip install 'transload[xla]'"


available = available_cpu


def available_gpu() -> str | None:
    """None, or why no GPU can be used here."""
    return why_not("gpu")


def available_tpu() -> str | None:
    """None, or why no TPU can be used here."""
    return why_not("tpu")


def why_not(platform: str) -> str | None:
    """None where a platform's devices can be used; else the reason. The first call opens them."""
    missing = available_cpu()
    if missing or platform == "cpu":
        return missing
    try:
        device_of(platform)
    except RunError as error:
        return error.message
    return None


@lru_cache(maxsize=1)
def best() -> str:
    """The platform that `xla` stands for: a GPU or TPU where one can be used, else the CPU.

    Looking is cheap where no plugin is installed.
    """
    return next((platform for platform in ("tpu", "gpu") if _libraries(platform) and why_not(platform) is None), "cpu")


_begun: list[int] = []
"""The processes in which XLA was begun: this one, or one that it was forked from."""


def is_forked() -> bool:
    """Whether XLA was begun in a process that this one was forked from: who waits for its threads, which are not here, hangs."""
    return bool(_begun) and os.getpid() not in _begun


def device_of(platform: str) -> Device:
    """The first device of a platform. `RunError` says why there is none, or that this process is a fork of one that uses XLA."""
    if is_forked():
        raise RunError(
            "XLA was begun in the process that this one was forked from, and does not run in a fork",
            hint="multiprocessing.get_context('spawn') starts processes in which it runs; engine='xla-plain' starts one")
    return _opened(platform)


@lru_cache(maxsize=len(PLATFORMS))
def _opened(platform: str) -> Device:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # its start-up lines are no news to a user
    import jaxlib._jax as runtime
    from jaxlib import xla_client

    if os.getpid() not in _begun:
        _begun.append(os.getpid())
    if platform == "cpu":
        others = _threads()
        client = xla_client.make_cpu_client()
        _spread(_threads() - others)
        return Device(platform, client.devices()[0], client, xla_client, runtime)
    found = _libraries(platform)
    if not found:
        raise RunError(_ADVICE[platform])
    reasons = []
    for name, path in found.items():
        try:
            client = _open(xla_client, platform, name, path)
            return Device(platform, client.devices()[0], client, xla_client, runtime)
        except Exception as error:  # whatever a plugin has to say: no driver, no device, another version of PJRT
            reasons.append(f"{path.name}: {' '.join(str(error).split())[:300]}")
    raise RunError(f"no {platform.upper()} can be used: {'; '.join(reasons)}")


def _threads() -> set[int]:
    """The ids of this process's threads; none where the system does not list them."""
    tasks = Path("/proc/self/task")
    return {int(task.name) for task in tasks.iterdir()} if tasks.is_dir() else set()


def _spread(made: set[int]) -> None:
    """Keep each of the threads among `made` that share the work of an op on a core of its own.

    After a pause, schedulers wake two of them on the core of the thread that woke them, and leave both there for longer
    than most runs take: twice the time on two cores.
    """
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    for _ in range(5):
        workers = [thread for thread in sorted(made) if _name_of_thread(thread).endswith("XLAEigen")]
        if len(workers) == len(cores):
            break
        time.sleep(0.001)  # a thread gives itself its name when it first runs
    else:
        return
    for thread, core in zip(workers, cores, strict=True):
        with suppress(OSError):  # a sandbox that forbids it: slower, but right
            os.sched_setaffinity(thread, {core})


def _name_of_thread(thread: int) -> str:
    try:
        return Path(f"/proc/self/task/{thread}/comm").read_text().strip()
    except OSError:  # it has ended
        return ""


def _open(xla_client: Any, platform: str, name: str, path: Path) -> Any:
    if not xla_client.pjrt_plugin_loaded(name):
        xla_client.load_pjrt_plugin_dynamically(name, str(path))
    if not xla_client.pjrt_plugin_initialized(name):
        xla_client.initialize_pjrt_plugin(name)
    options = xla_client.generate_pjrt_gpu_plugin_options() if platform == "gpu" else {}
    if platform == "gpu":
        options["platform_name"] = name
    client = xla_client.make_c_api_client(name, options)
    if not client.devices():
        raise RuntimeError("it finds no device")
    return client


def _libraries(platform: str) -> dict[str, Path]:
    """The plugins of a platform by name: those the environment names, then those that packages bring."""
    found: dict[str, Path] = {}
    for name, path in [*_from_environment(), *_from_packages()]:
        kind = "tpu" if "tpu" in name else "gpu" if name in _GPU_NAMES else name
        if kind == platform and path.is_file():
            found.setdefault(name, path)
    return found


def _from_environment() -> Iterator[tuple[str, Path]]:
    for entry in os.environ.get("PJRT_NAMES_AND_LIBRARY_PATHS", "").split(","):
        name, _, path = entry.partition(":")
        if name and path:
            yield name.strip(), Path(path.strip())
    if os.environ.get("TPU_LIBRARY_PATH"):
        yield "tpu", Path(os.environ["TPU_LIBRARY_PATH"])


def _from_packages() -> Iterator[tuple[str, Path]]:
    """Libraries in packages of plugins; the packages' own code, which needs jax, is not run."""
    places: list[Path] = []
    spec = _spec("jax_plugins")
    for root in spec.submodule_search_locations or () if spec is not None else ():
        places += sorted(path for path in Path(root).iterdir() if path.is_dir()) if Path(root).is_dir() else []
    for entry in installed("jax_plugins")[0]:
        spec = _spec(entry.module)
        if spec is not None and spec.origin:
            places.append(Path(spec.origin).parent)
    for place in places:
        for library in sorted([*place.glob("*plugin*.so"), *place.glob("*pjrt*.so")]):
            yield _name_of(f"{place.name} {library.name}"), library
    spec = _spec("libtpu")
    for root in spec.submodule_search_locations or () if spec is not None else ():
        yield "tpu", Path(root) / "libtpu.so"


def _spec(module: str) -> Any:
    try:
        return importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return None


def _name_of(text: str) -> str:
    """The name that a plugin's library goes by, from the names of its package and file."""
    return next((name for name in ("cuda", "rocm", "tpu") if name in text.lower()), text.split()[0])
