"""The targets xla-*: what they write, what they report, and that it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import UsageError
from transload.plugin import Emitted
from transload.plugin_host import host

from tests.targets.xla.xla_programs import dense, program, tensor


def scaled() -> Any:
    numbers = np.arange(600, dtype=np.float32)
    type_ = tensor((600,), "f32")
    return program([type_], [
        f"%c = stablehlo.constant {dense(numbers, 'f32')}",
        f"%y = stablehlo.multiply %a0, %c : {type_}",
        "%z = stablehlo.convert %y : (tensor<600xf32>) -> tensor<600xbf16>",
    ], [("%z", tensor((600,), "bf16"))])


def test_the_compiled_program_runs(tmp_path: Path) -> None:
    module = scaled()
    artifact = transload.convert(module, "xla-cpu", tmp_path / "out")
    names = {path.suffix for path in artifact.files}
    assert {".mlirbc", ".xla", ".npz", ".json"} <= names
    report = artifact.report.target_report
    assert report["platform"] == "cpu" and report["flops"] > 0 and report["argument_bytes"] == 4800
    assert report["compile_seconds"] > 0
    name = transload.ir.input_names(module.main)[0]
    x = {name: np.full(600, 2, np.float32)}
    target = host().get("targets", "xla-cpu")
    emitted = Emitted([path for path in artifact.files if path.suffix != ".json"], report)
    for mine, theirs in zip(
            target.run(emitted, x).values(), transload.run(module, x, engine="reference").values(), strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)
    again = transload.load(next(path for path in artifact.files if path.suffix == ".mlirbc"))
    given = dict(zip(transload.ir.input_names(again.main), x.values(), strict=True))
    assert len(transload.run(again, given, engine="xla")) == 1
    with pytest.raises(transload.TransloadError, match="missing"):
        target.run(emitted, {})
    damaged = next(path for path in emitted.files if path.suffix == ".xla")
    damaged.write_bytes(b"not a program")
    with pytest.raises(transload.TransloadError, match="not a program"):
        target.run(emitted, x)


def test_what_cannot_be_given_to_a_device_is_a_finding(tmp_path: Path) -> None:
    text = "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {\n  return %a : tensor<?xf32>\n}"
    module = transload.load(text=text, format="stablehlo")
    with pytest.raises(transload.TransloadError, match="cannot take"):
        transload.convert(module, "xla-cpu", tmp_path / "out")
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["report.json"]


@pytest.mark.parametrize("name", ["xla-gpu", "xla-tpu"])
def test_without_a_device_nothing_is_written(name: str, tmp_path: Path) -> None:
    if host().get("targets", name).available() is None:
        pytest.skip("there is one")
    with pytest.raises(UsageError, match=name):
        transload.convert(scaled(), name, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_program_is_judged_in_whichever_form_it_is_printed(tmp_path: Path) -> None:
    """Generic text, which core reads, is StableHLO as pretty text is; what has the hub's ops is the hub's."""
    text = tmp_path / "generic.mlir"
    transload.save(scaled(), text)
    assert text.read_text().startswith('"builtin.module"')
    verification = transload.convert(text, "tosa", tmp_path / "out").verification
    assert (verification.status, verification.runtime) == ("passed", "xla")
    mixed = tmp_path / "mixed.mlir"
    transload.save(transload.legalize(scaled()), mixed)
    verification = transload.convert(mixed, "tosa", tmp_path / "out").verification
    assert (verification.status, verification.runtime) == ("passed", "hub-reference")
