"""A plugin that fails is told by its name, the others go on, and nothing is left of it: neither half a file nor a changed host.

A plugin registers one of everything (`_odd_plugin`). One of its functions raises, gives or changes what it should not, while one
of the things is done that call it, in the library or on the command line. The rule is a user's: what ends the call is an error of
ours that names the plugin, what goes on says so, and the same call is right as soon as the plugin is.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import io
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import click
import numpy as np

import transload
from transload.cli import run as command_line
from transload.context import Context
from transload.errors import PluginFailure, ReadError, TransloadError, Unsupported, UsageError
from transload.ir import Module
from transload.passes.manager import Pipeline
from transload.plugin_host import Host
from transload.text import print_module

from tests.drawn import Outcome
from tests.drawn._odd_plugin import ORDER, Misbehaviour, OddPlugin, module_of_twice

SAMPLE = 13


# --- exceptions


class _Odd(BaseException):
    """What a library might raise to get out of everything."""


class _Unsayable(Exception):
    def __str__(self) -> str:
        raise ValueError("str")

    __repr__ = __str__


class _Equal(Exception):
    def __eq__(self, other: object) -> bool:
        raise ValueError("eq")

    def __hash__(self) -> int:
        raise ValueError("hash")

    def __bool__(self) -> bool:
        raise ValueError("bool")


class _Asked(Exception):
    def __getattr__(self, name: str) -> Any:
        raise ValueError(name)


class _Answering(Exception):
    """Whatever it is asked for, it has."""

    def __getattr__(self, name: str) -> Any:
        return self


class _Traced(Exception):
    @property
    def __traceback__(self) -> Any:  # type: ignore[override]
        raise ValueError("traceback")


class _Set(Exception):
    def __setattr__(self, name: str, value: Any) -> None:
        raise ValueError(name)


class _Lying(Exception):
    @property
    def __class__(self) -> Any:
        raise ValueError("class")


class _Pretending(Exception):
    """It says to be of a class of ours."""

    @property
    def __class__(self) -> Any:
        return TransloadError


class _Long(Exception):
    def __str__(self) -> str:
        return "long " * 2_000_000


class _Shown(str):
    def __str__(self) -> str:
        raise ValueError("text")

    __repr__ = __format__ = __str__  # type: ignore[assignment]


class _Own(TransloadError):
    """A plugin's own kind of our error."""


class _Bare(TransloadError):
    def __init__(self) -> None:
        """Without the base's."""


class _Wordless(TransloadError):
    def __str__(self) -> str:
        raise ValueError("str")


class _NotSaying(Unsupported):
    def __init__(self) -> None:
        """Without the base's."""


class _OddError(OSError):
    @property
    def errno(self) -> Any:
        raise ValueError("errno")


def _cyclic() -> Exception:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    return one


def _noted() -> Exception:
    error = ValueError("noted")
    error.__notes__ = [3, _Shown("x")]  # type: ignore[list-item]
    return error


def _group() -> BaseException:
    """Several at once, as of asyncio's tasks; before Python 3.11 there are none."""
    several: Any = getattr(builtins, "BaseExceptionGroup", None)
    return several("g", [SystemExit(1), ValueError("x")]) if several is not None else ValueError("x")


def _deep() -> Any:
    return _deep()


MEANT: list[Callable[[], BaseException]] = [
    lambda: TransloadError("meant"), lambda: ReadError("meant"), lambda: UsageError("meant"), lambda: _Own("meant"),
    lambda: TransloadError(""), lambda: OSError(24, "Too many open files")]
"""What a plugin raises to say something, or what is no plugin's fault (docs/plugins.md): told as it is."""

OF_FILES: list[Callable[[], BaseException]] = [
    lambda: OSError(28, "No space left on device"), lambda: FileNotFoundError(2, "No such file", "x"),
    lambda: PermissionError(13, "Permission denied"), lambda: OSError("meant"), lambda: BrokenPipeError(32, "pipe"),
    lambda: TimeoutError("late"), _OddError, lambda: InterruptedError(), ConnectionResetError]
