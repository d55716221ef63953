"""Files of TOSA, and MLIR text of it, are verified: their conversions have to give what the kernels do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.context import Context
from transload.ir import UI8, Module
from transload.plugin import Emitted, Target
from transload.plugin_host import Host

from tests.plugins.tosa.test_control import counter
from tests.support.graphs import Graph

SUFFIXES = pytest.mark.parametrize("suffix", [".tosa", ".mlir"])


def unsigned() -> Module:
    """Bytes and their sums, cut off at 255."""
    graph = Graph((2, 3), (2, 3), element=UI8)
    return transload.lower(graph.done(graph.Add(*graph.inputs), graph.inputs[0]), "tosa")


@SUFFIXES
@pytest.mark.parametrize("target", ["onnx", "tflite", "tosa"])
def test_a_file_is_converted_and_verified(target: str, suffix: str, examples: Path, tmp_path: Path) -> None:
    module = transload.lower(transload.load(examples / "digits" / "digits_int8.tflite"), "tosa")
    path = transload.save(module, tmp_path / f"digits{suffix}")
    found = transload.convert(path, target, tmp_path / "out", verify="require").verification
    assert (found.status, found.runtime) == ("passed", "tosa-reference")
    compared = transload.compare(path, tmp_path / "out", per_layer=target == "tosa")
    assert compared.reference == "tosa-reference" and compared.worst("max_abs") <= 1


@SUFFIXES
@pytest.mark.parametrize("target", ["onnx", "tflite"])
def test_unsigned_borders(target: str, suffix: str, tmp_path: Path) -> None:
    path = transload.save(unsigned(), tmp_path / f"m{suffix}")
    found = transload.convert(path, target, tmp_path / "out").verification
    assert (found.status, found.runtime) == ("passed", "tosa-reference"), found.why


class Wrong(Target):
    """A chip whose runtime gives another order."""

    name, doc, accepts = "chip", "A toy.", ("tosa",)

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        return Emitted([transload.save(module, directory / f"{stem}.tosa")], {})

    def run(self, emitted: Emitted, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:  # type: ignore[override]
        return {name: array[..., ::-1].copy() for name, array in transload.run(emitted.files[0], inputs).items()}


@SUFFIXES
def test_what_gives_something_else_fails(suffix: str, tmp_path: Path) -> None:
    host = Host()
    host.targets["chip"] = Wrong()
    path = transload.save(unsigned(), tmp_path / f"m{suffix}")
    with Context(host).bind():
        assert transload.convert(path, "chip", tmp_path / "out").verification.failed


@SUFFIXES
@pytest.mark.parametrize("target", ["stablehlo", "tosa"])
def test_variables_begin_anew_at_each_run(target: str, suffix: str, tmp_path: Path) -> None:
    path = transload.save(counter(), tmp_path / f"m{suffix}")
    found = transload.convert(path, target, tmp_path / "out").verification
    assert (found.status, [tensor.name for tensor in found.tensors]) == ("passed", ["out"]), found.why


def test_a_variable_without_a_value_is_not_judged(tmp_path: Path) -> None:
    path = transload.save(counter(initial=False), tmp_path / "m.tosa")
    found = transload.convert(path, "stablehlo", tmp_path / "out").verification
    assert found.status == "skipped" and "is read before it is written" in found.why


TEXT = """
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<?x2xf32>, tensor<1x2xf32>) -> tensor<?x2xf32>, sym_name = "main",
    arg_attrs = [{ml_program.identifier = "x"}, {ml_program.identifier = "y"}], res_attrs = [{ml_program.identifier = "z"}]}> ({
  ^bb0(%x: tensor<?x2xf32>, %y: tensor<1x2xf32>):
    %z = "tosa.add"(%x, %y) : (tensor<?x2xf32>, tensor<1x2xf32>) -> tensor<?x2xf32>
    "func.return"(%z) : (tensor<?x2xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""


def test_sizes_that_are_open_and_other_functions(tmp_path: Path) -> None:
    (tmp_path / "sum.mlir").write_text(TEXT)
    (tmp_path / "named.mlir").write_text(TEXT.replace('"main"', '"forward"'))
    for name, function in (("sum", None), ("named", "forward")):
        found = transload.convert(
            tmp_path / f"{name}.mlir", "onnx", tmp_path / name, inputs={"x": (3, 2)}, function=function).verification
        assert (found.status, found.runtime, found.tensors[0].shape) == ("passed", "tosa-reference", (3, 2)), found.why


@SUFFIXES
def test_a_part_is_judged_by_its_file(suffix: str, tmp_path: Path) -> None:
    graph = Graph((2, 3))
    module = transload.lower(
        graph.done(graph.Add(graph.Exp(graph.inputs[0], location="inner"), graph.inputs[0])), "tosa")
    found = transload.convert(
        transload.save(module, tmp_path / f"m{suffix}"), "onnx", tmp_path / "out", outputs=["inner"]).verification
    assert (found.status, [tensor.name for tensor in found.tensors]) == ("passed", ["inner"]), found.why


def test_a_suffix_says_nothing(tmp_path: Path) -> None:
    path = transload.save(unsigned(), tmp_path / "m.tosa").rename(tmp_path / "m.bin")
    found = transload.convert(path, "onnx", tmp_path / "out").verification
    assert (found.status, found.runtime) == ("passed", "tosa-reference"), found.why
