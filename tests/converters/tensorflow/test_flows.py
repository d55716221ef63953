"""Random control flow of TensorFlow 1, with tensorflow's recorded results (`make test-tf` runs 500 graphs live)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.tensorflow_flows import agree, random_graph, results

RECORDED = json.loads(Path(__file__).with_name("flows.json").read_text())


@pytest.mark.parametrize("seed", range(len(RECORDED)))
def test_random_control_flow_is_as_in_tensorflow(seed: int) -> None:
    before, after = results(random_graph(seed))
    assert agree(before, RECORDED[seed]) and agree(after, RECORDED[seed])
