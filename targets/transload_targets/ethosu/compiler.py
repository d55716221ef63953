"""Running Vela on a `.tosa` file.

Vela runs in a process of its own, by its command line, which is its public interface. Its compiler core is
native code that ends the process with a signal on some inputs (SIGFPE on a tensor with no elements, SIGSEGV on
a zero point that is no constant, both measured with 5.2.0); in this process that would take the user's program
with it. What that costs: 0.20 s a model, 0.14 s of them Vela's imports, where a call in this process takes 0.02 s
once Vela is imported.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from configparser import ConfigParser
from configparser import Error as ConfigError
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from transload.budget import VARIABLE, allowance, more_than
from transload.child import environment, python_command
from transload.errors import TargetError, UsageError
from transload.files import is_file

from .accelerators import MEMORY_MODES, SYSTEM_CONFIGS, Accelerator

__all__ = ["Compiled", "Settings", "VelaRefusal", "compile_file", "vela_version"]

_RUN_VELA = "import runpy; runpy.run_module('ethosu.vela', run_name='__main__', alter_sys=True)"
OLDEST = 5
"""The first major version of Vela that reads TOSA 1.0."""


class VelaRefusal(TargetError):
    """Vela would not compile the file: `complaints` are its messages, each with Vela's name of the kind of op, or ''."""

    def __init__(self, message: str, complaints: Sequence[tuple[str, str]]) -> None:
        super().__init__(message)
        self.complaints = tuple(complaints)


def vela_version() -> str | None:
    """The installed Vela's version, None where there is none."""
    try:
        return version("ethos-u-vela")
    except PackageNotFoundError:
        return None


@dataclass(frozen=True)
class Settings:
    """How to compile: see `EthosU.options`."""

    system_config: str
    memory_mode: str
    optimise: str = "Performance"
    arena_cache_size: int = 0
    output_format: str = "raw"
    config: str = ""
    float_ops: str = "edges"
    timeout: int = 600

    @classmethod
    def of(cls, options: Mapping[str, object], accelerator: Accelerator) -> Settings:
        """From a target's options; `UsageError` where one cannot be."""
        given = {name: value for name, value in options.items() if value not in (None, "")}
        config = str(given.pop("config", ""))
        system = str(given.pop("system_config", "")) or SYSTEM_CONFIGS[accelerator.family][0]
        memory = str(given.pop("memory_mode", "")) or _memory_mode(system, accelerator)
        settings = cls(system, memory, config=config, **given)  # type: ignore[arg-type]
        _one_of("optimise", settings.optimise, ("Performance", "Size"))
        _one_of("output_format", settings.output_format, ("raw", "tflite"))
        _one_of("float_ops", settings.float_ops, ("edges", "host", "refuse"))
        if config:
            _need_sections(config, system_config=system, memory_mode=memory)
        else:
            _one_of("system_config", system, SYSTEM_CONFIGS[accelerator.family])
            _one_of("memory_mode", memory, MEMORY_MODES[accelerator.family])
        if settings.timeout <= 0:
            raise UsageError(f"option timeout must be at least 1 second, not {settings.timeout}")
        if settings.arena_cache_size < 0:
            raise UsageError(f"option arena_cache_size must be a number of bytes, not {settings.arena_cache_size}",
                             hint="0 is what the memory mode says")
        return settings

    def arguments(self) -> list[str]:
        """Vela's command line for these settings."""
        config = str(Path(self.config).resolve()) if self.config else "Arm/vela.ini"  # the latter is Vela's own
        arguments = [
            "--config", config, "--system-config", self.system_config, "--memory-mode", self.memory_mode,
            "--optimise", self.optimise, "--output-format", self.output_format]
        if self.arena_cache_size:
            arguments += ["--arena-cache-size", str(self.arena_cache_size)]
        return arguments


def _memory_mode(system: str, accelerator: Accelerator) -> str:
    """Vela's default, but on systems with flash: tensors cannot lie there, which the dedicated modes ask for."""
    flash = "Flash" in system or system == "Ethos_U65_Embedded"
    return "Shared_Sram" if flash else MEMORY_MODES[accelerator.family][0]


_SECTIONS = {"system_config": "System_Config.", "memory_mode": "Memory_Mode."}
"""How the sections of a configuration file begin, by the option that names the rest."""


def _need_sections(config: str, **named: str) -> None:
    """Raise `UsageError` where a configuration file is none that Vela reads, or has not the sections that options name."""
    path = Path(config)
    if not is_file(path):
        raise UsageError(f"option config: there is no file {config}")
    if path.suffix != ".ini":
        raise UsageError(f"option config: {config} is no configuration of Vela's, which are .ini files")
    parser = ConfigParser()
    try:
        parser.read_string(path.read_text(encoding="utf-8"))
    except (ConfigError, UnicodeDecodeError) as error:
        raise UsageError(f"option config: {config} is no .ini file: {' '.join(str(error).split())}") from None
    for option, name in named.items():
        start = _SECTIONS[option]
        if start + name not in parser.sections():
            has = [section.removeprefix(start) for section in parser.sections() if section.startswith(start)]
            raise UsageError(
                f"option config: {config} has no section [{start}{name}]",
                hint=f"--option {option}=NAME, of {', '.join(has)}" if has else f"a section [{start}NAME], and {option}=NAME")


