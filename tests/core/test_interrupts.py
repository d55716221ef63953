"""What a signal's handler raises while a conversion is under way: it is the program's own, and no failure of a plugin."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.context import Context
from transload.errors import PluginFailure, ReadError
from transload.guard import Guarded, PluginInfo, goes_through, is_meant
from transload.hookspecs import hookimpl
from transload.interrupts import from_signal, interrupts_kept, is_interrupt
from transload.ir import F32, Module, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.plugin import Reader
from transload.worker import Worker

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="Windows has no such signal")


class Mine(Exception):
    """A program's own."""


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = signal.getsignal(signal.SIGUSR1)
    yield
    signal.signal(signal.SIGUSR1, before)


def _hit() -> None:
    os.kill(os.getpid(), signal.SIGUSR1)
    for _ in range(100):  # the handler runs between two steps
        pass


class _Callable:
    def __call__(self, number: int, frame: object) -> None:
        raise Mine

    def method(self, number: int, frame: object) -> None:
        raise Mine


def _plain(number: int, frame: object) -> None:
    raise Mine


def _unused(number: int, frame: object) -> None:
    del number, frame
    raise Mine


def _once(*arguments: Any) -> None:
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    raise Mine


def _with_more(more: str, number: int, frame: object) -> None:
    raise Mine


def _deep(number: int, frame: object) -> None:
    _plain(0, None)


@pytest.mark.parametrize("handler", [
    _plain, _unused, _once, _deep, _Callable(), _Callable().method, partial(_with_more, "more"), lambda *_: sys.exit(3)])
def test_what_a_handler_raises_is_known(handler: Callable[..., None]) -> None:
    signal.signal(signal.SIGUSR1, handler)
    with pytest.raises((Mine, SystemExit)) as caught:
        _hit()
    assert from_signal(caught.value)
    assert is_interrupt(caught.value)
    assert goes_through(caught.value)
    assert is_meant(caught.value)


def test_what_others_raise_is_not() -> None:
    signal.signal(signal.SIGUSR1, _plain)

    def fails(number: int, frame: object) -> None:
        raise Mine

    for frame in (None, sys._getframe().f_back):
        with pytest.raises(Mine) as caught:
            fails(signal.SIGUSR1, frame)
        assert not from_signal(caught.value)
    assert not from_signal(Mine())


class _Nameless:
    @property  # type: ignore[misc]
    def __class__(self) -> type:
        raise Mine


class _Endless(tuple[Any, ...]):
    __slots__ = ()

    def __iter__(self) -> Any:
        raise Mine


def test_what_a_call_was_given_is_not_asked_what_it_is() -> None:
    """A plugin's object that raised where its class was asked for ended every command, as a defect of ours."""
    def fails(one: Any, other: Any, *more: Any) -> None:
        more = _Endless(more)
        raise ValueError("theirs")

    with pytest.raises(ValueError, match="theirs") as caught:
        fails(_Nameless(), _Nameless(), _Nameless(), 1)
    assert not from_signal(caught.value)


def _converted(act: Callable[[], None], out: Path) -> None:
    """Convert what a plugin reads, which acts meanwhile."""
    def read(source: Any, inputs: Any) -> Module:
        act()
        module = new_module()
        function = module.add_function("main", [TensorType((2,), F32)], ["x"])
        block = function.regions[0].block
        result = Builder(block, location="here").create("top.Relu", block.arguments, [TensorType((2,), F32)]).result
        set_results(function, [result], ["y"])
        return module

    class Theirs:
        @hookimpl
        def register_readers(self, register: Any) -> None:
            register(Reader("theirs", "top", (".theirs",), read))

    host = transload.Host()
    host.register(Theirs(), "theirs")
    file = out.with_name("model.theirs")
    file.write_text("model")
    with Context(host).bind():
        transload.convert(file, "tosa", out=out, verify=False)


