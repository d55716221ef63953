"""What a process that others are forked off has done before: everything that a conversion loads is there."""

from __future__ import annotations

import os

import numpy as np

import transload_converters.tflite.schema  # noqa: F401
from transload.api import lower, run

import tests.fuzz.cases
import tests.fuzz.single  # noqa: F401
from tests.support.onnx_models import make_model, node, read_model

if os.environ.get("OPENBLAS_NUM_THREADS") == "1":  # threads of a library's own are not there behind a fork
    module = read_model(make_model([node("Relu", ["x"], ["y"])], {"x": np.zeros((1, 4), np.float32)}, ["y"]))
    for dialect in ("tosa", "stablehlo", "tfl"):
        run(lower(module, dialect), {"x": np.zeros((1, 4), np.float32)}, engine="reference")
