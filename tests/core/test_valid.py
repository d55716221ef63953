"""A module that is not valid is refused where a user hands it over, in words, whatever it is for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import F32, Module, TensorType
from transload.ir.verify import check, check_inference
from transload.testing import build_module, build_op

GIVEN = {"x0": np.ones((1, 2, 6, 6), np.float32)}
FILTER = np.ones((4, 2, 3, 3), np.float32)
Use = Callable[[Module, Path], Any]
USES: dict[str, Use] = {
    "run": lambda module, out: transload.run(module, GIVEN),
    "legalize": lambda module, out: transload.legalize(module),
    "lower": lambda module, out: transload.lower(module, "tosa"),
    "convert": lambda module, out: transload.convert(module, "tosa", out),
    "plan": lambda module, out: transload.plan(module, "tosa"),
    "inspect": lambda module, out: transload.inspect(module, "tosa"),
    "partition": lambda module, out: transload.partition(module, lambda op: op.name == "top.Conv"),
    "evaluate": lambda module, out: transload.evaluate([module, module], [GIVEN], metrics=("sqnr",)),
    "calibrate": lambda module, out: transload.calibrate(module, [GIVEN]),
    "quantize": lambda module, out: transload.quantize(module, samples=[GIVEN]),
    "quantization_report": lambda module, out: transload.quantization_report(_network(), module, [GIVEN]),
    "extract": lambda module, out: transload.extract(module, ["y"]),
    "save": lambda module, out: transload.save(module, out / "module.mlir"),
    "compare": lambda module, out: transload.compare("model.onnx", module),
}


def _network() -> Module:
    def build(b: Any, x: Any) -> Any:
        sums = b.emit("top.Conv", x, b.constant(FILTER), kernel_shape=(3, 3), pads=(1, 1, 1, 1))
        return b.emit("top.Softmax", b.emit("top.Relu", sums), axis=1)

    return build_module([TensorType((1, 2, 6, 6), F32)], build)


def _op(module: Module, name: str) -> Any:
    return next(op for op in module.ops() if op.name == f"top.{name}")


def _set(name: str, key: str, value: Any) -> Callable[[Module], None]:
    return lambda module: _op(module, name).attributes.__setitem__(key, value)


def _cycle(module: Module) -> None:
    _op(module, "Relu").operands = (_op(module, "Softmax").result,)


def _foreign(module: Module) -> None:
    _op(module, "Relu").operands = (_op(_network(), "Conv").result,)


def _retyped(module: Module) -> None:
    _op(module, "Conv").result.type = TensorType((1, 2, 3), F32)


DAMAGES: dict[str, tuple[Callable[[Module], None], str]] = {
    "axis": (_set("Softmax", "axis", 7), "axis is a dimension of the input: 7 of"),
    "cycle": (_cycle, "before it is defined, or outside the region that defines it"),
    "foreign": (_foreign, "before it is defined, or outside the region that defines it"),
    "strides of 0": (_set("Conv", "strides", (0, 0)), "strides, dilations and group are positive"),
    "kernel": (_set("Conv", "kernel_shape", (5, 5)), "kernel_shape: 3 and 5 are not the same"),
    "group": (_set("Conv", "group", 2), "input channels and the filter's: 2 and 4 are not the same"),
    "groups": (_set("Conv", "group", 3), "input channels and the filter's: 2 and 6 are not the same"),
    "strides": (_set("Conv", "strides", (2, 2)), r"its result is tensor<1x4x6x6xf32>, and has to be tensor<1x4x3x3xf32>"),
    "type": (_retyped, r"its result is tensor<1x2x3xf32>, and has to be tensor<1x4x6x6xf32>"),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_refused_where_it_is_handed_over(damage: str, use: str, tmp_path: Path) -> None:
    """`lower` took an axis of 7 for 7 % 2, `evaluate` ended in errors of Python, `convert` wrote other sizes than it said."""
    module, (act, why) = _network(), DAMAGES[damage]
    act(module)
    with pytest.raises(ConversionError, match=why) as raised:
        USES[use](module, tmp_path / "out")
    assert raised.value.message.startswith(f"{use}() was given a module that is not valid")
    assert [*map(str, raised.value.findings)] == [*map(str, check(module))]
    assert not list((tmp_path / "out").glob("*.tosa"))


def test_what_a_module_is_given_to_once_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quantizing legalizes, runs a pipeline and samples: none of it looks again at what came in."""
    import transload.valid

    seen: list[str] = []
    given = transload.valid.check
    monkeypatch.setattr(transload.valid, "check", lambda module: (seen.append(""), given(module))[1])
    transload.quantize(_network(), samples=[GIVEN])
    assert len(seen) == 1


def _in_tosa() -> Module:
    """A sum over dimension 1 whose text says dimension 2 now."""
    module = build_module([TensorType((1, 2, 6, 6), F32)], lambda b, x: b.emit("tosa.reduce_sum", x, axis=1))
    next(op for op in module.ops() if op.name == "tosa.reduce_sum").attributes["axis"] = 2
    return module


@pytest.mark.parametrize("use", [name for name in USES if name != "quantization_report"])
def test_other_dialects(use: str, tmp_path: Path) -> None:
    """Only ops of the hub were looked at: artifacts were written whose results have other sizes than they say."""
    with pytest.raises(ConversionError, match="the result has size 1 along the axis") as raised:
        USES[use](_in_tosa(), tmp_path / "out")
    assert raised.value.message.startswith(f"{use}() was given a module that is not valid")
    assert not list((tmp_path / "out").glob("*.tosa"))


def test_ops_that_a_dialect_does_not_have() -> None:
    module = build_module([TensorType((4,), F32)], lambda b, x: b.emit("tosa.abs", x))
    (op,) = [op for op in module.ops() if op.name == "tosa.abs"]
    op.name = "tosa.negat"
    assert [finding.why for finding in check(module)] == ["dialect 'tosa' has no such op; the nearest is 'tosa.negate'"]
    with pytest.raises(ConversionError, match=r"the nearest is .tosa\.negate"):
        transload.lower(module, "top")
    op.name = "nobodys.op"
    assert check(module) == []


def test_results_that_do_not_follow_are_findings_of_check() -> None:
    """Only readers of text looked: `check` was said to have every finding."""
    module = build_op("top.Split", np.zeros((4, 2), np.float32), axis=0, split_size=(1, 3))
    op = _op(module, "Split")
    op.attributes["split_size"] = (2, 2)
    assert [str(finding) for finding in check(module)] == [str(finding) for finding in check_inference(module)]
    assert "its result is tensor<1x2xf32>, and has to be tensor<2x2xf32>" in str(check(module)[0])
    op.attributes["split_size"] = (1, 1, 2)
    assert any("has 2 results, and has to have 3" in finding.why for finding in check(module))
