"""The ways a network goes, and how near it must come out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import transload
from transload.contents import op_counts
from transload.ir import Module, input_names

RELATIVE = 1e-5
"""How far a result may be from the framework's own, as a part of its greatest number."""


def assert_near(results: Sequence[np.ndarray], wanted: Sequence[np.ndarray], what: str) -> None:
    """Check results: integers exactly, floats within `RELATIVE`."""
    assert len(results) == len(wanted)
    for place, (result, expected) in enumerate(zip(results, wanted, strict=True)):
        assert result.shape == expected.shape, f"{what}, output {place}"
        if expected.dtype.kind != "f":
            np.testing.assert_array_equal(result, expected, err_msg=f"{what}, output {place}")
            continue
        largest = float(np.abs(expected).max(initial=1e-30))
        error = float(np.abs(result.astype(np.float64) - expected).max(initial=0)) / largest
        assert error <= RELATIVE, f"{what}, output {place}: off by {error:.2e} of the greatest number"


def fitted(module: Module, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Inputs of 64 bits in what a module takes in their place."""
    dtypes = {"i32": np.int32, "f32": np.float32}
    arguments = module.body_of_main.arguments
    return [np.asarray(a.astype(dtypes.get(str(v.element), a.dtype)), order="C") for a, v in zip(inputs, arguments, strict=True)]


def run(module: Module, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Results of the reference engine, in order."""
    return list(transload.run(module, dict(zip(input_names(module.main), fitted(module, inputs), strict=True)),
                              engine="reference").values())


class Journey:
    """One network on all its ways, each checked against what its framework computed."""

    def __init__(self, text: bytes, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        self.inputs, self.outputs = list(inputs), list(outputs)
        self.source = transload.load(text=text, format="stablehlo")
        self.top = transload.legalize(self.source)

    def __call__(self, judge: Any) -> None:
        assert_near(run(self.source, self.inputs), self.outputs, "the StableHLO as read")
        assert_near(run(self.top, self.inputs), self.outputs, "the hub")
        tosa = transload.lower(self.top, "tosa")
        assert_near(run(tosa, self.inputs), self.outputs, "TOSA")
        assert_near(judge(tosa, self.inputs), self.outputs, "TOSA in Arm's reference model")
        written = transload.lower(self.top, "stablehlo")
        assert_near(run(written, self.inputs), self.outputs, "StableHLO as written")
        assert_near(run(transload.legalize(written), self.inputs), self.outputs, "the hub again")

    def names(self) -> dict[str, int]:
        """How many ops of each name the hub holds."""
        return {name.partition(".")[2]: count for name, count in op_counts(self.top).items()}
