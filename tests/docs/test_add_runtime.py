"""The page on adding a runtime, followed: its files become a package, whose target converts, verifies and refuses."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import transload
from transload.context import Context
from transload.errors import TargetError
from transload.plugin_host import Host

MODEL = """
module {{
  func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {{
    %0 = "stablehlo.abs"(%a) : (tensor<4xf32>) -> tensor<4xf32> loc("size")
    %1 = "{op}"(%0, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("both")
    %2 = "stablehlo.maximum"(%1, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("greater")
    "func.return"(%2) : (tensor<4xf32>) -> ()
  }}
}}
"""


@pytest.fixture
def followed(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """The page's files in a package, and a host that has its target."""
    page = (root / "docs" / "add-runtime.md").read_text(encoding="utf-8")
    files = dict(re.findall(r"`(tally/\w+\.py)`[^\n]*:\n\n```python\n(.*?)```", page, re.DOTALL))
    assert set(files) == {f"tally/{name}.py" for name in ("__init__", "check", "runtime", "target")}
    for name, text in files.items():
        (tmp_path / "package" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "package" / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path / "package")
    host = Host()
    info = host.register(importlib.import_module("tally"), "tally")
    assert (info.error, info.registered) == (None, {"targets": ["tally"]})
    with Context(host).bind():
        yield host
    for name in [name for name in sys.modules if name.partition(".")[0] == "tally"]:
        del sys.modules[name]


def test_a_model_is_written_run_and_verified(followed: Host, tmp_path: Path) -> None:
    pytest.importorskip("jaxlib", reason="the judge of StableHLO is XLA")
    model = tmp_path / "model.mlir"
    model.write_text(MODEL.format(op="stablehlo.add"))
    artifact = transload.convert(model, "tally", tmp_path / "out")
    assert artifact.verification is not None
    assert (artifact.verification.status, artifact.verification.engine) == ("passed", "tally's own runtime")
    assert artifact.report.target_report["steps"] == 3
    assert sorted(file.name for file in artifact.files) == ["model.json", "report.json"]


def test_what_it_cannot_take_is_told_before_it_is_written(followed: Host, tmp_path: Path) -> None:
    model = tmp_path / "model.mlir"
    model.write_text(MODEL.format(op="stablehlo.multiply"))
    with pytest.raises(TargetError) as caught:
        transload.convert(model, "tally", tmp_path / "out")
    assert [(finding.what, finding.names) for finding in caught.value.findings] == [("stablehlo.multiply", ("both",))]
    assert not (tmp_path / "out" / "model.json").exists()
