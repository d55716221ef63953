"""The MLIR text of the `tosa` target, compiled and run by an independent compiler, IREE."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.verification.inputs import random_inputs

from tests.support.tflite_models import write_operator


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["digits_int8.tflite", "digits_float.tflite", "digits_float.onnx", ""])
def test_iree_takes_our_text_and_computes_the_same(name, examples, tmp_path):
    compiler = pytest.importorskip("iree.compiler", reason="IREE's compiler is not installed")
    runtime = pytest.importorskip("iree.runtime", reason="IREE's runtime is not installed")
    model = examples / "digits" / name if name else tmp_path / "unsigned.tflite"
    if not name:
        tensor = ((1, 4), "uint8", None, ([0.05], [100]))
        model.write_bytes(write_operator("ADD", [tensor, tensor], [tensor]))
    artifact = transload.convert(model, "tosa", tmp_path, verify=False, options={"mlir": True})
    (text,) = [file for file in artifact.files if file.suffix == ".mlir"]
    inputs = random_inputs(artifact.module)
    program = compiler.compile_file(
        str(text), input_type="tosa", target_backends=["llvm-cpu"], extra_args=["--iree-llvmcpu-target-cpu=generic"])
    context = runtime.SystemContext(config=runtime.Config("local-task"))
    context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, program))
    given = [array.view(np.int8) if array.dtype == np.uint8 else array for array in inputs.values()]  # the same bits
    (expected,) = transload.run(artifact.module, inputs).values()
    output = np.asarray(context.modules.module["main"](*given).to_host())
    output = output.view(np.uint8) if expected.dtype == np.uint8 else output
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-6)
    else:
        np.testing.assert_array_equal(output, expected)
