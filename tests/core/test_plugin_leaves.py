"""Where a plugin leaves the process is put back, also by what is called as it is; and a failure of nobody's is its own."""

from __future__ import annotations

import os
import subprocess
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
    "sys.stdout = None", "del sys.stdin", "os.chdir('/')", "sys.setrecursionlimit(300)", "sys.excepthook = None",
    "import numpy; numpy.seterr(all='raise')"])
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


@pytest.mark.parametrize("where", [
    "sys.stdout.close()", "sys.__stdout__.close()", "os.close(1)", "sys.stdout.close(); os.close(1)",
    "os.close(1); os.open(__file__, 0)", "os.dup2(2, 1)", "sys.stdout = io.StringIO()"])
@pytest.mark.parametrize("call", [
    "from transload.cli import main; main(['plugins', *sys.argv[1:]])",
    "import transload; print(transload.host().metrics['left'].name, flush=True)"])
def test_standard_output_that_a_plugin_closes_is_made_anew(where: str, call: str, tmp_path: Path) -> None:
    """`transload plugins` ended as a defect of ours: I/O operation on closed file."""
    for more in ([], ["--json"]):
        done = _process(tmp_path, LEAVES.format(where=where), call, *more)
        assert (done.returncode, done.stderr) == (0, "") and "left" in done.stdout, done


def _process(folder: Path, source: str, call: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What a program does where a plugin of this source is installed."""
    (folder / "leaves_for_test.py").write_text(source)
    installed = folder / "leaves-1.dist-info"
    installed.mkdir(exist_ok=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: leaves\nVersion: 1\n")
    (installed / "entry_points.txt").write_text("[transload]\nleaves = leaves_for_test\n")
    return subprocess.run(
        [sys.executable, "-c", f"import sys; {call}", *arguments], env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True, text=True, timeout=60)


MAIN = "from transload.cli import main; main(['plugins'])"


@pytest.mark.parametrize("where", [
    "sys.path[:] = []; sys.meta_path[:] = []", "sys.path = sys.meta_path = None", "sys.path_hooks.clear(); sys.path = []"])
def test_what_a_plugin_takes_of_where_modules_come_from_is_put_back(where: str, tmp_path: Path) -> None:
    """Every command ended in a traceback: what tells of errors is imported where there is one."""
    done = _process(tmp_path, LEAVES.format(where=where), MAIN)
    assert (done.returncode, done.stderr) == (0, "") and "left" in done.stdout


def test_a_plugin_by_which_nothing_is_imported_is_told(tmp_path: Path) -> None:
    done = _process(tmp_path, "import builtins\ndef none(*a, **k): raise ImportError('none')\nbuiltins.__import__ = none", MAIN)
    assert done.returncode == 1 and "leaves_for_test.py:2" in done.stderr and "Traceback" not in done.stderr


THREADS = """
import contextlib, io, os, sys, threading
begun, done = threading.Event(), threading.Event()
def other():
    with contextlib.redirect_stdout(io.StringIO()):
        sys.path.insert(0, "mine")
        begun.set()
        loading.wait()
        sys.path.remove("mine")
    os.dup2(2, 1)
    done.set()
loading = threading.Event()
threading.Thread(target=other).start()
begun.wait()
from transload.plugin_host import Host
from importlib.metadata import EntryPoint
sys.meet = lambda: (loading.set(), done.wait())
host = Host([EntryPoint("leaves", "leaves_for_test", "transload")], only="")
assert {there} and os.path.samestat(os.fstat(1), os.fstat(2))
assert "left" in host.metrics
"""


@pytest.mark.parametrize("where", [
    "sys.meet()", "sys.meet(); sys.stdout = None; sys.path.clear()", "sys.meet(); sys.stdout.close()"])
def test_what_another_thread_exchanges_meanwhile_stays(where: str, tmp_path: Path) -> None:
    """Standard output was the other's buffer for good, and its descriptor led where nobody reads."""
    there = "sys.stdout is sys.__stdout__ and 'mine' not in sys.path"
    if where != "sys.meet()":  # what was there before is put back
        there = "sys.stdout is not None and not sys.stdout.closed and len(sys.path) > 1"
    done = _process(tmp_path, LEAVES.format(where=where), f"exec({THREADS.format(there=there)!r})")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def test_nothing_is_held_for_plugins_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Descriptors were copied around each call: a third of a millisecond, for dozens of calls."""
    monkeypatch.setattr("transload.plugin_registry.process_kept", None)
    assert Host([], only="").dialects


@pytest.mark.parametrize("source", [
    "raise KeyboardInterrupt", LEAVES.format(where="raise KeyboardInterrupt").replace("\nraise KeyboardInterrupt", "")])
def test_an_interrupt_that_no_signal_brought_is_told_with_the_plugin(source: str, tmp_path: Path) -> None:
    done = _process(tmp_path, source, MAIN)
    assert done.returncode == 130
    assert done.stderr.strip().startswith("interrupted: no signal came, and plugin 'leaves' was being loaded"), done.stderr


def _state() -> tuple[Any, ...]:
    return (getattr(sys, "stdin", None), sys.stdout, sys.stderr, Path.cwd(), np.geterr(), callable(sys.excepthook),
            sys.getrecursionlimit())


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
