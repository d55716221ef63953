"""The pass `layout` runs on modules, and must leave what they compute."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from transload.api import run
from transload.ir import Module, verify
from transload_hub.layout.change import change_layout

from tests.hub.layout.networks import names


def feed(module: Module, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {f"x{i}": rng.normal(size=v.shape).astype(np.float32) for i, v in enumerate(module.body_of_main.arguments)}


@pytest.fixture
def turned() -> Callable[..., Module]:
    """`turned(module, to="NHWC", permutes=None)`: the module after the pass, which computes the same with so many Permutes."""

    def turn(module: Module, to: str = "NHWC", permutes: int | None = None) -> Module:
        given = feed(module)
        wanted = run(module, given)
        made = module.clone()
        types = made.main.attributes["function_type"]
        changed = change_layout(made, to)
        verify(made)
        assert made.main.attributes["function_type"] == types
        got = run(made, given)
        assert list(got) == list(wanted)
        for name, array in wanted.items():
            np.testing.assert_allclose(got[name], array, rtol=1e-4, atol=1e-5)
        for op in made.ops():
            declared = op.declaration.attributes.get("layout")
            assert declared is None or op.layout == to or not declared.kind.accepts(to)
        if permutes is not None:
            assert names(made).count("Permute") == permutes, names(made)
        assert changed or names(made) == names(module)
        return made

    return turn
