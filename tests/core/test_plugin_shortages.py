"""Memory that there is not for a plugin, and `Unsupported` outside of rules: both are told with the plugin's name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
import transload.cli
from transload.analysis.intervals import result_intervals
from transload.errors import ConversionError, PluginFailure, PluginShortage, TransloadError, Unsupported
from transload.ir import F32, Module, TensorType
from transload.ir.declare import TENSOR, AttributeKind, Dialect, attribute, constraint, operand, result
from transload.ir.verify import check
from transload.plugin import Calibrator, DialectSpec, Engine, Metric, Pass, Quantizer, Runtime, Score, Target, Writer
from transload.testing import build_op
from transload.text import parse_module

from tests.support.plugins import beside_ours, module_of, raising

pytestmark = pytest.mark.plugin_fails

VECTOR = TensorType((2,), F32)
X = np.ones(2, np.float32)
MODULE = module_of("top.Relu")


class Chip(Target):
    name, doc, accepts = "acme-chip", "A chip.", ("top",)

    def emit(self, module: Module, directory: Path, stem: str, options: Any) -> Any:
        raise MemoryError


class Careful(Chip):
    def check(self, module: Module, options: Any) -> Any:
        raise MemoryError("three of it")


def _ran_pass() -> None:
    from transload.passes.manager import Pipeline

    Pipeline.parse("acme-pass").run(module_of("top.Relu"))


def _dialect(**how: Any) -> Dialect:
    """One of an op, `Op`: `how` says how its result types follow, what is asked of it, and what its attribute may be."""
    dialect = Dialect("acme")

    class Op:
        """An op."""

        x = operand("x", TENSOR)
        y = result("y", TENSOR)
        n = attribute(AttributeKind("n", how.get("accepts", lambda value: True)), "n", optional=True)

    for name, member in (("infer", how.get("infer")), ("asked", how.get("asked"))):
        if member is not None:
            setattr(Op, name, member)
    dialect.op("Op")(Op)
    return dialect


def _asked(error: BaseException) -> Any:
    @constraint
    def asked(op: Any) -> bool:
        """it is asked"""
        raise error

    return asked


def _facts(kind: str, error: BaseException) -> dict[str, Any]:
    return {"dialects": [DialectSpec("acme", _dialect())],
            "facts": [transload.Facts(kind, "acme", {"acme.Op": raising(error)})]}


def _built(**how: Any) -> Module:
    return build_op("acme.Op", X, **how)


def _interval() -> Any:
    return result_intervals(next(_built(types=[VECTOR]).ops()), [(0.0, 1.0)])


def _parsed() -> Any:
    return parse_module("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n%0 = acme.Op %x\nreturn %0 : tensor<2xf32>\n}")


LACK = MemoryError("three of it")
FAILS = raising(LACK)
HOOKS: dict[str, tuple[dict[str, Any], Callable[[], Any]]] = {
    "engine": ({"engines": [Engine("acme-engine", FAILS)]}, lambda: transload.run(MODULE, {"x": X}, engine="acme-engine")),
    "engine runs": (
        {"engines": [Engine("acme-engine", lambda *_: FAILS)]}, lambda: transload.run(MODULE, {"x": X}, engine="acme-engine")),
    "writer": ({"writers": [Writer("acme", "top", (".acme",), FAILS)]}, lambda: transload.save(MODULE, "m.acme")),
    "pass": ({"passes": [Pass("acme-pass", FAILS)]}, _ran_pass),
    "quantizer": ({"quantizers": [Quantizer("acme-q", FAILS)]}, lambda: transload.quantize(MODULE, "acme-q")),
    "calibrator": (
        {"calibrators": [Calibrator("acme-c", FAILS)]}, lambda: transload.calibrate(MODULE, [{"x": X}], "acme-c")),
    "score": ({"scores": [Score("acme-s", FAILS)]}, lambda: transload.evaluate(MODULE, [X, X], metrics=["acme-s"])),
    "target": ({"targets": [Careful()]}, lambda: transload.convert(MODULE, "acme-chip", "out")),
    "emit": ({"targets": [Chip()]}, lambda: transload.convert(MODULE, "acme-chip", "out")),
    "shape": (_facts("shape", LACK), _built),
    "interval": (_facts("interval", LACK), _interval),
    "assembly": (_facts("assembly", LACK), _parsed),
    "infer": ({"dialects": [DialectSpec("acme", _dialect(infer=FAILS))]}, _built),
    "infer, checked": (
        {"dialects": [DialectSpec("acme", _dialect(infer=FAILS))]}, lambda: check(_built(types=[VECTOR]))),
    "constraint": (
        {"dialects": [DialectSpec("acme", _dialect(asked=_asked(LACK)))]}, lambda: check(_built(types=[VECTOR]))),
    "attribute": (
        {"dialects": [DialectSpec("acme", _dialect(accepts=FAILS))]}, lambda: _built(types=[VECTOR], n=1)),
}


@pytest.mark.parametrize("hook", HOOKS)
def test_a_shortage_is_told_with_the_plugins_name(hook: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It came through as a bare `MemoryError`."""
    registered, use = HOOKS[hook]
    monkeypatch.chdir(tmp_path)
    with beside_ours(**registered).bind(), pytest.raises(TransloadError) as raised:
        use()
    assert isinstance(raised.value, PluginShortage) and isinstance(raised.value, MemoryError)
    assert "plugin 'acme' (no distribution) failed in" in raised.value.message
    assert "there is not enough memory" in raised.value.message and "ulimit" in raised.value.hint
    assert "report it" not in str(raised.value)


