"""Fixtures for all tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from transload import guard
from transload.cli import run
from transload.errors import PluginFailure

pytest.register_assert_rewrite("tests.support")
pytest_plugins = ["tests.support.judges"]

# On a machine that has other work to do, drawing examples may take as long as it will.
settings.register_profile("transload", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("transload")

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # tests run onnxruntime as a judge themselves, and need tell nobody

ROOT = Path(__file__).resolve().parent.parent

# In the background of a shell Ctrl-C is ignored, and children would inherit that: tests of interruption would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before `-m` chooses among them."""
    from tests.support.sampling import leave_out  # whose package is registered by now, above

    leave_out(items)


def models_directory() -> Path | None:
    """The folder of real models: TRANSLOAD_MODELS, or `../shared/models` beside the checkout."""
    folder = Path(os.environ.get("TRANSLOAD_MODELS") or ROOT.parent / "shared" / "models")
    return folder if folder.is_dir() else None


@pytest.fixture(autouse=True)
def no_plugin_of_ours_fails(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A guard that had something to catch in a call into one of our own plugins has found a defect, whoever catches its error.

    Tests of guards are marked `plugin_fails`.
    """
    caught: list[str] = []
    made = guard.failure

    def failure(plugin: guard.PluginInfo | None, place: str, error: BaseException) -> PluginFailure:
        failed = made(plugin, place, error)
        if plugin is not None and plugin.is_ours:
            caught.append(failed.message)
        return failed

    monkeypatch.setattr(guard, "failure", failure)
    yield
    if request.node.get_closest_marker("plugin_fails") is None:
        assert not caught, caught[0]


@pytest.fixture(scope="session")
def models() -> Path:
    """The folder of real models; the test is skipped where there is none."""
    folder = models_directory()
    if folder is None:
        pytest.skip("no real models: set TRANSLOAD_MODELS to their folder")
    return folder


@pytest.fixture(scope="session")
def examples() -> Path:
    return ROOT / "examples"


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """The command line with these arguments: the exit code, and what it printed as results and as messages."""

    def call(*arguments: object) -> tuple[int, str, str]:
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call