"""What a disk does: told as it is of what has to do with files, and of all others with the plugin's name."""

ENDS: list[Callable[[], BaseException]] = [lambda: click.ClickException("c"), click.Abort, lambda: click.exceptions.Exit(0)]
"""By what a command ends; anywhere else they are a fault."""

WITH_FILES, COMMANDS = ("reader.read", "reader.detect", "format.detect", "writer.write", "target.emit", "command"), ("command",)

FAULTS: list[Callable[[], BaseException]] = [
    lambda: ValueError("v"), lambda: KeyError("k"), lambda: AttributeError("a"), lambda: TypeError("t"), lambda: IndexError(),
    lambda: RuntimeError("r"), lambda: NotImplementedError(), lambda: StopIteration(3), lambda: GeneratorExit(),
    lambda: StopAsyncIteration(),
    lambda: RecursionError(), lambda: SystemExit(0), lambda: SystemExit("bye"), lambda: SystemExit(None),
    lambda: UserWarning("w"),
    lambda: AssertionError(), lambda: ImportError("i", name="odd"), lambda: ModuleNotFoundError("m"),
    lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), lambda: asyncio.CancelledError(), lambda: EOFError(),
    lambda: ZeroDivisionError(), lambda: SyntaxError("s", ("f", 1, 1, "x")), lambda: np.exceptions.AxisError(3, 2), _cyclic,
    _noted,
    lambda: MemoryError(), lambda: MemoryError("meant"), lambda: PluginFailure("own", plugin=None, place="x"),
    lambda: _Odd("odd"), _Unsayable, _Equal, _Asked, _Answering, _Traced, _Lying, _Pretending, _Long, _Bare,
    lambda: _Wordless("w"), _NotSaying,
    lambda: ValueError(_Shown("x")), lambda: ValueError("\x1b[2J\udc80\n\0"), lambda: KeyError(object()),
    lambda: ValueError([[1]], {}),
    _group, _Set,
   ]
"""What nobody meant."""


def raising(make: Callable[[], BaseException]) -> Misbehaviour:
    def act(good: Any, arguments: Any, named: Any) -> Any:
        raise make()

    return act


# --- what is given back


class _Sly:
    """Whatever Python asks of it raises."""

    def _raise(self, *arguments: Any) -> Any:
        raise ValueError("sly")

    __bool__ = __len__ = __iter__ = __repr__ = __str__ = __hash__ = __eq__ = _raise  # type: ignore[assignment]
    __getattr__ = __float__ = __index__ = __array__ = __call__ = __getitem__ = __contains__ = __format__ = _raise
    __enter__ = __lt__ = __add__ = _raise


class _Classless:
    @property
    def __class__(self) -> Any:
        raise ValueError("class")


class _Dict(dict[Any, Any]):
    def __iter__(self) -> Iterator[Any]:
        raise ValueError("iter")

    items = keys = values = __getitem__ = __iter__  # type: ignore[assignment]


class _List(list[Any]):
    def __len__(self) -> int:
        return 7


async def _later() -> None:
    pass


def _failing_midway() -> Iterator[Any]:
    yield from ()
    raise KeyError("midway")


def _endless() -> Iterator[int]:
    while True:
        yield 1


