"""What is said before Vela runs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from transload.ir import F32, I8, I16, I32, I48, TensorType
from transload.ir.registry import dialect
from transload.plugin_host import host
from transload_targets.ethosu.accelerators import FAMILIES
from transload_targets.ethosu.constraints import CONSTRAINTS


def t(*shape: int | None, element: Any = I8) -> TensorType:
    return TensorType(shape, element)


@dataclass
class Refusal:
    """A module that Ethos-U55 cannot take, and what its one finding says."""

    inputs: Sequence[TensorType]
    body: Callable[..., Any]
    why: str
    hint: str = ""
    u85: bool = False
    """Whether Ethos-U85 takes it."""


def op(name: str, **attributes: Any) -> Callable[..., Any]:
    """The body of a module of one op on its inputs."""
    return lambda m, *inputs: m.emit(f"tosa.{name}", *inputs, location="the op", **attributes)


def convolution(m: Any, x: Any, weight: Any, bias: Any, accumulator: Any = I32) -> Any:
    zeros = m.array([0], x.element), m.array([0], I8)
    return m.emit("tosa.conv2d", x, weight, bias, *zeros, location="the op", pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1),
                  acc_type=accumulator)


def resize(mode: str, scale: Sequence[int], offset: Sequence[int] = (0, 0), border: Sequence[int] = (0, 0)) -> Callable[..., Any]:
    def body(m: Any, x: Any) -> Any:
        return m.emit("tosa.resize", x, m.shape(*scale), m.shape(*offset), m.shape(*border), location="the op", mode=mode,
                      element=I32 if mode == "BILINEAR" else I8)

    return body


def averaged(m: Any, x: Any) -> Any:
    zeros = m.array([0], I8), m.array([0], I8)
    return m.emit("tosa.avg_pool2d", x, *zeros, location="the op", kernel=(9, 9), stride=(1, 1), pad=(1, 1, 1, 1), acc_type=I32)


REFUSED = {
    "floats": Refusal([t(2, 3, element=F32)], op("abs"), "integers only", "quantize the model first"),
    "wide maximum": Refusal([t(2, 3, element=I32)], op("reduce_max", axis=1), "i8 -> i8", "before it is widened", True),
    "no such operation": Refusal([t(1, 4, 3), t(1, 5, element=I32)], op("gather"), "no such operation", "Ethos-U85 takes", True),
    "unknown sizes": Refusal([t(None, 3)], op("identity"), "known when compiling", "shape of the model's inputs"),
    "empty": Refusal([t(0, 3)], op("identity"), "at least one element"),
    "seven dimensions": Refusal([t(2, 2, 2, 2, 2, 2, 2)], op("identity"), "6 dimensions", "reshape"),
    "computed weights": Refusal(
        [t(1, 4, 4, 3), t(2, 1, 1, 3)], lambda m, x, w: convolution(m, x, w, m.array([0, 0], I32)), "constants", "Ethos-U85",
        True),
    "computed zero point": Refusal(
        [t(2, 3), t(1)], lambda m, x, z: m.emit("tosa.negate", x, z, m.array([0], I8), location="the op"), "constants"),
    "sums kept wide": Refusal(
        [t(1, 4, 4, 3, element=I16)], lambda m, x: convolution(m, x, m.array([[[[1, 2, 3]]]], I8), m.array([0], I48), I48),
        "into rescales", "rescale the sums", True),
    "wide argmax": Refusal([t(1, 4, 200)], op("argmax", axis=2), "127", "Ethos-U85", True),
    "last axis reversed": Refusal([t(4, 5)], op("reverse", axis=1), "reversed axis", "transpose", True),
    "padded average": Refusal([t(1, 16, 16, 3)], averaged, "8x8", "Ethos-U85", True),
    "bilinear": Refusal([t(1, 4, 4, 3)], resize("BILINEAR", (2, 1, 2, 1)), "nearest neighbours", "Ethos-U85", True),
    "three times": Refusal([t(1, 4, 4, 3)], resize("NEAREST_NEIGHBOR", (3, 1, 3, 1)), "2, 4 or 8 times", "Ethos-U85", True),
    "long transpose": Refusal([t(70000, 3)], op("transpose", perms=(1, 0)), "65536", "Ethos-U85", True),
}


def check(module: Any, accelerator: str = "ethos-u55-128", **options: Any) -> list[Any]:
    return list(host().get("targets", accelerator).check(module, options))


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_refused_with_reason_name_and_hint(case: Refusal, make: Callable[..., Any]) -> None:
    module = make(case.inputs, case.body)
    found = check(module)
    assert len(found) == 1
    assert case.why in found[0].why
    assert case.hint in found[0].hint
    assert found[0].names == ("the op",)
    assert (check(module, "ethos-u85-256") == []) == case.u85


def test_all_findings_at_once_and_equal_ones_joined(make: Callable[..., Any]) -> None:
    def body(m: Any, x: Any, y: Any) -> Any:
        a = m.emit("tosa.reduce_max", x, axis=1, location="first")
        b = m.emit("tosa.reduce_max", a, axis=0, location="second")
        return b, m.emit("tosa.reverse", y, axis=1, location="third")

    found = check(make([t(2, 3, element=I32), t(4, 5)], body))
    assert [(f.what, f.names, f.count) for f in found] == [
        ("tosa.reduce_max", ("first", "second"), 2), ("tosa.reverse", ("third",), 1)]


def test_constants_reached_through_other_ops_are_constants(make: Callable[..., Any]) -> None:
    def body(m: Any, x: Any) -> Any:
        weight = m.emit("tosa.reshape", m.array([1, 2, 3], I8), m.shape(1, 1, 1, 3))
        return convolution(m, x, weight, m.array([0], I32))

    assert check(make([t(1, 4, 4, 3)], body)) == []


@pytest.mark.parametrize("factor", [2, 4, 8])
def test_resizes_that_the_older_families_take(factor: int, make: Callable[..., Any]) -> None:
    half = factor - 1
    aligned = resize("NEAREST_NEIGHBOR", (factor, 1, factor, 1))
    centred = resize("NEAREST_NEIGHBOR", (2 * factor, 2) * 2, (-half, -half), (half, half))
    assert check(make([t(1, 4, 4, 3)], aligned)) == check(make([t(1, 4, 4, 3)], centred)) == []


def test_every_constraint_reads_as_what_is_needed() -> None:
    declared = {"*", *dialect("tosa").ops}
    assert set(CONSTRAINTS) <= declared
    for constraint in (one for constraints in CONSTRAINTS.values() for one in constraints):
        assert constraint.why, constraint.holds
        assert not constraint.why.endswith("."), constraint.why
        assert set(constraint.families) <= set(FAMILIES)


def test_the_table_names_ops_and_families_that_exist() -> None:
    table = json.loads(files("transload_targets.ethosu").joinpath("accepted.json").read_text(encoding="utf-8"))
    assert set(table["accepted"]) <= set(dialect("tosa").ops)
    for row in table["accepted"].values():
        for signature, families in row.items():
            assert "->" in signature
            assert {name.strip("+") for name in families.split()} <= set(FAMILIES)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the probe forks")
def test_check_foretells_what_vela_says(
    vela: None, root: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A sample of the files of one op that the table was measured with: no false alarm, nothing missed."""
    pytest.importorskip("tosa_serializer", reason="needs tosa-tools")
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    import ethosu_probe

    try:
        cases = [case for case in ethosu_probe.all_cases() if "65" not in case.label][::12]
        false_alarms = ethosu_probe.compare(ethosu_probe.measure(cases, ("u55", "u85")))
    finally:
        for name in ("ethosu_probe", "ethosu_cases"):
            sys.modules.pop(name, None)
    said = capsys.readouterr().out
    assert false_alarms == 0, said
    assert " 0 missed" in said, said
