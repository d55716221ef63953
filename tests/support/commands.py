"""A command line of ours in a process of its own, with the surroundings that a user's shell may give it, and how it ended.

The process is forked from this one, where everything is loaded already, and takes tenths of a second; or it is a new interpreter.
"""

from __future__ import annotations

import atexit
import os
import resource
import selectors
import signal
import sys
import tempfile
import time
import traceback
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
STREAMS = ("in", "out", "err")
_LONGEST = 200.0
"""Seconds after which a command hangs."""


@dataclass(frozen=True)
class Surroundings:
    """What a command finds: by default, what a script of a user gives it."""

    environment: Mapping[str, str | None] = field(default_factory=dict)
    """Variables that are set, or, where None, are not."""
    streams: Mapping[str, str] = field(default_factory=dict)
    """What `in`, `out` and `err` are: "closed", "full" (a disk), "gone" (a reader who went); pipes where nothing is said."""
    limits: Mapping[int, int] = field(default_factory=dict)
    """What the process may have of the system, by the number in `resource`."""
    folder: Path | None = None
    """The current one."""
    is_folder_gone: bool = False
    umask: int = 0o022
    signal: tuple[int, float] | None = None
    """A signal that it gets, and after how many seconds."""
    is_new: bool = False
    """Whether it is another interpreter."""

    def __str__(self) -> str:
        said = {name: value for name, value in vars(self).items() if value not in ({}, None, False, 0o022)}
        return ", ".join(f"{name}: {value}" for name, value in said.items()) or "nothing special"


@dataclass(frozen=True)
class Ended:
    """How a command ended, its exit code as a shell has it, and what it printed."""

    line: tuple[str, ...]
    around: Surroundings
    code: int
    out: bytes
    err: bytes
    is_killed: bool
    """By the system: a signal that it did not answer."""
    is_late: bool
    """It never ended."""
    is_ready: bool
    """Whether it answered its signal by itself when it got that: before it is loaded the system does."""
    memory: int
    """MiB that it took at one time."""

    def __str__(self) -> str:
        said = [each.decode(errors="backslashreplace")[-1500:] for each in (self.out, self.err) if each]
        return "\n".join([f"$ transload {' '.join(map(repr, self.line))}   ({self.around})", f"exit code {self.code}", *said])


@cache
def _load() -> None:
    """Load what commands need, by running some: processes that are forked have it then."""
    from transload.cli import run

    with tempfile.TemporaryDirectory() as folder:
        for name in ("digits_int8.tflite", "digits_float.onnx"):
            run(["convert", str(DIGITS / name), "--verify=no", "-q", "-o", folder])
            run(["run", folder, "-q"])
        run(["view", folder, "--html", str(Path(folder) / "page.html"), "-q"])


def ended(line: Sequence[str], around: Surroundings | None = None) -> Ended:
    """Run a command to its end, whatever that is."""
    around = around or Surroundings()
    if not around.is_new:
        _load()
    ends = {name: os.pipe() for name in ("out", "err")}
    child = os.fork()
    if child == 0:
        try:
            _surround(around, ends)
            _become(list(line), around)
        except BaseException:
            os.write(2, traceback.format_exc().encode())
        finally:
            os._exit(99)
    for _, writes in ends.values():
        os.close(writes)
    said, is_late, is_ready = _listened(child, {name: reads for name, (reads, _) in ends.items()}, around)
    _, status, used = os.wait4(child, 0)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)  # children that it left would hold what is to be removed
    code, memory = os.waitstatus_to_exitcode(status), used.ru_maxrss // 1024
    return Ended(tuple(line), around, 128 - code if code < 0 else code, *said, code < 0, is_late, is_ready, memory)


