"""What somebody gave is told in messages whatever it answers: a `__repr__` that raises, integers of thousands of digits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import transload
from transload.errors import Finding, UsageError, unwhole
from transload.options import Owner, as_annotated, need_names, shared_out, typed
from transload.plugin import Conversion, Emitted, Metric, Pass, Reader, Target
from transload.registration import admit, wrong_version

from tests.support.plugins import beside_ours, module_of

HUGE = 10**5000
BITS = f"an integer of {HUGE.bit_length():,} bits"


class Speechless:
    """What cannot even be told."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")


UNTOLD = [(HUGE, BITS), (Speechless(), "an object of Speechless")]


@pytest.mark.parametrize(("junk", "told"), UNTOLD, ids=["huge", "speechless"])
@pytest.mark.parametrize("member", ["what", "why", "hint", "names", "count"])
def test_members_of_a_finding(member: str, junk: Any, told: str) -> None:
    if member == "count" and isinstance(junk, int):
        return
    with pytest.raises(TypeError, match=f"^{member} of a Finding .*{told}"):
        Finding(**{"what": "a", "why": "b", member: junk})


@pytest.mark.parametrize(("junk", "told"), UNTOLD, ids=["huge", "speechless"])
def test_members_of_an_error_of_others(junk: Any, told: str) -> None:
    error = UsageError("a")
    error.hint = junk
    assert unwhole(error) == f", whose hint cannot be {told}"


@pytest.mark.parametrize(("junk", "told"), UNTOLD, ids=["huge", "speechless"])
@pytest.mark.parametrize(("kind", "item", "member"), [
    ("passes", lambda junk: Pass("p", abs, at=junk), "at"), ("passes", lambda junk: Pass(junk, abs), "name"),
    ("conversions", lambda junk: Conversion("c", "a", "b", "a.b:C", cost=junk), "cost"),
    ("conversions", lambda junk: Conversion("c", "a", "b", "a.b:C", evidence=junk), "evidence"),
    ("metrics", lambda junk: Metric("m", abs, better=junk), "better"),
    ("metrics", lambda junk: Metric("m", abs, bounds=junk), "bounds"),
    ("readers", lambda junk: Reader("r", "d", junk, abs), "suffixes"),
    ("targets", lambda junk: type("T", (Target,), {"name": "t", "accepts": ("a",), "quantizing": junk})(), "quantizing"),
    ("targets", lambda junk: type("T", (Target,), {"name": "t", "accepts": ("a",), "default": junk})(), "default"),
])
def test_members_of_what_is_registered(kind: str, item: Callable[[Any], Any], member: str, junk: Any, told: str) -> None:
    _, _, problems = admit(kind, item(junk), None)  # type: ignore[arg-type]
    assert any(member in problem and told in problem for problem in problems), problems


@pytest.mark.parametrize(("junk", "told"), UNTOLD, ids=["huge", "speechless"])
def test_the_version_that_a_plugin_asks_for(junk: Any, told: str) -> None:
    assert str(wrong_version(junk)).endswith(told)


@pytest.mark.parametrize("given", [HUGE, -HUGE, 2**64, str(2**64), "1" * 5000, "-" + "1" * 4000], ids=range(6))
def test_options_that_are_integers_beyond_any_use(given: Any) -> None:
    """They were taken, and nothing could write them: no report, no key of what is kept."""
    with pytest.raises(UsageError, match="option x must be an int of at most 64 bits, not"):
        typed("x", given, int)
    with pytest.raises(UsageError, match="at most 64 bits"):
        as_annotated("q", _with_an_integer, 0, {"x": given})


def _with_an_integer(x: int = 0) -> None: ...


def test_the_greatest_integers_are_options() -> None:
    assert typed("x", str(2**64 - 1), int) == 2**64 - 1
    assert typed("x", -(2**63), int) == -(2**63)


def test_options_whose_owner_is_to_be_said() -> None:
    one, other = Owner("one", {"x": (int, 0, "")}), Owner("other", {"x": (float, 0.0, "")})
    with pytest.raises(UsageError, match="declared by 'one' and, differently, by 'other'"):
        shared_out({"x": HUGE}, [one, other], "the way")
    with pytest.raises(UsageError, match="has no effect"):
        shared_out({"x": HUGE, "one.x": 1}, [one], "the way")
    with pytest.raises(UsageError, match=f"given by name, and {BITS}"):
        need_names({HUGE: 1})


def test_a_report_that_answers_once(tmp_path: Path) -> None:
    """It was looked at, and then written by asking it once more."""

    class Once(dict[str, Any]):
        asked = 0

        def items(self) -> Any:
            self.asked += 1
            if self.asked > 1:
                raise RuntimeError("asked twice")
            return super().items()

    class Chip(Target):
        name = "once"
        accepts = ("tosa",)

        def emit(self, module: Any, directory: Path, stem: str, options: Any) -> Emitted:
            (directory / "a.bin").write_text("x")
            return Emitted([directory / "a.bin"], Once(cycles=3))

    with beside_ours(targets=[Chip()]).bind():
        artifact = transload.convert(module_of("top.Relu"), "once", tmp_path / "out")
    assert artifact.report.target_report["cycles"] == 3
