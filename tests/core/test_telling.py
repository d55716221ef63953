"""What is told of work as it goes: by whoever works, to whoever listens around it."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
from rich.console import Console

import transload
from transload.cli import waiting
from transload.telling import say, told_to

from tests.support.graphs import Graph


def test_the_innermost_listens_and_outside_nobody_does() -> None:
    told: list[tuple[str, str, float | None]] = []
    say("nobody")
    with told_to(lambda stage, share: told.append(("outer", stage, share))):
        say("begun")
        with told_to(lambda stage, share: told.append(("inner", stage, share))):
            say("half", 0.5)
        with told_to(None):
            say("done", 1.0)
    say("nobody")
    assert told == [("outer", "begun", None), ("inner", "half", 0.5), ("outer", "done", 1.0)]


def test_the_bar_of_samples_shows_what_is_told_between_its_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(waiting, "error_console", lambda: Console(file=shown, force_terminal=True, width=80))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    g = Graph((1, 4))
    samples = transload.open_samples([np.zeros((1, 4), np.float32)] * 3, g.done(g.Relu(g.inputs[0])))
    with waiting.going_through(samples):
        list(samples)
        say("learning, step 5 of 20", 0.2)
    assert "learning, step 5 of 20" in shown.getvalue() and "20/100" in shown.getvalue()
    say("nobody")
