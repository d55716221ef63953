"""The blobs of a `.caffemodel`: whose they are where layers share them, and which shapes fit a layer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("google.protobuf", reason="the package 'protobuf' is not installed")

import transload

from tests.support.caffe_files import net_text, write_net

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1, 4)).astype(np.float32)
WEIGHTS = [RNG.normal(size=(2, 4)).astype(np.float32) for _ in range(2)]
BIASES = [RNG.normal(size=2).astype(np.float32) for _ in range(2)]
TWINS = "".join(
    f'layer {{ name: "{name}" type: "InnerProduct" bottom: "x" top: "{name}" param {{ name: "w" }} param {{ name: "b" }} '
    f"inner_product_param {{ num_output: 2 }} }}\n" for name in ("one", "two"))


@pytest.mark.parametrize(("held", "last"), [
    ({"one": 0}, 0), ({"two": 1}, 1), ({"one": 0, "two": 1}, 1), ({"two": 1, "one": 0}, 0), ({"one": 0, "other": 1}, 0)])
def test_what_layers_share_is_what_the_file_has_last(tmp_path: Path, held: dict[str, int], last: int) -> None:
    """Caffe copies blobs layer by layer, in the file's order, and those of layers that share one into the same memory."""
    blobs = {name: [WEIGHTS[which], BIASES[which]] for name, which in held.items()}
    module = transload.load(write_net(tmp_path, net_text(TWINS, x=X.shape), blobs))
    assert not module.notes and [op.name for op in module.ops()].count("caffe.Blob") == 2
    for value in transload.run(module, {"x": X}).values():
        np.testing.assert_allclose(value, X @ WEIGHTS[last].T + BIASES[last], rtol=1e-5, atol=1e-5)


def test_a_blob_that_is_not_shared_is_still_missing(tmp_path: Path) -> None:
    text = net_text(TWINS.replace(' param { name: "b" }', ""), x=X.shape)
    module = transload.load(write_net(tmp_path, text, {"two": [WEIGHTS[1], BIASES[1]]}))
    (note,) = module.notes
    assert "the weights of 1 layers are missing (one)" in note