def _one_of(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise UsageError(f"option {name} must be one of {', '.join(choices)}, not {value!r}")


@dataclass(frozen=True)
class Compiled:
    """What Vela made: the compiled model, its summary and its list of ops as csv, and what it printed."""

    model: Path
    summary: Path
    layers: Path | None
    printed: str


def compile_file(path: Path, accelerator: Accelerator, settings: Settings, directory: Path) -> Compiled:
    """Compile a `.tosa` file into `directory`; raises `VelaRefusal`, or `TargetError` where Vela does not end."""
    command = python_command(
        _RUN_VELA, str(path.resolve()), "--accelerator-config", accelerator.name, "--output-dir", str(directory.resolve()),
        "--verbose-performance", *settings.arguments(), needs=("ethosu", "numpy", "flatbuffers"))
    seconds = min(settings.timeout, allowance().seconds)
    try:
        run = subprocess.run(
            command, cwd=directory, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=seconds)
    except subprocess.TimeoutExpired:
        raise TargetError(
            f"Vela did not finish within {seconds:g} s",
            hint=("give it longer with option timeout (seconds)" if seconds == settings.timeout else
                  f"{VARIABLE}=seconds={more_than(seconds):g} allows more") + "; large batches take it very long") from None
    except OSError as error:
        raise TargetError(f"Vela could not be started with {sys.executable}: {error.strerror or error}") from None
    model = directory / f"{path.stem}_vela{'.npz' if settings.output_format == 'raw' else '.tflite'}"
    summary = next(iter(directory.glob("*_summary_*.csv")), None)
    if run.returncode == 0 and model.exists() and summary is not None:
        layers = directory / f"{path.stem}_per-layer.csv"
        return Compiled(model, summary, layers if layers.exists() else None, run.stdout)
    _raise_what_the_machine_lacks(run.stderr)
    if settings.config:
        _raise_what_the_configuration_lacks(settings.config, run.stdout + run.stderr)
    raise _refusal(run.returncode, run.stdout, run.stderr)


def _raise_what_the_machine_lacks(errors: str) -> None:
    """Raise what ended Vela where that says nothing of the model: a full disk, files it may not write, too little memory."""
    last = (errors.strip().splitlines() or [""])[-1]
    system = re.match(r"(?:\w*\.)*\w*Error: (?:\[Errno (\d+)\] |\d+ requested and \d+ written)", last)
    if system:  # the latter is how numpy says that a disk is full
        number = int(system[1] or errno.ENOSPC)
        raise OSError(number, f"Vela: {os.strerror(number)}")
    if re.match(r"(?:\w*\.)*_?(?:Array)?MemoryError\b", last):
        raise TargetError("Vela ran out of memory", hint="give the machine more, or the model smaller inputs")


def _raise_what_the_configuration_lacks(config: str, printed: str) -> None:
    """Raise `UsageError` where Vela ended while it read the configuration, before the model."""
    said = _exception_text(printed)
    if "_get_vela_config" in printed or said.startswith(("Invalid configuration of", "Incorrect argument to CLI option")):
        raise UsageError(f"option config: Vela does not take {config}: {' '.join(said.split())}")


def _refusal(code: int, printed: str, errors: str) -> VelaRefusal:
    if code < 0:
        return VelaRefusal(f"Vela crashed ({_signal_name(-code)})", [])
    said = _exception_text(errors) or " ".join((errors or printed).strip().splitlines()[-1:]) or f"exit status {code}"
    return VelaRefusal("Vela refused the model", _complaints(said))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _exception_text(errors: str) -> str:
    """The message of the exception that ended Vela, without its traceback."""
    starts = [found.end() for found in re.finditer(r"^[\w.]*(?:Error|Exception|Failure): ?", errors, re.MULTILINE)]
    return errors[starts[-1] :].strip().strip("'\"") if starts else ""


def _complaints(said: str) -> list[tuple[str, str]]:
    """Vela's message taken apart: (kind of op, what is wrong with it)."""
    refused = re.search(r"operation \((\w+)\) could not run on NPU", said)
    if refused:
        return [(refused[1], "Vela could not place it on the NPU")]
    blocks = re.findall(r"^(\w+):\n((?: - .*(?:\n|$))+)", said, re.MULTILINE)
    complaints = [(kind, "; ".join(line[3:] for line in lines.splitlines())) for kind, lines in blocks]
    return list(dict.fromkeys(complaints)) or [("", " ".join(said.split()))]