GIVEN: list[Callable[[], Any]] = [
    lambda: None, lambda: 0, lambda: 1, lambda: True, lambda: False, lambda: "", lambda: "x", lambda: _Shown("x"), lambda: b"",
    lambda: 3.5,
    lambda: float("nan"), lambda: float("inf"), lambda: 1 << 20000, lambda: 1j, list, lambda: [1], lambda: [None], dict,
    lambda: {"x": 1},
    lambda: {1: 2}, lambda: {"y": None}, lambda: {"y": np.zeros(3, np.float32)}, lambda: {"y": np.array([None] * 4)},
    lambda: {"y": _Sly()},
    lambda: {"y": np.full(4, np.nan, np.float32)}, lambda: {"y": np.zeros(4)}, lambda: {"y": [0.0] * 4}, lambda: (),
    lambda: (1, 2), object, _Sly,
    _Classless, lambda: _Dict(y=1), lambda: _List([1]), lambda: np.zeros(4, np.float32), lambda: np.zeros((2, 2), np.int8),
    lambda: np.array(None),
    lambda: np.ma.masked_all(4, np.float32), lambda: np.float32(1), lambda: np.bool_(True), lambda: int,
    lambda: ValueError("given"),
    lambda: NotImplemented, lambda: ..., lambda: print, _failing_midway, _endless, lambda: _later(), lambda: iter(()),
    lambda: set("ab"),
    transload.ir.new_module, module_of_twice, lambda: Path("x"), lambda: [_Sly()], lambda: {"y": _Classless()},
    lambda: {_Shown("y"): 1},
    lambda: memoryview(b"1234"), lambda: range(1 << 40), lambda: np.zeros(0), lambda: ["\udc80"], lambda: "\x1b[2J",
    lambda: "long " * 1_000_000]


def giving(make: Callable[[], Any]) -> Misbehaviour:
    return lambda good, arguments, named: make()


def within(make: Callable[[], Any]) -> Misbehaviour:
    """What is right, with something else in it, or beside it."""

    def act(good: Any, arguments: Any, named: Any) -> Any:
        right = good(*arguments, **named)
        if isinstance(right, Mapping):
            return {**right, **dict.fromkeys(right, make())} if right else {"x": make()}
        if isinstance(right, list | tuple):
            return type(right)([*right, make()])
        return [right, make()]

    return act


# --- what is done beside


def _spoilt(value: Any) -> None:
    with contextlib.suppress(ValueError, TypeError, AttributeError):
        if isinstance(value, Module):
            value.attributes["odd.note"] = 1
            for op in list(value.ops()):
                op.attributes["odd.note"] = 1
        elif isinstance(value, np.ndarray):
            value[...] = 7
        elif isinstance(value, dict):
            value.clear()
        elif isinstance(value, list):
            value.append(None)


def spoiling(good: Any, arguments: Any, named: Any) -> Any:
    right = good(*arguments, **named)
    for each in (*arguments, *named.values()):
        _spoilt(each)
    return right


def beside(act: Callable[[], Any]) -> Misbehaviour:
    def misbehave(good: Any, arguments: Any, named: Any) -> Any:
        act()
        return good(*arguments, **named)

    return misbehave


BESIDE: list[Callable[[], Any]] = [
    lambda: os.chdir("/"), lambda: print("noise"), lambda: sys.setrecursionlimit(60),
    lambda: __import__("warnings").warn("odd", stacklevel=1),
    lambda: sys.stderr.write("noise\n"), lambda: ORDER.called.clear(), lambda: transload.host().everything(),
    lambda: Host(only="")]


def misbehaviour(rng: random.Random, place: str) -> tuple[str, Misbehaviour]:
    """How a function misbehaves, and whether it raises "fault" or "meant", gives "other" things, or does something "beside"."""
    kind = rng.choice(["fault"] * 6 + ["meant", "given", "given", "given", "given", "within", "spoils", "beside", "deep"])
    if kind == "fault":
        return "fault", raising(rng.choice(FAULTS))
    if kind == "meant":
        kind, made = rng.choice([("meant", MEANT), ("meant" if place in WITH_FILES else "fault", OF_FILES),
                                 ("meant" if place in COMMANDS else "fault", ENDS)])
        return kind, raising(rng.choice(made))
    if kind in ("given", "within"):
        return "other", (giving if kind == "given" else within)(rng.choice(GIVEN))
    if kind == "deep":
        return "fault", lambda good, arguments, named: _deep()
    return ("beside", spoiling) if kind == "spoils" else ("beside", beside(rng.choice(BESIDE)))


# --- what is done with a plugin

ONCE = "dialect.load"
"""What a host calls once, and keeps."""

X = {"x": np.arange(4, dtype=np.float32)}
Journey = Callable[[Path], Any]


