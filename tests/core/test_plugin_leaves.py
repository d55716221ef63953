"""Where a plugin leaves the process is put back, also by what is called as it is; and a failure of nobody's is its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.context import Context
from transload.errors import PluginFailure, TransloadError
from transload.files import mask_of_process
from transload.ir import Module
from transload.ir.verify import check
from transload.passes.shapes import infer_shapes
from transload.plugin_host import Host

from tests.drawn._odd_plugin import ORDER, OddPlugin, module_of_twice

pytestmark = pytest.mark.plugin_fails


def _run(module: Module) -> Any:
    return transload.run(module, {"x": np.zeros(4, np.float32)})


CALLS: list[tuple[str, Callable[[Module], Any]]] = [
    ("kernel", _run), ("rule", lambda module: transload.lower(module, "tosa")), ("dialect.constraint", check),
    ("dialect.infer", infer_shapes)]


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    host = Host()
    host.register(OddPlugin(), "odd")
    with Context(host).bind():
        module = module_of_twice()
        check(module)
        yield module


def ordered(monkeypatch: pytest.MonkeyPatch, place: str, how: Any) -> None:
    monkeypatch.setattr(ORDER, "place", place)
    monkeypatch.setattr(ORDER, "how", how)


LEAVES = """
import io, os, sys
{where}
from transload import Metric, hookimpl
@hookimpl
def register_metrics(register):
    {where}
    register(Metric("left", lambda a, b: 0.0))
"""


@pytest.mark.parametrize("where", [
    "sys.stdout = None", "sys.stderr = io.StringIO()", "del sys.stdin", "os.chdir('/')", "sys.setrecursionlimit(300)"])
def test_what_a_plugin_sets_as_it_is_loaded_is_put_back(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`transload plugins` ended as a defect of ours: 'NoneType' has no attribute 'isatty'."""
    (tmp_path / "leaves_for_test.py").write_text(LEAVES.format(where=where))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, getattr(sys, name))
    state = _state()
    try:
        assert "left" in Host([EntryPoint("leaves", "leaves_for_test", "transload")], only="").metrics
        assert _state() == state
    finally:
        sys.modules.pop("leaves_for_test", None)
        sys.setrecursionlimit(state[-1])


def _state() -> tuple[Any, ...]:
    return getattr(sys, "stdin", None), sys.stdout, sys.stderr, Path.cwd(), sys.getrecursionlimit()


@pytest.mark.parametrize(("place", "call"), CALLS)
def test_what_a_plugin_sets_of_the_process_is_put_back(
    place: str, call: Callable[[Module], Any], module: Module, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    depth, mask, stream, left = sys.getrecursionlimit(), mask_of_process(), sys.stdout, []

    def leaving(good: Any, arguments: Any, named: Any) -> Any:
        os.chdir("/")
        sys.setrecursionlimit(depth - 1)
        os.umask(0o777)
        sys.stdout = None  # type: ignore[assignment]
        left.append(place)
        return good(*arguments, **named)

    ordered(monkeypatch, place, leaving)
    try:
        call(module)
        assert left and Path.cwd() == tmp_path and sys.getrecursionlimit() == depth and mask_of_process() == mask
        assert sys.stdout is stream
    finally:
        os.umask(mask)
        sys.stdout = stream


@pytest.mark.parametrize(("place", "call"), [CALLS[0], CALLS[1], CALLS[3]])
def test_a_failure_of_nobodys_is_the_plugins_own(
    place: str, call: Callable[[Module], Any], module: Module, monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(good: Any, arguments: Any, named: Any) -> Any:
        raise PluginFailure("own")

    ordered(monkeypatch, place, failing)
    with pytest.raises(TransloadError, match=r"(?s)plugin 'odd'.*PluginFailure: own"):
        call(module)
