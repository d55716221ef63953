"""One case: a number decides a valid file, what is changed in it, and what is done with it; and what becomes of it."""

from __future__ import annotations

import io
import random
import re
import traceback
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from transload.api import load, lower, run
from transload.budget import allowance, allowed
from transload.engine.steps import elements_of
from transload.errors import InternalError, PluginFailure, TransloadError
from transload.ir import Module, verify
from transload.verification.inputs import random_inputs
from transload.verification.verify import verify_conversion

from tests.fuzz import (
    caffe_files,
    keras_files,
    onnx_files,
    pytorch_files,
    recorded_files,
    tensorflow_files,
    text_files,
    tflite_files,
)
from tests.fuzz.onward import Onward, onward_of, written
from tests.fuzz.viewed import is_viewed, viewed

__all__ = ["MUTATORS", "Case", "Outcome", "attempt", "case_of", "failure", "loaded", "options_of"]

_SHARES = {
    "tflite": 30, "onnx": 30, "mlir": 16, "bytecode": 8, "tosa": 8, "keras": 8, "caffe": 12, "pytorch": 12, "tensorflow": 30,
    "savedmodel": 4}
"""How often a format's files are changed."""
_READERS = {"bytecode": "stablehlo"}
MUTATORS: dict[str, Callable[[random.Random, bytes], bytes]] = {
    "tflite": tflite_files.mutate, "onnx": onnx_files.mutate, "mlir": text_files.mutate,
    "bytecode": recorded_files.mutate_bytecode, "tosa": recorded_files.mutate_flatbuffer,
    "keras": keras_files.mutate, "caffe": caffe_files.mutate,
    "pytorch": pytorch_files.mutate, "tensorflow": tensorflow_files.mutate, "savedmodel": tensorflow_files.mutate_saved}
"""What changes a valid file of a format."""
_JUDGED = {"tflite": ".tflite", "onnx": ".onnx"}
"""Formats whose files a runtime of their framework judges."""
_NO_MEMORY = re.compile("more memory than there is|not enough memory|more data than memory can hold")
"""What is said where there is no memory left, of which the process has as much as a case may take."""
_GIVEN = re.compile("const|return|no_?value|func|module", re.IGNORECASE)
"""Ops that compute nothing."""
_DRAWN = ("tensorflow", "savedmodel")
"""Formats whose random numbers are drawn and whose 64-bit integers may be assumed to fit, so that rules behind that are tried."""


@dataclass(frozen=True)
class Case:
    """A file, and what is done with it: read, lowered `to` a dialect, and, with `check`, compared with its runtime or run."""

    number: int
    format: str
    content: bytes
    to: str
    check: bool
    options: dict[str, Any] = field(default_factory=dict)
    onward: Onward | None = None
    """Where it is written as something instead."""
    view: bool = False
    """Whether it is looked at instead."""


@dataclass(frozen=True)
class Outcome:
    """What became of a case: `kind` is "read", "refused", "converted", "written", "viewed", "checked",
    "differs" or "failed".

    `place` says of a failure which it is: the exception and the function that raised it; `detail` is the traceback.
    """

    kind: str
    place: str = ""
    detail: str = ""


def case_of(number: int, seeds: Mapping[str, list[Path]]) -> Case:
    """The case with this number; the same in every run with the same seeds."""
    dice = random.Random(number)
    shares = {name: share for name, share in _SHARES.items() if seeds.get(name)}
    format = dice.choices(list(shares), list(shares.values()))[0]
    content = dice.choice(seeds[format]).read_bytes()
    to = dice.choice(("tosa", "tosa", "tosa", "stablehlo"))
    check = dice.randrange(20) == 0
    content = MUTATORS[format](dice, content)
    return Case(
        number, format, content, to, check, options_of(dice, format, to), onward_of(number),
        is_viewed(number))


