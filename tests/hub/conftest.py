"""Fixtures of the tests of the hub."""

from tests.support.hub_ops import make_op, near, onnx_op, rng, run_op, top_dialect  # noqa: F401 - fixtures
