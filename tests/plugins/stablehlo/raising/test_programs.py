"""Programs that JAX exported (`make_programs.py`), on the hub and through TOSA, against what JAX computed."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload

from tests.plugins.stablehlo.raising import raising

HERE = Path(__file__).parent
NAMES = sorted(path.stem for path in (HERE / "programs").glob("*.mlir"))
LOOSE = {"matmul_bf16": 2e-2, "solve": 1e-4, "erf_inv": 1e-4}


@pytest.fixture(scope="module")
def data() -> Any:
    with np.load(HERE / "programs.npz") as held:
        return dict(held)


def _arrays(data: dict[str, Any], name: str, side: str) -> list[Any]:
    found = []
    while f"{name}/{side}{len(found)}" in data:
        found.append(data[f"{name}/{side}{len(found)}"])
    return found


@pytest.mark.parametrize("name", NAMES)
def test_program(name: str, data: dict[str, Any]) -> None:
    module = raising.load((HERE / "programs" / f"{name}.mlir").read_text())
    given, wanted = _arrays(data, name, "in"), _arrays(data, name, "out")
    top = transload.legalize(module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for form in (top, transload.lower(top, "tosa")):
            computed = raising.run(form, given)
            assert len(computed) == len(wanted)
            for mine, theirs in zip(computed, wanted, strict=True):
                near = raising.as_dtype(mine, theirs.dtype)
                if theirs.dtype.kind in "biu":
                    np.testing.assert_array_equal(near, theirs)
                else:
                    rtol = LOOSE.get(name, 2e-5)
                    scale = max(1.0, float(np.abs(theirs[np.isfinite(theirs)]).max(initial=0)))
                    np.testing.assert_allclose(near, theirs, rtol=rtol, atol=rtol * scale / 2)
