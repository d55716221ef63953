"""Independent judges as fixtures; a test that asks for one is skipped where it is not installed."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.support import tosa_reference


@pytest.fixture(scope="session")
def iree() -> Callable[..., list[np.ndarray]]:
    """`run(path, inputs)`: a file of StableHLO compiled by IREE for this CPU, and run."""
    compiler = pytest.importorskip("iree.compiler", reason="IREE's compiler is not installed")
    runtime = pytest.importorskip("iree.runtime", reason="IREE's runtime is not installed")

    def run(path: Path, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        code = compiler.compile_file(
            str(path), input_type="stablehlo", target_backends=["llvm-cpu"], extra_args=["--iree-llvmcpu-target-cpu=generic"])
        context = runtime.SystemContext(config=runtime.Config("local-task"))
        context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, code))
        found = context.modules.module["main"](*inputs)
        return [np.asarray(output.to_host()) for output in (found if isinstance(found, list | tuple) else [found])]

    return run


@pytest.fixture(scope="session")
def reference_model() -> Callable[[bytes, list[np.ndarray]], list[np.ndarray]]:
    """`run(file, inputs) -> outputs` by the TOSA reference model; fails where it finds the graph wrong."""
    tosa_reference.reference_model()
    return tosa_reference.run_file


@pytest.fixture(scope="session")
def tosa_opt() -> str:
    """Path of `tosa-opt`; the test is skipped where there is none."""
    found = shutil.which("tosa-opt") or shutil.which("tosa-opt", path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip("install tosa-tools for tosa-opt")
    return found