def _converted(folder: Path, target: str, **how: Any) -> str:
    artifact = transload.convert(folder / "m.odd", target, folder / "out", **how)
    report = json.loads((folder / "out" / "report.json").read_text())
    return f"{sorted(path.name for path in artifact.files)} {report.get('notes')} {report['verification']}"


def _shell(*arguments: str) -> Journey:
    def act(folder: Path) -> str:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = command_line([each.replace("FOLDER", str(folder)) for each in arguments])
        text = f"{out.getvalue()}\n{err.getvalue()}".replace(str(folder), "FOLDER")
        if code not in (0, 1, 2, 3, 4) or "Traceback" in text:
            raise AssertionError(f"exit code {code}: {text[-800:]}")
        if code:
            raise TransloadError(f"exit code {code}: {text:.3000}")
        return text

    return act


def _compared(folder: Path) -> Any:
    """Of an artifact that was written while all was well."""
    order, ORDER.how = ORDER.how, None
    _converted(folder, "odd-target", verify=False)
    ORDER.how = order
    return transload.compare(folder / "m.odd", folder / "out").tensors


JOURNEYS: dict[str, Journey] = {
    "load": lambda folder: print_module(transload.load(folder / "m.odd")),
    "load by detection": lambda folder: print_module(transload.load(folder / "m.what")),
    "load bytes": lambda folder: print_module(transload.load(text=b"odd!", format="odd")),
    "save": lambda folder: transload.save(module_of_twice(), folder / "m.oddout").read_text(),
    "lower": lambda folder: print_module(transload.lower(module_of_twice(), "tosa")),
    "passes": lambda folder: [record.name for record in Pipeline.parse("canonicalize,odd-pass").run(module_of_twice())],
    "run": lambda folder: transload.run(module_of_twice(), X),
    "run by engine": lambda folder: transload.run(module_of_twice(), X, engine="odd-engine"),
    "quantize": lambda folder: print_module(transload.quantize(transload.legalize(module_of_twice()), "odd-quant", [X])),
    "calibrate": lambda folder: transload.calibrate(transload.legalize(module_of_twice()), [X], "odd-cal").save(folder / "cal"),
    "convert": lambda folder: _converted(folder, "odd-target"),
    "convert by tolerance": lambda folder: _converted(folder, "odd-target", tolerance=["odd-metric=1"]),
    "convert in parts": lambda folder: _converted(folder, "odd-part"),
    "convert what it leaves": lambda folder: _converted(folder, "odd-leaves"),
    "convert quantized": lambda folder: _converted(folder, "odd-target", quantize="odd-quant", data=[X]),
    "compare": _compared,
    "evaluate": lambda folder: str(transload.evaluate(folder / "m.odd", [X, X], metrics=["odd-score"])),
    "inspect": lambda folder: str(transload.inspect(folder / "m.odd", "odd-target")),
    "$ odd-command": _shell("odd-command"),
    "$ plugins": _shell("plugins"),
    "$ targets": _shell("targets", "odd-target"),
    "$ ops": _shell("ops", "odd.Twice"),
    "$ convert": _shell("convert", "FOLDER/m.odd", "--target", "odd-target", "-o", "FOLDER/out"),
    "$ convert --json": _shell("convert", "FOLDER/m.odd", "--target", "odd-part", "-o", "FOLDER/out", "--json"),
    "$ inspect": _shell("inspect", "FOLDER/m.odd", "--target", "odd-target"),
    "$ run": _shell("run", "FOLDER/m.odd", "--engine", "odd-engine"),
    "$ opt": _shell("opt", "FOLDER/m.mlir", "-p", "canonicalize,odd-pass"),
    "$ run by kernels": _shell("run", "FOLDER/m.odd"),
    "$ passes": _shell("passes"),
}


