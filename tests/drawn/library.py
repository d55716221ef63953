"""A program that calls Transload from Python finds its process as it left it, whether a call returns or raises.

A case makes some calls of `transload` on small models, right and wrong, in a process of its own whose settings are drawn, and
compares what Python says of the process before and after: settings of interpreter, libraries and system, streams, threads.
"""

from __future__ import annotations

import decimal
import faulthandler
import gc
import json
import locale
import logging
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import transload
from transload.errors import TransloadError

from tests.drawn import Outcome
from tests.support.small_files import MODELS, NO_MODELS

SAMPLE = 6


def draw(number: int, folder: Path) -> Outcome:
    dice = random.Random(f"library {number}")
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        said: dict[str, Any] = {}
        try:
            os.close(reads)
            said = _case(dice, folder)
        except BaseException:
            said = {"word": "raised", "wrong": f"raises\n{traceback.format_exc()}"}
        finally:
            os.write(writes, json.dumps(said).encode()[:60_000])
            os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return Outcome(**json.loads(text)) if text else Outcome("ended", "a call ends the process")


def _case(dice: random.Random, folder: Path) -> dict[str, Any]:
    """The outcome of a case, in the process that it may change."""
    kind = dice.choice([*MODELS, *NO_MODELS])
    suffix, make = (MODELS | NO_MODELS)[kind]
    model = make(folder / f"model{suffix}")
    steps = _steps(model, folder)
    _warmed(folder)
    _set(dice)
    log: list[str] = []
    for name in dice.choices(list(steps), k=dice.choice((1, 2, 3))):
        before = _state()
        try:
            steps[name]()
            how = "returned"
        except TransloadError as error:
            how = f"raised {type(error).__name__}"
        log.append(f"{name} of {kind}: {how}")
        after = _state()
        for what, value in before.items():
            if value != after[what]:
                return {"word": "changed", "wrong": "\n".join([f"{name} changes {what}", f"{value} to {after[what]}", *log])}
    return {"word": "as it was", "wrong": None}


def _steps(model: Path, folder: Path) -> dict[str, Callable[[], Any]]:
    """What a program may call."""

    def of_random(module: Any) -> Any:
        return transload.run(module, {name: np.ones(type_.shape, np.float32) for name, type_ in module.inputs.items()})

    def in_threads() -> None:
        def one(number: int) -> None:
            with suppress(TransloadError):
                transload.convert(model, "tosa", folder / f"out{number}", verify="no")

        threads = [threading.Thread(target=one, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return {
        "load": lambda: transload.load(model),
        "convert": lambda: transload.convert(model, "tosa", folder / "out", verify="no"),
        "convert and verify": lambda: transload.convert(model, "tosa", folder / "out"),
        "convert to what is none": lambda: transload.convert(model, "nosuch", folder / "out"),
        "convert into a file": lambda: transload.convert(model, "tosa", model, verify="no"),
        "lower": lambda: transload.lower(transload.load(model), "tosa"),
        "run": lambda: of_random(transload.load(model)),
        "convert in threads": in_threads,
        "inspect": lambda: transload.plan(model, "tosa"),
    }


def _warmed(folder: Path) -> None:
    """Load what is loaded once: that a library is there afterwards is no change."""
    suffix, make = MODELS["int8"]
    transload.convert(make(folder / f"warm{suffix}"), "tosa", folder / "warm", verify="no")


def _set(dice: random.Random) -> None:
    """Have settings that are not Python's own, so that one which is put back to those is seen."""
    gc.set_threshold(*dice.choice(((700, 10, 10), (5, 2, 2), (0, 0, 0))))
    (gc.enable if dice.random() < 0.7 else gc.disable)()
    np.seterr(all=dice.choice(("ignore", "warn", "raise")))
    np.set_printoptions(precision=dice.choice((2, 8)))
    warnings.simplefilter(dice.choice(("error", "ignore", "always")))
    sys.setrecursionlimit(dice.choice((1000, 700, 5000)))
    sys.set_int_max_str_digits(dice.choice((0, 700, 4300)))
    random.seed(dice.random())
    np.random.seed(dice.randrange(100))
    signal.signal(signal.SIGINT, dice.choice((signal.SIG_IGN, signal.default_int_handler, lambda *_: None)))
    decimal.getcontext().prec = dice.choice((5, 28))
    logging.getLogger().setLevel(dice.choice((logging.DEBUG, logging.ERROR)))
    tempfile.tempdir = None


def _state() -> dict[str, Any]:
    """What Python and the system say of this process."""
    umask = os.umask(0o022)
    os.umask(umask)
    return {
        "the collector's thresholds": (gc.get_threshold(), gc.isenabled(), gc.get_debug(), len(gc.callbacks)),
        "what the collector leaves out": gc.get_freeze_count(),
        "numpy's errors": np.geterr(),
        "numpy's printing": str(np.get_printoptions()),
        "filters of warnings": str(warnings.filters),
        "how warnings are shown": id(warnings.showwarning),
        "the limit of recursion": sys.getrecursionlimit(),
        "the digits of numbers": sys.get_int_max_str_digits(),
        "random": hash(random.getstate()),
        "numpy's random": str(np.random.get_state(legacy=False)),
        "signals": str([signal.getsignal(number) for number in signal.valid_signals()]),
        "the wakeup file": _wakeup(),
        "alarms": signal.getitimer(signal.ITIMER_REAL),
        "decimals": str(decimal.getcontext()),
        "the log": (logging.getLogger().level, str(logging.getLogger().handlers), logging.root.manager.disable),
        "the current folder": str(Path.cwd()),
        "variables": str(sorted(os.environ.items())),
        "the locale": locale.setlocale(locale.LC_ALL),
        "limits": str([resource.getrlimit(number) for number in range(10)]),
        "umask": umask,
        "streams": [
            id(sys.stdin),
            id(sys.stdout),
            id(sys.stderr),
            id(sys.displayhook),
            id(sys.excepthook),
            id(sys.unraisablehook),
        ],
        "hooks of threads": id(threading.excepthook),
        "traces": (sys.gettrace() is None, sys.getprofile() is None),
        "where modules are found": (str(sys.path), len(sys.meta_path), len(sys.path_hooks)),
        "the switch of threads": sys.getswitchinterval(),
        "faults": faulthandler.is_enabled(),
        "how processes start": multiprocessing.get_start_method(allow_none=True),
        "cores": str(os.sched_getaffinity(0)),
        "the folder of temporary files": tempfile.gettempdir(),
        "threads": sorted(thread.name for thread in threading.enumerate()),
    }


def _wakeup() -> int:
    number = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(number)
    return number
