"""Looking at models in the library: what they are, and what a target says of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import transload
from transload.context import Context
from transload.errors import ConversionError, Finding, TargetError, UsageError
from transload.ir import F32, I32, Module, TensorType
from transload.plugin import Target
from transload.plugin_host import Host
from transload.plugin_host import host as host_of_now
from transload.testing.models import build_module

FOUR = TensorType((4,), F32)


class Chip(Target):
    """Takes what has no Relu of more than `most` numbers."""

    name = "chip"
    accepts = ("top",)

    def options(self) -> dict[str, Any]:
        return {"most": (int, 3, "numbers at most")}

    def check(self, module: Module, options: Mapping[str, Any]) -> Sequence[Finding]:
        return [Finding(op.name, f"has more than {options['most']} numbers", (op.origin or "",)) for op in module.ops()
                if op.name == "top.Relu" and op.input.shape[0] > options["most"]]

    def emit(self, *given: Any) -> Any:
        raise AssertionError("nothing is to be written")


@pytest.fixture(autouse=True)
def host() -> Iterator[None]:
    made = Host(points=[])
    made.targets["chip"] = Chip()
    with Context(made).bind():
        yield


def rectified() -> Module:
    return build_module([FOUR], lambda b, x: b.emit("top.Relu", b.emit("top.Neg", x)))


def test_what_a_module_is():
    found = transload.inspect(rectified())
    assert (found.dialect, found.inputs, found.outputs) == ("top", {"x0": FOUR}, {"y": FOUR})
    assert found.ops == {"top.Neg": 1, "top.Relu": 1} and found.constant_bytes == 0 and found.functions == ("main",)
    assert found.target is None and found.takes is None and found.findings == ()
    assert str(found).splitlines()[:2] == ["top: 2 ops, 0 bytes of constants", "  input x0: tensor<4xf32>"]


def test_what_a_target_cannot_take():
    module = rectified()
    found = transload.inspect(module, "chip")
    assert found.takes is False and isinstance(found.refusal, TargetError)
    assert [(finding.what, finding.why) for finding in found.findings] == [("top.Relu", "has more than 3 numbers")]
    assert "target 'chip' cannot take this model\n  - top.Relu" in str(found)
    assert transload.inspect(module, "chip", options={"most": 4}).takes is True
    assert transload.inspect(module).ops == found.ops, "the module stays as it is"


def test_a_target_that_lacks_its_tools_says_nothing_of_the_model():
    """Its check had been asked all the same, and every op been refused for the import that failed."""
    class Toolless(Chip):
        name = "toolless"
        there = False

        def available(self) -> str | None:
            return None if self.there else "the compiler is not installed: pip install compiler"

    chip = Toolless()
    host_of_now().targets["toolless"] = chip
    with pytest.raises(UsageError, match="target 'toolless' cannot be used: the compiler is not installed"):
        transload.inspect(rectified(), "toolless")
    assert transload.inspect(rectified(), "toolless", options={"most": 4}).takes is True, "what it can say without them"
    chip.there = True
    assert transload.inspect(rectified(), "toolless").takes is False


def test_what_has_no_way_to_a_target():
    module = build_module([TensorType((4,), I32)], lambda b, x: b.emit("nobodys.op", x, types=[x.type]))
    found = transload.inspect(module, "chip")
    assert found.takes is False and type(found.refusal) is ConversionError
    assert "no conversions lead from 'nobodys' to 'top'" in str(found.refusal)


def test_files_and_names(tmp_path: Path):
    file = tmp_path / "m.mlir"
    transload.save(rectified(), file)
    assert transload.inspect(file, "chip").takes is False
    with pytest.raises(UsageError, match="chap"):
        transload.inspect(file, "chap")
    with pytest.raises(UsageError, match="say which target"):
        transload.inspect(file, options={"most": 4})
    with pytest.raises(UsageError, match="moist"):
        transload.inspect(file, "chip", options={"moist": 4})