_PROGRAM = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "odd.Twice"(%x) {times = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
"""


@cache
def _context() -> Context:
    own = Host()
    own.register(OddPlugin(), "odd")
    return Context(own)


def _done(journey: Journey, folder: Path) -> str:
    """What it gives, in one text that is the same for the same."""
    (folder / "m.odd").write_bytes(b"odd!")
    (folder / "m.what").write_bytes(b"odd?")
    (folder / "m.mlir").write_text(_PROGRAM)
    given = journey(folder)
    text = str({name: array.tolist() for name, array in given.items()} if isinstance(given, dict) else given)
    return text.replace(str(folder), "FOLDER")


@cache
def places(name: str) -> tuple[str, ...]:
    """The functions that a journey calls."""
    ORDER.how = None
    ORDER.called = set()
    _context.cache_clear()  # what is called once, a dialect's loading, is called again
    with _context().bind(), tempfile.TemporaryDirectory() as folder:
        _done(JOURNEYS[name], Path(folder))
    return tuple(sorted(ORDER.called))


def draw(number: int, folder: Path) -> Outcome:
    rng = random.Random(f"plugins {number}")
    name = rng.choice(list(JOURNEYS))
    there = places(name)
    if not there:
        return Outcome("not judged")
    place = rng.choice(there)
    kind, how = misbehaviour(rng, place)
    if place == ONCE:
        _context.cache_clear()
    before = str(Path.cwd()), np.geterr(), sys.getrecursionlimit(), _state()
    bad, well = folder / "bad", folder / "well"
    bad.mkdir(), well.mkdir()
    case = f"{name}, {place}, case {number}"
    with _context().bind():
        ORDER.place, ORDER.how, ORDER.called = place, how, set()
        try:
            outcome = _judged(JOURNEYS[name], bad, kind, place, case)
        finally:
            ORDER.how = None
            after, place_after = (np.geterr(), sys.getrecursionlimit(), _state()), _where()
            os.chdir(before[0])
            sys.setrecursionlimit(before[2])
        if place not in ORDER.called:  # by this process before
            return Outcome("not judged")
        if outcome.wrong is not None:
            return outcome
        if (place_after, *after) != before:
            return Outcome(outcome.word, f"something else is changed: {(place_after, *after)}\n{case}: {before}")
        if (left := _left(bad, outcome.word)):
            return Outcome(outcome.word, f"something is left\n{case}: {left}")
        try:
            _done(JOURNEYS[name], well)
        except Exception as error:
            return Outcome(outcome.word,
                f"the next call, where all is well, fails: {type(error).__name__}\n{case}: {error!s:.400}")
    return outcome


def _where() -> str:
    try:
        return str(Path.cwd())
    except OSError:
        return ""


def _state() -> list[str]:
    host = _context().host
    return [*(f"{info} {info.error} {info.registered}" for info in host.plugins)]


def _left(folder: Path, word: str) -> list[str]:
    """Files that a call which failed should not have left."""
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path.parent.name != "dump")
    temporary = [each for each in found if ".transload" in each or each.endswith(".tmp")]
    half = [each for each in found if each.startswith("out/") and each != "out/report.json"]
    return temporary or (half if word == "refused" else [])


def _judged(journey: Journey, folder: Path, kind: str, place: str, case: str) -> Outcome:
    try:
        text = _done(journey, folder)
    except TransloadError as error:
        told = f"{error} {getattr(error, 'hint', '')}"
        compared = "compare" in case  # the artifact is of before
        if kind in ("meant", "other", "beside") or "'odd'" in told or "odd (" in told:
            wrong = "please report it" in told and "'odd'" not in told
            why = f"another is blamed, of {place}\n{case}: {told:.500}" if wrong else None
            return Outcome("told" if compared else "refused", why)
        return Outcome("refused", f"the plugin is not named, of {place}\n{case}: {type(error).__name__} {told:.500}")
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        try:
            shown = repr(error)[-700:]
        except BaseException:
            shown = ""
        return Outcome("raised", f"raises {type.__dict__['__name__'].__get__(type(error))}, of {place}\n{case}: {shown}")
    if kind == "fault" and "odd" not in text.replace("odd-target", "").replace("odd.Twice", ""):
        return Outcome("silent", f"a failure is not told, of {place}\n{case}: {text:.300}")
    return Outcome("goes on")
