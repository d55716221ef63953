"""What is said before Vela runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from transload.ir import F32, I8, I16, I32, I48, Module, TensorType
from transload.ir.registry import dialect
from transload.plugin_host import host
from transload_targets.ethosu.accelerators import FAMILIES
from transload_targets.ethosu.constraints import CONSTRAINTS

from .conftest import make_module, needs_vela


def t(*shape: int | None, element: Any = I8) -> TensorType:
    return TensorType(shape, element)


def findings(module: Module, accelerator: str = "ethos-u55-128", **options: Any) -> list[Any]:
    return list(host().get("targets", accelerator).check(module, options))


def conv(maker: Any, x: Any, weight: Any, bias: Any, accumulator: Any = I32, name: str = "conv.2d", **attributes: Any) -> Any:
    given = {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1), "acc_type": accumulator, **attributes}
    return maker.emit("tosa.conv2d", x, weight, bias, maker.number(0, x.element), maker.number(0, I8), location=name, **given)


def resize(mode: str, scale: tuple[int, ...], offset: tuple[int, ...], border: tuple[int, ...]) -> Callable[..., Any]:
    def body(maker: Any, x: Any) -> Any:
        return maker.emit("tosa.resize", x, maker.shape(*scale), maker.shape(*offset), maker.shape(*border), location="up", mode=mode,
                          element=I8 if mode != "BILINEAR" else I32)

    return body


REFUSED = {
    "floats": ([t(2, 3, element=F32)], lambda m, x: m.emit("tosa.abs", x, location="a"), "integers only", "quantize the model first"),
    "wide maximum": ([t(2, 3, element=I32)], lambda m, x: m.emit("tosa.reduce_max", x, axis=1, location="a"), "i8 -> i8", "before it is widened"),
    "no such operation": ([t(1, 4, 3), t(1, 5, element=I32)], lambda m, x, i: m.emit("tosa.gather", x, i, location="a"),
                          "no such operation", "Ethos-U85 takes it"),
    "unknown sizes": ([t(None, 3)], lambda m, x: m.emit("tosa.identity", x, location="a"), "known when compiling", "shape of the model's inputs"),
    "empty": ([t(0, 3)], lambda m, x: m.emit("tosa.identity", x, location="a"), "at least one element", ""),
    "seven dimensions": ([t(*(2,) * 7)], lambda m, x: m.emit("tosa.identity", x, location="a"), "6 dimensions", "reshape"),
    "computed weights": ([t(1, 4, 4, 3), t(2, 1, 1, 3)], lambda m, x, w: conv(m, x, w, m.array([0, 0], I32), name="a"), "constants", "Ethos-U85"),
    "computed zero point": ([t(2, 3), t(1)], lambda m, x, z: m.emit("tosa.negate", x, z, m.number(0, I8), location="a"), "constants", ""),
    "sums kept wide": ([t(1, 4, 4, 3, element=I16)],
                       lambda m, x: conv(m, x, m.array([[[[1, 2, 3]]]], I8), m.array([0], I48), I48, name="a"), "rescales", "rescale the sums"),
    "wide argmax": ([t(1, 4, 200)], lambda m, x: m.emit("tosa.argmax", x, axis=2, location="a"), "127", "Ethos-U85"),
    "last axis reversed": ([t(4, 5)], lambda m, x: m.emit("tosa.reverse", x, axis=1, location="a"), "reversed axis", "transpose"),
    "padded average": ([t(1, 16, 16, 3)], lambda m, x: m.emit(
        "tosa.avg_pool2d", x, m.number(0, I8), m.number(0, I8), kernel=(9, 9), stride=(1, 1), pad=(1, 1, 1, 1), acc_type=I32, location="a"),
        "8x8", ""),
    "bilinear": ([t(1, 4, 4, 3)], resize("BILINEAR", (2, 1, 2, 1), (0, 0), (0, 0)), "nearest neighbours", "Ethos-U85"),
    "three times": ([t(1, 4, 4, 3)], resize("NEAREST_NEIGHBOR", (3, 1, 3, 1), (0, 0), (0, 0)), "2, 4 or 8 times", "Ethos-U85"),
    "long transpose": ([t(70000, 3)], lambda m, x: m.emit("tosa.transpose", x, perms=(1, 0), location="a"), "65536", "Ethos-U85"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_refused_with_reason_name_and_hint(case: Any) -> None:
    inputs, body, why, hint = case
    found = findings(make_module(inputs, body))
    assert len(found) == 1
    assert why in found[0].why
    assert hint in found[0].hint
    assert found[0].names in (("a",), ("up",))


@pytest.mark.parametrize("case", [
    "wide maximum", "no such operation", "computed weights", "sums kept wide", "wide argmax", "last axis reversed", "padded average",
    "bilinear", "three times", "long transpose"])
def test_u85_takes_what_the_older_families_refuse(case: str) -> None:
    inputs, body, _, _ = REFUSED[case]
    assert findings(make_module(inputs, body), "ethos-u85-256") == []


def test_all_findings_at_once_and_equal_ones_joined() -> None:
    def body(m: Any, x: Any, y: Any) -> Any:
        a = m.emit("tosa.reduce_max", x, axis=1, location="first")
        b = m.emit("tosa.reduce_max", a, axis=0, location="second")
        return b, m.emit("tosa.reverse", y, axis=1, location="third")

    found = findings(make_module([t(2, 3, element=I32), t(4, 5)], body))
    assert [(f.what, f.names, f.count) for f in found] == [("tosa.reduce_max", ("first", "second"), 2), ("tosa.reverse", ("third",), 1)]


def test_constants_reached_through_other_ops_are_constants() -> None:
    def body(m: Any, x: Any) -> Any:
        weight = m.emit("tosa.reshape", m.array([1, 2, 3], I8), m.shape(1, 1, 1, 3))
        return conv(m, x, weight, m.array([0], I32))

    assert findings(make_module([t(1, 4, 4, 3)], body)) == []


def test_resizes_that_the_older_families_take() -> None:
    for factor in (2, 4, 8):
        half = factor - 1
        for scale, offset, border in (((factor, 1) * 2, (0, 0), (0, 0)), ((2 * factor, 2) * 2, (-half, -half), (half, half))):
            assert findings(make_module([t(1, 4, 4, 3)], resize("NEAREST_NEIGHBOR", scale, offset, border))) == []


def test_every_constraint_reads_as_what_is_needed() -> None:
    names = {op.removeprefix("tosa.") for op in dialect("tosa").ops}
    for op, constraints in CONSTRAINTS.items():
        assert op == "*" or op.removeprefix("tosa.") in names
        for constraint in constraints:
            assert constraint.why and not constraint.why.endswith("."), constraint.holds
            assert set(constraint.families) <= set(FAMILIES)


def test_the_table_names_ops_and_families_that_exist() -> None:
    table = json.loads(files("transload_targets.ethosu").joinpath("accepted.json").read_text())
    assert set(table["accepted"]) - set(dialect("tosa").ops) == set()
    for row in table["accepted"].values():
        for signature, families in row.items():
            assert "->" in signature
            assert {name.strip("+") for name in families.split()} <= set(FAMILIES)


@needs_vela
@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="the probe forks")
def test_check_foretells_what_vela_says(root: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of the files of one op that the table was measured with: no false alarm, nothing missed."""
    pytest.importorskip("tosa_serializer", reason="needs tosa-tools")
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    sys.modules.pop("ethosu_probe", None)
    import ethosu_probe

    cases = [case for case in ethosu_probe.all_cases() if "65" not in case.label][::12]
    false_alarms = ethosu_probe.compare(ethosu_probe.measure(cases, ("u55", "u85")))
    said = capsys.readouterr().out
    assert false_alarms == 0, said
    assert " 0 missed" in said, said
