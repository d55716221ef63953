"""What says that it cannot be used here is not used; what fails to say so ends nothing that others can do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import transload
from transload.context import Context
from transload.errors import PluginFailure, UsageError
from transload.evaluation.evaluate import evaluate
from transload.ir import Module
from transload.plugin import Conversion, Emitted, Engine, Reader, Runtime, Score, Target
from transload.plugin_host import Host, host
from transload.rewrite import RewriteTable
from transload.verification.compare import compare

from tests.support.graphs import doubled
from tests.support.plugins import registering

GIVEN = {"x": np.ones(4, np.float32)}


def _twice(path: Path) -> Callable[..., dict[str, np.ndarray]]:
    return lambda inputs, keep=False: {"y": inputs["x"] * 2}


def _raises(*given: Any) -> str:
    raise ModuleNotFoundError("No module named 'half_installed'")


@pytest.fixture
def bind() -> Iterator[Callable[..., None]]:
    bound = []

    def bind(**items: Any) -> None:
        made = Host()
        reader = Reader("fmt", "top", (".fmt",), lambda source, inputs: doubled())
        made.register(SimpleNamespace(**registering(readers=[reader], **items)), "odd")
        bound.append(Context(made).bind())
        bound[-1].__enter__()

    yield bind
    for each in bound:
        each.__exit__(None, None, None)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.fmt"
    path.write_text("x", encoding="utf-8")
    return path


@pytest.fixture
def gone(bind: Callable[..., None]) -> None:
    def never(module: Module, function: str) -> Any:
        raise AssertionError("it is not here")

    bind(engines=[Engine("gone", never, available=lambda: "pip install gone")],
         runtimes=[Runtime("rt", "fmt", _twice, lambda: None)])


@pytest.mark.parametrize("use", [
    lambda model, out: transload.convert(model, "tosa", out, engine="gone"),
    lambda model, out: transload.convert(model, "onnx", out, engine="gone"),
    lambda model, out: evaluate(model, [GIVEN], engine="gone"),
    lambda model, out: transload.run(doubled(), GIVEN, engine="gone"),
    lambda model, out: host().engine("gone"),
], ids=["convert", "convert for a target with a runtime", "evaluate", "run", "host"])
def test_an_engine_that_is_not_here_is_refused(use: Callable[[Path, Path], Any], model: Path, tmp_path: Path, gone: None) -> None:
    with pytest.raises(UsageError, match="engine 'gone' cannot be used: pip install gone"):
        use(model, tmp_path / "out")
    assert not (tmp_path / "out" / "m.tosa").exists()


@pytest.mark.plugin_fails
def test_a_judge_that_fails_to_say_whether_it_is_here_could_not_judge(
    bind: Callable[..., None], model: Path, tmp_path: Path,
) -> None:
    bind(runtimes=[Runtime("broken", "fmt", _twice, _raises)])
    made = transload.convert(model, "tosa", tmp_path / "out")
    assert made.verification.status == "skipped"
    assert "plugin 'odd'" in made.verification.why and "half_installed" in made.verification.why
    assert (tmp_path / "out" / "m.tosa").is_file()
    with pytest.raises(UsageError, match="half_installed"):
        compare(model, made.directory, GIVEN)


@pytest.mark.plugin_fails
def test_another_judge_judges_then_and_the_failure_is_noted(bind: Callable[..., None], model: Path, tmp_path: Path) -> None:
    bind(runtimes=[Runtime("broken", "fmt", _twice, _raises), Runtime("works", "fmt", _twice, lambda: None)])
    verdict = transload.convert(model, "tosa", tmp_path / "out").verification
    assert (verdict.status, verdict.runtime) == ("passed", "works")
    assert any("broken could not judge" in note and "half_installed" in note for note in verdict.notes)


@pytest.mark.plugin_fails
def test_an_engine_that_fails_to_say_so_is_not_chosen_and_is_an_error_where_it_is_named(bind: Callable[..., None]) -> None:
    bind(engines=[Engine("broken", lambda module, function: None, available=_raises, compiles=True, measures=True)])
    np.testing.assert_array_equal(transload.run(doubled(), GIVEN, engine="auto")["y"], 2 * GIVEN["x"])
    with pytest.raises(PluginFailure, match=r"engine 'broken'.*half_installed"):
        transload.run(doubled(), GIVEN, engine="broken")


@pytest.mark.parametrize("said", ["", " "])
def test_an_empty_text_is_no_reason(said: str) -> None:
    """Notes ended in ": " and nothing."""
    class Chip(Target):
        name = "chip"
        accepts = ("top",)
        available = runs_here = staticmethod(lambda: said)  # type: ignore[assignment]
        cannot_run = staticmethod(lambda emitted: said)  # type: ignore[assignment]

        def emit(self, *given: Any) -> Any:
            raise AssertionError("nothing is to be written")

    made = Host()
    made.register(SimpleNamespace(**registering(
        targets=[Chip()], engines=[Engine("e", _twice, available=lambda: said)],
        runtimes=[Runtime("r", "fmt", _twice, lambda: said)], scores=[Score("s", _twice, available=lambda: said)],
        conversions=[Conversion("c", "a", "b", RewriteTable(), unfit=lambda module: said)])), "odd")
    chip = made.targets["chip"]
    assert [chip.available(), chip.runs_here(), chip.cannot_run(Emitted([]))] == [None] * 3
    others = (made.engines["e"].available, made.runtimes["r"].available, made.scores["s"].available)
    assert [each() for each in others] == [None] * 3 and made.conversions["c"].unfit(doubled()) is None