@pytest.mark.parametrize("error", [SystemExit(3), Mine("mine"), TimeoutError("late"), ValueError("late")])
def test_it_ends_a_conversion_as_it_is_and_the_folder_stays(error: BaseException, tmp_path: Path) -> None:
    """It was told as a defect of the plugin, or of the file, and what an earlier conversion had written was gone."""
    out = tmp_path / "out"
    _converted(lambda: None, out)
    there = {file.name: file.read_bytes() for file in out.iterdir()}

    def handle(number: int, frame: object) -> None:
        raise error

    signal.signal(signal.SIGUSR1, handle)
    with pytest.raises(type(error)) as caught:
        _converted(_hit, out)
    assert caught.value is error
    assert {file.name: file.read_bytes() for file in out.iterdir()} == there


def _taken_for_the_files() -> None:
    try:
        _hit()
    except OSError as error:
        raise ReadError("the file cannot be read") from error


def test_what_was_made_of_it_is_not_told(tmp_path: Path) -> None:
    def handle(number: int, frame: object) -> None:
        raise TimeoutError("late")

    signal.signal(signal.SIGUSR1, handle)
    with pytest.raises(TimeoutError, match="late"):
        _converted(_taken_for_the_files, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_came_before_is_not_raised_again() -> None:
    signal.signal(signal.SIGUSR1, _plain)
    try:
        _hit()
    except Mine:
        with pytest.raises(ReadError, match="another"), interrupts_kept():
            raise ReadError("another")  # noqa: B904 - as who does not look back


def test_a_plugins_own_exit_stays_its_failure() -> None:
    signal.signal(signal.SIGUSR1, _plain)
    plugin = PluginInfo("theirs", "somewhere", "1", "theirs")
    with pytest.raises(PluginFailure, match="SystemExit"):
        Guarded(lambda: sys.exit(3), plugin, "a place")()


@pytest.mark.parametrize("error", [TimeoutError("late"), ValueError("late"), Mine("late"), SystemExit(3)])
def test_a_time_limit_is_kept_while_a_child_is_asked(error: BaseException) -> None:
    """`TimeoutError` is an `OSError`, and was taken for the child's end; the child does not answer the next one with the last."""
    def handle(number: int, frame: object) -> None:
        raise error

    before = signal.signal(signal.SIGALRM, handle)
    worker = Worker("the judge", needs=("numpy",))
    try:
        first = worker.call("os:getpid")
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(type(error)) as caught:
            worker.call("time:sleep", 30)
        assert caught.value is error
        assert worker.call("os:getpid") != first
        np.testing.assert_array_equal(worker.call("numpy:arange", 3), np.arange(3))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        worker.stop()


def _late(given: Any) -> Iterator[Any]:
    """What is given, and a signal behind it."""
    yield given
    _taken_for_the_files()


_SAMPLE = {"x": np.zeros(2, np.float32)}
_ASKED: dict[str, Callable[[Module, Path], Any]] = {
    "run": lambda module, file: transload.run(module, _SAMPLE, watch=lambda *_: _taken_for_the_files()),
    "calibrate": lambda module, file: transload.calibrate(module, _late(_SAMPLE)),
    "quantize": lambda module, file: transload.quantize(module, "int8", _late(_SAMPLE)),
    "quantization_report": lambda module, file: transload.quantization_report(module, module, _late(_SAMPLE)),
    "compare": lambda module, file: transload.compare(file, file, outputs=_late("y")),
    "evaluate": lambda module, file: transload.evaluate([file], file.parent, metrics=_late("top1")),
    "convert_all": lambda module, file: transload.convert_all(_late(file), "tosa", file.parent / "out"),
}


@pytest.mark.parametrize("name", _ASKED)
def test_whatever_is_asked_for_ends_by_it(name: str, tmp_path: Path) -> None:
    """It was an error of the file, or of a metric, wherever something had made that of it on its way."""
    module = new_module()
    block = module.add_function("main", [TensorType((2,), F32)], ["x"]).regions[0].block
    relu = Builder(block, location="here").create("top.Relu", block.arguments, [TensorType((2,), F32)])
    set_results(module.main, [relu.result], ["y"])
    file = transload.save(module, tmp_path / "model.mlir")

    def handle(number: int, frame: object) -> None:
        raise TimeoutError("late")

    signal.signal(signal.SIGUSR1, handle)
    with pytest.raises(TimeoutError, match="late"):
        _ASKED[name](module, file)