def _listened(child: int, pipes: Mapping[str, int], around: Surroundings) -> tuple[tuple[bytes, bytes], bool, bool]:
    """What a process prints until it ends, which gets its signal meanwhile; whether it had to be killed; whether it was ready."""
    texts = {"out": bytearray(), "err": bytearray()}
    began, is_sent, is_late, is_over, is_ready = time.monotonic(), around.signal is None, False, False, False
    with selectors.DefaultSelector() as selector:
        for name, reads in pipes.items():
            if around.streams.get(name) == "gone":
                os.close(reads)
            else:
                selector.register(reads, selectors.EVENT_READ, name)
        while not is_over:
            # What it left to read is read after it ended: not before, and not as long as its children live.
            is_over = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
            now = time.monotonic() - began
            if around.signal is not None and not is_sent and now >= around.signal[1] and not is_over:
                is_ready = _answers(child, around.signal[0])
                os.kill(child, around.signal[0])
                is_sent = True
            if now > _LONGEST and not is_over:
                is_late = True
                os.kill(child, signal.SIGKILL)
            while found := selector.select(0 if is_over else 0.02):
                for key, _ in found:
                    part = os.read(key.fd, 65536)
                    texts[key.data] += part
                    if not part:
                        selector.unregister(key.fd)
                        os.close(key.fd)
                if not selector.get_map():
                    break
            if not selector.get_map() and not is_over:
                time.sleep(0.01)
        for left in list(selector.get_map().values()):
            os.close(left.fd)
    return (bytes(texts["out"]), bytes(texts["err"])), is_late, is_ready


def _answers(process: int, number: int) -> bool:
    """Whether a process has said what it does at a signal; False where the system does not tell."""
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace").splitlines()
        return any(int(line.split()[1], 16) >> number - 1 & 1 for line in lines if line.startswith("SigCgt:"))
    except (OSError, ValueError, IndexError):
        return False


def _surround(around: Surroundings, ends: Mapping[str, tuple[int, int]]) -> None:
    """Make of this process, which was just forked, one with these surroundings."""
    os.setpgid(0, 0)
    full, empty = os.open("/dev/full", os.O_WRONLY), os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    for number, name in enumerate(STREAMS[1:], 1):
        os.dup2(full if around.streams.get(name) == "full" else ends[name][1], number)
    for end in (full, empty, *ends["out"], *ends["err"]):  # a reader who went is one only where nobody has his end
        os.close(end)
    for number, name in enumerate(STREAMS):
        if around.streams.get(name) == "closed":
            os.close(number)
    os.umask(around.umask)
    if around.folder is not None:
        os.chdir(around.folder)
        if around.is_folder_gone:
            around.folder.rmdir()
    for variable, value in around.environment.items():
        os.environ.pop(variable, None)
        if value is not None:
            os.environ[variable] = value
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)  # as `transload.__main__` has it
    # Python keeps what it compiled even where a limit cut that short, and everybody who loads it then fails.
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    for number, most in around.limits.items():
        if number == resource.RLIMIT_NOFILE:  # beside those that the process has from the one that runs the tests
            most += 1 + max(int(each.name) for each in Path("/dev/fd").iterdir())
        resource.setrlimit(number, (most, most))


def _become(line: list[str], around: Surroundings) -> None:
    """Be the command, and end with its exit code."""
    if around.is_new:
        os.execv(sys.executable, [sys.executable, "-m", "transload", *line])
    from transload.cli import main

    tempfile.tempdir = None
    weakref.finalize._registry.clear()  # type: ignore[attr-defined]  # the folders of the process that this one was forked from
    encoding, _, errors = (around.environment.get("PYTHONIOENCODING") or "utf-8").partition(":")
    if around.environment.get("LC_ALL") == "C":
        encoding = "ascii"
    for number, name in enumerate(STREAMS):
        stream = None
        if around.streams.get(name) != "closed":
            stream = open(number, "w" if number else "r", encoding=encoding, errors=errors or None, closefd=False)  # noqa: SIM115 - to the end
        setattr(sys, f"std{name}", stream)
        setattr(sys, f"__std{name}__", stream)
    code: object = 0
    try:
        main(line)
    except SystemExit as error:
        code = error.code
    atexit._run_exitfuncs()
    os._exit(code if isinstance(code, int) else 1)
