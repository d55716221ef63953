"""XLA in a process forked from one that uses it: its threads are not there, and what waits for them would hang."""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transload.errors import TargetError
from transload.options import settings_of
from transload.plugin_host import host
from transload_targets.xla.program import in_stablehlo

from tests.support.graphs import doubled

pytest.importorskip("jaxlib")
if "fork" not in multiprocessing.get_all_start_methods():
    pytest.skip("processes are not forked here", allow_module_level=True)

X = np.arange(4, dtype=np.float32)


def _in_a_fork(function: Callable[[], Any]) -> Any:
    """What a function gives in a fork of this process, or the error that it raises."""
    here, there = multiprocessing.Pipe(duplex=False)

    def child() -> None:
        try:
            there.send(function())
        except BaseException as error:
            there.send(error)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which are what this is about
        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
    try:
        assert here.poll(30), "it hangs"
        return here.recv()
    finally:
        process.kill()
        process.join()


@pytest.fixture(scope="module")
def execute() -> Any:
    made = host().engine("xla-cpu")(doubled())
    np.testing.assert_array_equal(made({"x": X})["y"], 2 * X)
    return made


def test_what_was_made_before_runs_there(execute: Any) -> None:
    np.testing.assert_array_equal(_in_a_fork(lambda: execute({"x": X + 1})["y"]), 2 * (X + 1))
    np.testing.assert_array_equal(execute({"x": X})["y"], 2 * X)


def test_a_target_that_compiles_by_it_is_refused_in_words(execute: Any, tmp_path: Path) -> None:
    target = host().targets["xla-cpu"]
    error = _in_a_fork(lambda: target.emit(in_stablehlo(doubled(), "cpu"), tmp_path, "m", settings_of(target.options(), {})))
    assert isinstance(error, TargetError) and "does not run in a fork" in error.message and "spawn" in error.hint
