"""Every layer with its options, against what Keras computed for it (`tests/support/keras_layers/record.py`)."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import transload
from transload.ir import Module

from tests.support.keras_layers.models import archive, inputs_of, shown
from tests.support.keras_layers.recorded import RECORDED

pytest.importorskip("h5py")

TOLERANCE = 2e-5
"""Of the greatest number of an output, and 1: sums are rounded in another order."""

CASES: dict[str, list[dict[str, Any]]] = defaultdict(list)
for _case in json.loads(gzip.decompress(RECORDED.read_bytes())):
    CASES[_case["name"].rpartition("-")[0]].append(_case)


def loaded(case: dict[str, Any]) -> Module:
    names = [layer["config"]["name"] for layer in case["config"]["config"]["layers"] if layer["class_name"] == "InputLayer"]
    shapes = {name: tuple(shape) for name, shape in zip(names, case["inputs"], strict=True)}
    return transload.load(text=archive(case["config"], case["variables"]), format="keras", inputs=shapes)


def check(case: dict[str, Any]) -> None:
    given = inputs_of(case["name"], case["inputs"], case["integers"], case["way"].startswith("masked"))
    module = loaded(case)
    for form in (module, transload.legalize(module)):
        made = list(transload.run(form, dict(zip(form.inputs, given, strict=True))).values())
        assert [list(array.shape) for array in made] == case["shapes"], case["name"]
        for array, wanted in zip(made, case["outputs"], strict=True):
            expected, found = np.array(wanted, np.float64), shown(array)
            nowhere = np.isnan(expected)  # the mean of no steps
            assert np.array_equal(np.isnan(found), nowhere), case["name"]
            expected, found = expected[~nowhere], found[~nowhere]
            assert np.abs(found - expected).max() <= TOLERANCE * (1 + np.abs(expected).max()), case["name"]


@pytest.mark.parametrize("layer", CASES)
def test_keras_agrees(layer: str) -> None:
    for case in CASES[layer]:
        check(case)
