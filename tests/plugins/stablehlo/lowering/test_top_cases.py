"""Every case of the tests of `top` passes through the lowering: the tests themselves, run with another `run_op`.

Each case is executed by its own kernel, as there, and then lowered and executed by StableHLO's kernels; some, and in
a long run all of them, by XLA too.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_in(3)  # the same cases as the hub's own

CASES = sorted((Path(__file__).parents[3] / "hub" / "kernels").glob("test_*.py"))


def _tests_of(path: Path) -> dict[str, object]:
    """The tests of a file that run ops, and the fixtures that it has for them."""
    module = importlib.import_module(f"tests.hub.kernels.{path.stem}")
    fixtures = {
        name: value for name, value in vars(module).items() if hasattr(value, "_get_wrapped_function") and name not in globals()}
    return fixtures | {
        f"{name}__{path.stem.removeprefix('test_')}": function
        for name, function in vars(module).items()
        if name.startswith("test_") and inspect.isfunction(function) and "run_op" in inspect.signature(function).parameters
    }


for _path in CASES:
    globals().update(_tests_of(_path))