def options_of(dice: random.Random, format: str, to: str) -> dict[str, Any]:
    """Options that have graphs of TensorFlow go further than the defaults do."""
    if format not in _DRAWN:
        return {}
    return {"random": "drawn", **({"int64": "assumed"} if to == "tosa" and dice.randrange(2) else {})}


def attempt(case: Case) -> Outcome:
    """Read, convert and check; whatever is raised is told."""
    reached = "refused when read"
    try:
        with TemporaryDirectory(prefix="transload-fuzz-") as folder:
            module = loaded(case, Path(folder))
            verify(module)
            reached = "refused"
            if case.onward is not None:
                kind, broken = written(module, case.onward, Path(folder))
                return Outcome(
                    kind, f"{case.format}: differs, {_ops_of(module)}, {case.onward}" if broken else "", "\n".join(broken))
            if case.view:
                viewed(module, case.to, Path(folder) / "page.html")
                return Outcome("viewed")
            lowered = lower(module, case.to, **case.options)
            if not case.check:
                return Outcome("converted")
            reached = "judge refused"
            with allowed(elements=1 << 24, seconds=15):
                return _checked(case, module, lowered)
    except (PluginFailure, InternalError) as error:
        return failure(error.__cause__ or error, case)
    except TransloadError as error:
        if _NO_MEMORY.search(str(error)):
            return failure(error, case)
        if isinstance(error.__cause__, PluginFailure):
            return failure(error.__cause__.__cause__ or error, case)
        return Outcome(reached)
    except Exception as error:
        return failure(error, case)


def loaded(case: Case, folder: Path) -> Module:
    if case.format == "savedmodel":
        return load(_unpacked(case.content, folder))
    if (case.check or (case.onward and case.onward.check)) and case.format in _JUDGED:
        file = folder / f"model{_JUDGED[case.format]}"
        file.write_bytes(case.content)
        return load(file)
    reader = _READERS.get(case.format, case.format)
    if reader == "mlir" and b'"builtin.module"' not in case.content:
        reader = "stablehlo"  # pretty text
    return load(text=case.content, format=reader)


def _unpacked(content: bytes, folder: Path) -> Path:
    """The folder that an archive holds."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(folder / "model")
    return folder / "model"


def _checked(case: Case, module: Module, lowered: Module) -> Outcome:
    """The verdict of the framework's runtime; where there is none, the module is run."""
    if elements_of(lowered) > allowance().elements:
        return Outcome("judge refused")
    if case.format not in _JUDGED:
        run(lowered, dict(random_inputs(lowered)), engine="reference")
        return Outcome("checked")
    verdict = verify_conversion(module, lowered, hub=lower(module, "top"), engine="reference")
    if verdict.failed:
        return Outcome("differs", f"{case.format}: differs, {_ops_of(module)}", "\n".join(verdict.broken))
    if _NO_MEMORY.search(verdict.why):
        return Outcome("failed", f"{case.format}: verification has no memory", verdict.why)
    return Outcome("checked" if verdict.passed else "judge refused")


def _ops_of(module: Module) -> str:
    """The ops of a module, three at most, by which results that differ are told apart."""
    names = dict.fromkeys(op.name for op in module.walk() if "." in op.name)
    return " ".join([name for name in names if not _GIVEN.search(name)][:3])


def failure(error: BaseException, case: Case) -> Outcome:
    """The class of a failure: what was raised, in which function; of invalid IR, which ops broke which rules."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/tests/" not in frame.filename]
    ours = [frame for frame in frames if "transload" in frame.filename] or frames
    where = f"{'/'.join(Path(ours[-1].filename).parts[-3:])}:{ours[-1].name}" if ours else "?"
    words = str(error).split("\n")
    if isinstance(error, TransloadError) and error.findings:
        where, words = error.findings[0].what, [error.findings[0].why]
    said = re.sub(r"-?\d[\d.e+-]*", "N", words[0])[:90]
    detail = "".join(traceback.format_exception(error))[-6000:]
    return Outcome("failed", f"{type(error).__name__} {where}: {said}", f"to {case.onward or case.to}\n{detail}")
