"""Hooks that are no plain functions, and plugins that are no plugins: all that is wrong is listed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from transload import hookimpl
from transload.errors import PluginError
from transload.plugin import Metric, Score
from transload.plugin_host import Host

from tests.support.plugins import info_of, point

pytestmark = pytest.mark.plugin_fails


@hookimpl
def register_metrics(register: Any) -> None:
    register(Metric("mean", lambda a, b: 0.0))


async def _async(register: Any) -> None:
    register(5)


def _generator(register: Any) -> Any:
    yield register(5)


async def _async_generator(register: Any) -> Any:
    yield register(5)


@pytest.mark.parametrize(("hook", "why"), [
    (_async, "is written with `async def`"), (_generator, "is a generator function"),
    (_async_generator, "is written with `async def`")], ids=["async", "generator", "async generator"])
@pytest.mark.parametrize("name", ["register_scores", "register_facts"])
def test_a_hook_whose_body_does_not_run_is_listed(hook: Any, why: str, name: str) -> None:
    """It registered nothing, and nobody heard of it where another hook beside it works."""
    hook.__name__ = name
    there = Host([point("acme", register_metrics=register_metrics, **{name: hookimpl(hook)})], only="")
    there.everything()
    (told,) = info_of(there, "acme").errors
    assert told.startswith(f"{name}: {why}") and "write a plain function" in told and "mean" in there.metrics
    with pytest.raises(PluginError, match="cannot be registered") as raised:
        Host().register(type("Acme", (), {"register_metrics": staticmethod(register_metrics), name: staticmethod(hook)}))
    assert why in str(raised.value)


def test_what_is_wrong_before_a_hook_raises_is_listed() -> None:
    """The last thing alone was."""
    @hookimpl
    def register_scores(register: Any) -> None:
        register(5)
        register(Score("", lambda *_: 0.0))
        register(Score("fine", lambda *_: 0.0))
        raise KeyError("late")

    there = Host([point("acme", register_scores=register_scores)], only="")
    there.everything()
    told = info_of(there, "acme").errors
    assert len(told) == 3 and any("gives a int" in each for each in told) and any("KeyError: 'late'" in each for each in told)
    assert "fine" not in there.scores


class _Raising:
    @property
    def register_targets(self) -> Any:
        raise KeyError("no targets today")


@pytest.mark.parametrize(("given", "why"), [
    (np.zeros(3), "it has no hooks"), (_Raising(), "register_targets cannot be looked at: KeyError: 'no targets today'")],
    ids=["array", "property"])
def test_members_that_raise_are_no_hooks(given: Any, why: str) -> None:
    with pytest.raises(PluginError, match=why):
        Host().register(given, "given")
