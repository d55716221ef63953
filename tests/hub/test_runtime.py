"""Modules of the hub in MLIR text are verified: their conversions have to give what the reference engine does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.context import Context
from transload.errors import RunError
from transload.ir import F32, Module
from transload.plugin import Emitted, Target
from transload.plugin_host import Host

from tests.support.graphs import summing
from tests.support.litert import run_litert


@pytest.fixture
def samples(examples: Path) -> list[dict[str, np.ndarray]]:
    images = np.load(examples / "digits" / "test_images.npz")["images"][:24] / np.float32(16)
    return [{"image": image.reshape(1, 1, 8, 8)} for image in images]


@pytest.fixture(params=[{}, {"quant_input": True, "quant_output": True}], ids=["float ends", "integer ends"])
def quantized(
    request: pytest.FixtureRequest, examples: Path, samples: list[dict[str, np.ndarray]], tmp_path: Path,
) -> Path:
    model = transload.load(examples / "digits" / "digits_float.onnx")
    return transload.save(transload.quantize(model, "int8", samples, **request.param), tmp_path / "lq.mlir")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("target", ["tosa", "tflite", "onnx", "stablehlo"])
def test_a_quantized_module_is_converted_and_verified(quantized: Path, target: str, tmp_path: Path) -> None:
    found = transload.convert(quantized, target, tmp_path / target, verify="require").verification
    assert (found.status, found.runtime) == ("passed", "hub-reference")
    assert all(tensor.metrics["max_abs"] == 0 for tensor in found.tensors)
    compared = transload.compare(quantized, tmp_path / target, per_layer=target == "tosa")
    assert compared.reference == "hub-reference" and compared.worst("max_abs") == 0


def test_litert_gives_the_numbers_that_judge(quantized: Path, tmp_path: Path) -> None:
    module = transload.load(quantized)
    transload.convert(quantized, "tflite", tmp_path / "out", verify="no")
    given = next(iter(module.inputs.values()))
    image = np.random.default_rng(0).integers(-128, 128, given.static_shape).astype(np.int8)
    if given.element is F32:
        image = (image.astype(np.float32) + 128) / np.float32(255)
    wanted = transload.run(module, {"image": image}, engine="reference")
    (actual,) = run_litert((tmp_path / "out" / "lq.tflite").read_bytes(), [image])
    np.testing.assert_array_equal(actual, wanted["probabilities"])


class Wrong(Target):
    """A chip whose runtime is off by a step or more."""

    name, doc, accepts = "chip", "A toy.", ("tosa",)

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        return Emitted([transload.save(module, directory / f"{stem}.tosa")], {})

    def run(self, emitted: Emitted, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:  # type: ignore[override]
        return {name: array[..., ::-1].copy() for name, array in transload.run(emitted.files[0], inputs).items()}


def test_what_gives_something_else_fails(quantized: Path, tmp_path: Path) -> None:
    host = Host()
    host.targets["chip"] = Wrong()
    with Context(host).bind():
        assert transload.convert(quantized, "chip", tmp_path / "out").verification.failed


TEXT = """
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<?x2xf32>, tensor<2xf32>) -> (tensor<?x2xf32>, tensor<2xf32>), sym_name = "main",
    arg_attrs = [{ml_program.identifier = "x"}, {ml_program.identifier = "total"}],
    res_attrs = [{ml_program.identifier = "y"}, {ml_program.identifier = "total_next"}]}> ({
  ^bb0(%x: tensor<?x2xf32>, %total: tensor<2xf32>):
    %y = "top.Add"(%x, %total) : (tensor<?x2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
    %next = "top.Mul"(%total, %total) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "func.return"(%y, %next) : (tensor<?x2xf32>, tensor<2xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""


def test_sizes_that_are_open_and_other_functions(tmp_path: Path) -> None:
    (tmp_path / "sum.mlir").write_text(TEXT)
    (tmp_path / "named.mlir").write_text(TEXT.replace('"main"', '"forward"'))
    for name, function in (("sum", None), ("named", "forward")):
        found = transload.convert(
            tmp_path / f"{name}.mlir", "tosa", tmp_path / name, inputs={"x": (3, 2)}, function=function).verification
        assert (found.status, found.tensors[0].shape) == ("passed", (3, 2)), found.why


def test_states_stay_within(tmp_path: Path) -> None:
    path = transload.save(summing(), tmp_path / "sum.mlir")
    found = transload.convert(path, "tosa", tmp_path / "out").verification
    assert (found.status, [tensor.name for tensor in found.tensors]) == ("passed", ["y0"]), found.why
    assert [tensor.name for tensor in transload.compare(path, tmp_path / "out").tensors] == ["y0"]


def test_a_module_of_another_dialect_is_not_the_hubs_to_judge(tmp_path: Path) -> None:
    (tmp_path / "onnx.mlir").write_text(TEXT.replace("top.Add", "onnx.Add").replace("top.Mul", "onnx.Mul"))
    with pytest.raises(RunError, match=r"has ops of onnx, .*`transload convert MODEL --outputs NAMES` judges it"):
        transload.compare(tmp_path / "onnx.mlir", tmp_path / "onnx.mlir")
    assert "has ops of onnx" in transload.convert(tmp_path / "onnx.mlir", "tosa", tmp_path / "out").verification.why


def test_nor_is_one_of_several_dialects(tmp_path: Path) -> None:
    (tmp_path / "both.mlir").write_text(TEXT.replace("?x2x", "2x").replace("top.Mul", "tosa.sub"))
    assert "has ops of tosa" in transload.convert(tmp_path / "both.mlir", "tosa", tmp_path / "out").verification.why
