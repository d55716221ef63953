import numpy as np

import transload
from transload.ir import F32, TensorType
from transload.testing import build_module


def network(b, x):
    return b.emit("top.Softsign", b.emit("top.MaxPool", x, kernel_shape=(2, 2)))


def test_a_network_runs_with_the_chips_own_instruction(tmp_path):
    module = build_module([TensorType((1, 4, 9, 9), F32)], network)
    made = transload.convert(module, "snail", tmp_path / "out")
    assert made.report.target_report["operators"] == {"tpu.max_pool2d": 1, "snail.softsign": 1}
    assert made.report.partition is None  # nothing is left to the host
    (name,) = module.inputs
    x = np.random.default_rng(0).normal(size=(1, 4, 9, 9)).astype(np.float32)
    (wanted,), (got,) = (transload.run(each, {name: x}).values() for each in (module, made.module))
    np.testing.assert_allclose(got, wanted, rtol=1e-6)
