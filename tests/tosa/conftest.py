"""Graphs of one TOSA op, run by our kernels and by the TOSA reference model."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transload.ir import I32, I48, Module, TensorType, element_type_of, new_module, set_results, verify
from transload.ir.build import Builder
from transload_plugins.tosa.build import const, rescale, shape_const


def _load(name: str) -> Any:
    """A module beside this file; test folders are no packages."""
    spec = importlib.util.spec_from_file_location(f"tosa_{name}", Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    sys.modules[spec.name] = module  # type: ignore[union-attr]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


catalogue = _load("catalogue")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with an argument `case` runs on each case of the catalogue."""
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", catalogue.all_cases(), ids=str)


def build_case(case: Any) -> tuple[Module, list[np.ndarray]]:
    """A module whose function is the case's op, and its inputs x0, x1, ..."""
    module = new_module()
    arrays = [operand for operand in case.operands if isinstance(operand, np.ndarray)]
    function = module.add_function(
        "main", [TensorType(array.shape, element_type_of(array.dtype)) for array in arrays],
        [f"x{i}" for i in range(len(arrays))])
    block = function.regions[0].block
    builder = Builder(block)
    arguments: Iterator[Any] = iter(block.arguments)
    values = []
    for operand in case.operands:
        if isinstance(operand, catalogue.Const):
            values.append(const(builder, operand.array, operand.element))
        elif isinstance(operand, catalogue.Shape):
            values.append(shape_const(builder, operand.sizes))
        else:
            values.append(next(arguments))
    results = builder.emit(case.op, *values, element=case.element, **case.attributes)
    results = results if isinstance(results, tuple) else (results,)
    # The reference model cannot hand out i48: such a result goes through a rescale by 1, which keeps i32 numbers.
    handed = [rescale(builder, value, [1 << 14], [14], 0, 0, I32) if value.element == I48 else value for value in results]
    set_results(function, handed, [f"y{index}" for index in range(len(handed))])
    verify(module)
    return module, arrays


@pytest.fixture(scope="session")
def built() -> Callable[[Any], tuple[Module, list[np.ndarray]]]:
    """`built(case) -> (module, inputs)`."""
    return build_case


@pytest.fixture(scope="session")
def cases() -> list[Any]:
    """The whole catalogue."""
    return catalogue.all_cases()


def _plain(array: np.ndarray) -> np.ndarray:
    """Bits of the small floats, which the reference model takes as integers."""
    array = np.ascontiguousarray(array)
    builtin = array.dtype in (np.bool_, np.int8, np.int16, np.int32, np.int64, np.float16, np.float32)
    return array if builtin else array.view(f"uint{8 * array.dtype.itemsize}")


@pytest.fixture(scope="session")
def reference_model() -> Callable[[bytes, list[np.ndarray]], list[np.ndarray]]:
    """`run(file, inputs) -> outputs` by the TOSA reference model; fails where it finds the graph wrong."""
    package = pytest.importorskip("tosa_reference_model", reason="install tosa-tools to judge against the TOSA reference model")

    def run(data: bytes, inputs: list[np.ndarray]) -> list[np.ndarray]:
        outputs, status = package.run(data, [_plain(array) for array in inputs])
        assert status == package.GraphStatus.TOSA_VALID, f"reference model: {status.name}"
        return outputs

    return run


@pytest.fixture(scope="session")
def tosa_opt() -> str:
    """Path of `tosa-opt`; the test is skipped where there is none."""
    import shutil

    found = shutil.which("tosa-opt") or shutil.which("tosa-opt", path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip("install tosa-tools for tosa-opt")
    return found
