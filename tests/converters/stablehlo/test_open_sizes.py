"""Sizes that a program leaves open: given by `--shape` and `--batch`, 1 for a batch, asked for where nobody knows them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import ReadError, UsageError
from transload.input_shapes import sizes_given

Cli = Callable[..., tuple[int, str, str]]
DATA = Path(__file__).parent / "data"
TEXT = """"builtin.module"() ({
  "func.func"() <{sym_name = "main", function_type = (tensor<SIZESxf32>) -> tensor<SIZESxf32>}> ({
  ^bb0(%x: tensor<SIZESxf32>):
    %0 = "stablehlo.add"(%x, %x) : (tensor<SIZESxf32>, tensor<SIZESxf32>) -> tensor<SIZESxf32>
    "func.return"(%0) : (tensor<SIZESxf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""
FORMATS = ["mlir", "stablehlo"]
"""Text in generic form is read by core's reader, and by StableHLO's own where that is said."""


def written(folder: Path, sizes: str) -> Path:
    (file := folder / "model.mlir").write_text(TEXT.replace("SIZES", sizes))
    return file


@pytest.mark.parametrize("format", FORMATS)
def test_the_batch_is_one_or_what_is_said(tmp_path: Path, cli: Cli, format: str) -> None:
    """`run` told of an option that there is not, and went past --batch and --dim."""
    file = written(tmp_path, "?x3")
    code, shown, told = cli("run", file, "--format", format)
    assert code == 0 and "1x3" in shown and "made 1; --batch SIZE makes it another" in told
    code, shown, told = cli("run", file, "--format", format, "--batch", 2)
    assert code == 0 and "2x3" in shown and "made 2" in told
    code, _, told = cli("run", file, "--format", format, "--dim", "nosuch=2")
    assert code == 2 and "no input has a dimension called 'nosuch'" in told
    code, shown, told = cli("convert", file, "--format", format, "-t", "tosa", "-o", tmp_path / "out")
    assert code == 0 and "tensor<1x3xf32>" in shown, told
    code, shown, told = cli("compare", file, file, "--format", format)
    assert code == 0 and "1x3" in shown, told


@pytest.mark.parametrize("format", FORMATS)
def test_no_size_is_said_in_vain(tmp_path: Path, cli: Cli, format: str) -> None:
    file = written(tmp_path, "2x3")
    for option, why in (("--batch", "4"), "cannot be 4"), (("--dim", "q=4"), "called 'q'"):
        for command in ("run", "inspect"):
            code, _, told = cli(command, file, "--format", format, *option)
            assert code == 2 and why in told, command
    assert cli("run", file, "--format", format, "--batch", 2)[0] == 0


@pytest.mark.parametrize("format", FORMATS)
def test_other_sizes_are_asked_for(tmp_path: Path, cli: Cli, format: str) -> None:
    file = written(tmp_path, "2x?")
    for command in (("run", file), ("convert", file, "-t", "tosa", "-o", tmp_path / "out")):
        code, _, told = cli(*command, "--format", format)
        assert code == 3 and "input 'arg0': has sizes that only the user knows: 2x?" in " ".join(told.split()), told
        assert "--shape arg0:2x" in told
    assert cli("run", file, "--format", format, "--shape", "arg0:2x5")[0] == 0


def test_what_is_loaded_may_stay_open(tmp_path: Path) -> None:
    """And runs with any data; one size that is given decides of the others, too."""
    module = transload.load(written(tmp_path, "?x3"))
    assert transload.run(module, {"arg0": np.ones((4, 3), np.float32)})["result0"].shape == (4, 3)
    with sizes_given(batch=5):
        assert transload.load(written(tmp_path, "?x3")).inputs["arg0"].shape == (5, 3)  # type: ignore[union-attr]
        with pytest.raises(UsageError, match="so it cannot be 5"):
            transload.load(written(tmp_path, "2x3"))


def test_an_export_of_symbolic_shapes(cli: Cli, tmp_path: Path) -> None:
    """What it does not take is said with the shapes that it was read with."""
    pytest.importorskip("jaxlib", reason="its bindings read what our reader does not")
    file = DATA / "symbolic.jaxexport"
    code, _, told = cli("convert", file, "--format", "stablehlo", "-t", "tosa", "-o", tmp_path / "out")
    assert code == 3 and "--shape arg0:" in told
    with pytest.raises(UsageError, match="remainder 1") as caught:
        transload.load(file, format="stablehlo", inputs={"arg0": (3, 5)})
    assert "--shape arg0:3x5" in caught.value.hint and "symbolic.jaxexport" in caught.value.message
    with pytest.raises(ReadError, match="no static shape"), sizes_given(batch=3):
        transload.load(file, format="stablehlo")


@pytest.mark.parametrize("target", ["onnx", "stablehlo", "tosa"])
def test_what_is_written_need_not_have_the_names(tmp_path: Path, cli: Cli, target: str) -> None:
    """--dim and --batch are those of the model: what was made of it has neither, and was refused for that."""
    from onnx import TensorProto, helper, save

    sides = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", "seq"]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", sides[:1], sides[1:])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), file := tmp_path / "m.onnx")
    out, sizes = tmp_path / "out", ("--dim", "seq=5", "--batch", 2)
    code, _, told = cli("convert", file, "-t", target, "-o", out, *sizes)
    assert code == 0, told
    code, shown, told = cli("compare", file, out, *sizes)
    assert code == 0 and "2x5" in shown, told