def test_the_command_line_tells_the_plugin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = transload.save(MODULE, tmp_path / "m.mlir")
    with beside_ours(targets=[Chip()]).bind():
        assert transload.cli.run(["convert", str(file), "-t", "acme-chip", "-o", str(tmp_path / "out")]) == 3
    assert "plugin 'acme'" in (told := capsys.readouterr().err) and "there is not enough memory" in told


@pytest.mark.parametrize("quantize", [None, "int8"])
def test_a_metric_that_is_asked_for_is_not_left_out(quantize: str | None, tmp_path: Path) -> None:
    """Verification was skipped, and the conversion done."""
    judge = Runtime("acme-runtime", "acme", lambda path: lambda inputs, keep=False: transload.run(MODULE, inputs), lambda: None)
    reads = transload.Reader("acme", "top", (".acme",), lambda *_: module_of("top.Relu"))
    (tmp_path / "m.acme").write_text("x")
    how: dict[str, Any] = {"quantize": quantize, "data": [{"x": X}]} if quantize else {}
    with beside_ours(metrics=[Metric("worst", FAILS)], runtimes=[judge], readers=[reads]).bind():
        made = transload.convert(tmp_path / "m.acme", "tosa", tmp_path / "out", **how)
        assert made.verification is not None and made.verification.status != "skipped"
        assert any("worst could not be computed: plugin 'acme'" in note for note in made.verification.notes)
        with pytest.raises(PluginFailure, match=r"plugin 'acme'.*metric 'worst'.*there is not enough memory") as raised:
            transload.convert(tmp_path / "m.acme", "tosa", tmp_path / "out", tolerance=["worst=1"], **how)
    assert raised.value.exit_code == 3


@pytest.mark.parametrize(("registered", "use"), [
    (lambda error: _facts("shape", error), _built),
    (lambda error: _facts("interval", error), _interval),
    (lambda error: _facts("assembly", error), _parsed),
    (lambda error: {"dialects": [DialectSpec("acme", _dialect(infer=raising(error)))]}, _built),
], ids=["shape", "interval", "assembly", "infer"])
def test_unsupported_outside_of_rules_is_a_conversion_error(
    registered: Callable[[BaseException], dict[str, Any]], use: Callable[[], Any],
) -> None:
    """It came through as it is, which nobody catches."""
    with beside_ours(**registered(Unsupported("not on Sundays", "wait"))).bind(), pytest.raises(ConversionError) as raised:
        use()
    assert "plugin 'acme'" in raised.value.message and "not on Sundays" in raised.value.message and raised.value.hint == "wait"


def test_a_rule_that_asks_such_a_fact_is_refused_in_its_words() -> None:
    from transload.conversion import apply_conversion

    table = transload.RewriteTable()
    table("acme.Op")(lambda op, rw: rw.emit("acme.Op", op.x))
    conversion = transload.Conversion("acme", "acme", "top", table)
    there = beside_ours(**_facts("shape", Unsupported("not on Sundays", "wait")), conversions=[conversion])
    with there.bind(), pytest.raises(ConversionError) as raised:
        apply_conversion(conversion, _built(types=[VECTOR]))
    (finding,) = raised.value.findings
    assert "not on Sundays" in finding.why and finding.hint == "wait"
