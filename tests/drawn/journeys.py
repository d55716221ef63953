"""Commands in turn, each in a user's surroundings, end as docs/errors.md says and leave what docs/convert.md says.

A journey is one to four commands on one small model and one folder of artifacts, with environment, streams, limits, signals and
destinations that are drawn. Judged are: the exit code, and that nobody is told of a defect; one line after a signal; `--json`,
which is one document, strict and of the schema; the report, whose digests are taken here; that the folder holds what its report
names and what lay there before; that nothing is left over; that what was read is as it was; that `run` and `compare` take what
was written.
"""

from __future__ import annotations

import hashlib
import os
import random
import resource
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tests.drawn import Outcome
from tests.support.command_rules import JSON_TOO, complaint, document
from tests.support.commands import Ended, Surroundings, ended
from tests.support.small_files import MODELS, NO_MODELS

SAMPLE = 4
_TARGETS = (
    "tosa",
    "stablehlo",
    "tflite",
    "onnx",
    "xla-cpu",
    "tosa",
    "ethos-u55-128",
    "iree-llvm-cpu",
    "openvino",
    "nosuch",
    "tflm",
)
_NAMES = ("build", "an out", "-dash", "ä" * 20, "report.json", "n" * 250, "a\nb", "\udcff", "build/below/it", "x.tosa")
_ENVIRONMENTS: tuple[Mapping[str, str | None], ...] = (
    {},
    {},
    {},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "utf-16"},
    {"PYTHONIOENCODING": "cp1252:strict"},
    {"COLUMNS": "1"},
    {"COLUMNS": "20"},
    {"COLUMNS": "80"},
    {"COLUMNS": "500"},
    {"COLUMNS": "-3"},
    {"COLUMNS": "no"},
    {"NO_COLOR": "1"},
    {"TERM": "dumb"},
    {"TERM": None},
    {"HOME": None},
    {"HOME": "/nonexistent"},
    {"HOME": ""},
    {"TMPDIR": "/nonexistent"},
    {"TMPDIR": ""},
    {"PYTHONWARNINGS": "error"},
    {"TRANSLOAD_DEBUG": "0"},
    {"PATH": ""},
    {"LINES": "1"},
    {"TZ": "nowhere"},
    {"XDG_CACHE_HOME": "/dev/null"},
    {"FORCE_COLOR": "1"},
    {"PYTHONHASHSEED": "7", "PYTHONDONTWRITEBYTECODE": "1"},
    {"TRANSLOAD_BUDGET": "nonsense"},
    {"PYTHONUNBUFFERED": "1"},
)
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass
class _Journey:
    """What a journey has to do with."""

    dice: random.Random
    folder: Path
    out: Path
    kind: str
    model: Path
    foreign: dict[Path, bytes] = field(default_factory=dict)
    is_reported: bool = False
    """Whether a report lies where artifacts are to go that no conversion wrote: it is not written over."""
    log: list[str] = field(default_factory=list)


def draw(number: int, folder: Path) -> Outcome:
    dice = random.Random(f"journeys {number}")
    journey = _prepared(dice, folder)
    words = []
    for _ in range(dice.choice((1, 1, 2, 3, 4))):
        line = _line(journey)
        around = _around(journey)
        before = _contents(folder)
        one = ended(line, around)
        journey.log.append(str(one))
        wrong = complaint(one) or _of_files(journey, one, before)
        words.append(_word(one))
        if wrong:
            return Outcome(words[-1], "\n".join([wrong, *journey.log]))
    wrong = _at_last(journey) if dice.random() < 0.3 else None
    return Outcome(words[-1], wrong and "\n".join([wrong, *journey.log]))


def _word(one: Ended) -> str:
    return f"{(*one.line, 'alone')[0]} {one.code}"


def _prepared(dice: random.Random, folder: Path) -> _Journey:
    """The model, and the folder that artifacts go to, where something may lie already."""
    kind = dice.choice([*MODELS, *MODELS, *NO_MODELS])
    suffix, make = (MODELS | NO_MODELS)[kind]
    place = folder / dice.choice(
        ("models", "mo dels", "möd", "\udcffm" if kind not in ("onnx beside", "caffe", "keras") else "m")
    )
    place.mkdir()
    model = make(place / f"{dice.choice(('model', 'a b', 'report.json', '-m', 'x' * 200))}{suffix}")
    out = folder / dice.choice(_NAMES)
    journey = _Journey(dice, folder, out, kind, model)
    for _ in range(dice.choice((0, 0, 1, 2))):
        _place(journey)
    np.savez(folder / "data.npz", input=np.zeros((2, 8, 8, 1), np.float32))
    return journey


def _place(journey: _Journey) -> None:
    """Put something where artifacts are to go."""
    dice, out = journey.dice, journey.out
    match dice.choice(("foreign", "foreign", "foreign", "link", "loop", "file", "report", "folder", "in the model's", "fifo")):
        case "foreign":
            if not os.path.lexists(out):
                out.mkdir(parents=True)
            if out.is_dir():
                for name in ("notes.txt", "sub/keep.bin", ".hidden", "zz.tosa"):
                    file = out / name
                    file.parent.mkdir(exist_ok=True)
                    file.write_bytes(name.encode())
                    journey.foreign[file] = name.encode()
        case "link" if not os.path.lexists(out):
            (journey.folder / "behind").mkdir(exist_ok=True)
            out.parent.mkdir(parents=True, exist_ok=True)
            out.symlink_to(journey.folder / "behind")
        case "loop" if not os.path.lexists(out):
            out.parent.mkdir(parents=True, exist_ok=True)
            out.symlink_to(out.name)
        case "file" if not os.path.lexists(out):
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_bytes(b"mine")
            journey.foreign[out] = b"mine"
        case "report" if out.is_dir():
            journey.is_reported = True
            (out / "report.json").write_text(
                dice.choice(("{}", "[]", "null", '{"files": ["../../x"]}', "\x00", '{"files": 3, "status": "converted"}'))
            )
        case "folder" if out.is_dir():
            (out / "report.json").mkdir(exist_ok=True)
        case "in the model's":
            journey.out = journey.model.parent
        case "fifo" if out.is_dir():
            os.mkfifo(out / "pipe")


def _line(journey: _Journey) -> list[str]:
    """A command on the model, or on what was made of it."""
    dice, model, out = journey.dice, str(journey.model), str(journey.out)
    data = str(journey.folder / "data.npz")
    both = ["--"] if dice.random() < 0.02 else []
    lines: list[list[str]] = [
        ["convert", model, "-o", out, "-t", dice.choice(_TARGETS), *_options(dice)],
        ["convert", model, "-o", out, "--verify=no"],
        [
            "convert",
            model,
            "-o",
            out,
            *_options(dice),
            "--quantize",
            dice.choice(("int8", "int8-asym", "bf16", "nosuch")),
            "--data",
            data,
            "-n",
            "1",
        ],
        [
            "convert",
            model,
            "-o",
            out,
            "--dump",
            str(journey.folder / "dump"),
            "--trace-rewrites",
            dice.choice(("-", str(journey.folder / "t.jsonl"))),
        ],
        ["convert", model, model, "-o", out, "--verify=no"],
        ["convert", str(journey.model.parent), "-o", out, "--verify=no"],
        ["convert", model, "--show-pipeline"],
        ["run", out],
        ["run", model, "-o", str(journey.folder / dice.choice(("o.npz", "n.npz")))],
        ["run", out, "--all"],
        ["compare", model, out],
        ["compare", model, out, "--per-layer"],
        ["inspect", model],
        ["inspect", out],
        ["view", model, "--html", str(journey.folder / "page.html")],
        ["view", out, "--html", str(journey.folder / "page.html")],
        ["gen-input", model, "-o", str(journey.folder / "in.npz")],
        ["quantize", model, "-o", str(journey.folder / "q.mlir"), "--data", data],
        ["calibrate", model, "-o", str(journey.folder / "c.table"), "--data", data],
        ["eval", model, out, "--data", data, "--metric", "cos"],
        ["extract", model, "-o", str(journey.folder / "part.mlir")],
        ["tosa-requirements", model],
        ["opt", model if journey.kind == "stablehlo" else "-"],
        ["npz", "dump", data],
        ["npz", "compare", data, data],
        ["targets"],
        ["targets", dice.choice(_TARGETS)],
        ["plugins"],
        ["passes"],
        ["ops", dice.choice(("top", "tosa", "tfl.conv_2d", "no.op"))],
        ["coverage"],
        ["completion", dice.choice(("bash", "zsh", "fish", "tcsh"))],
        ["-V"],
        ["-h"],
        [],
        ["nosuch"],
        ["new-plugin", "thing", "-o", str(journey.folder / "new")],
        ["search", model, "-o", str(journey.folder / "mixed.txt"), "--data", data, "--min-sqnr", "20"],
    ]
    line = lines[min(dice.randrange(2 * len(lines)), len(lines) - 1)] if dice.random() < 0.3 else dice.choice(lines)
    if line and line[0] in JSON_TOO and dice.random() < 0.4:
        line = [*line, "--json"]
    if line and dice.random() < 0.25:
        line = [*line, dice.choice(("-q", "-v", "--quiet"))]
    return [*line, *both]


def _options(dice: random.Random) -> Iterator[str]:
    for option in (
        ["--verify=no"],
        ["--no-verify"],
        ["--verify=require"],
        ["--seed", "7"],
        ["--seed", "-1"],
        ["--batch", "2"],
        ["--tolerance", "cos=2"],
        ["--option", "nosuch=1"],
        ["--engine", "nosuch"],
        ["--outputs", "nosuch"],
        ["--format", "nosuch"],
        ["--tolerance", "cos=nan"],
    ):
        if dice.random() < 0.07:
            yield from option


def _around(journey: _Journey) -> Surroundings:
    """Surroundings of a command, mostly one thing that is odd."""
    dice = journey.dice
    around = Surroundings(environment=dice.choice(_ENVIRONMENTS), is_new=dice.random() < 0.04)
    if dice.random() < 0.12:
        around = replace(around, streams={dice.choice(("in", "out", "err")): dice.choice(("closed", "full", "gone"))})
    if dice.random() < 0.15:
        around = replace(around, signal=(dice.choice(_SIGNALS), dice.choice((0.1, 0.5, 2.0)) * (0.2 + dice.random())))
    if dice.random() < 0.08:
        around = replace(around, umask=dice.choice((0o077, 0o000, 0o027)))
    if dice.random() < 0.08:
        gone = journey.folder / "gone"
        gone.mkdir(exist_ok=True)
        around = replace(around, folder=gone, is_folder_gone=dice.random() < 0.7)
    if dice.random() < 0.12:
        number, most = dice.choice((
            (resource.RLIMIT_FSIZE, dice.choice((0, 100, 3000, 20000))), (resource.RLIMIT_NOFILE, dice.choice((12, 20, 40))),
            (resource.RLIMIT_CORE, 0), (resource.RLIMIT_STACK, 1 << 20)))
        around = replace(around, limits={number: most})
    return around


def _contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    """All that lies below a folder: its mode, and its digest or where it leads."""
    found = {}
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            text = b""
            if path.is_symlink():
                text = os.fsencode(path.readlink())
            elif path.is_file():
                text = hashlib.sha256(path.read_bytes()).digest()
            found[str(path.relative_to(folder))] = (path.lstat().st_mode, text)
    return found


def _of_files(journey: _Journey, one: Ended, before: Mapping[str, tuple[int, bytes]]) -> str | None:
    """What is wrong with the files after a command."""
    after = {name: state for name, state in _contents(journey.folder).items() if name != "gone"}
    before = {name: state for name, state in before.items() if name != "gone"}
    kept = [
        *(str(file.relative_to(journey.folder)) for file in journey.foreign),
        *(name for name in before if name.startswith("data.")),
        *(str(file.relative_to(journey.folder)) for file in _read(journey)),
    ]
    for name in kept:
        if after.get(name) != before.get(name):
            return f"a file that is not the command's is not what it was: {one.line[:1]}\n{name!r}"
    left = sorted(name for name in after if ".transload-" in name and name not in before)
    if left and one.around.signal is None:
        return f"something is left over: {one.line[:1]}\n{left[:5]}"
    out = journey.out.relative_to(journey.folder).as_posix()
    if (
        one.code == 2
        and one.line[:1] == ("convert",)
        and {name for name in after if ".transload-" not in name} != {name for name in before if ".transload-" not in name}
    ):
        return f"a mistake in the call changes files\n{sorted(set(after) ^ set(before))[:5]}"
    return _of_report(journey, one, out, before != after)


def _read(journey: _Journey) -> list[Path]:
    """The files of the model."""
    if journey.out == journey.model.parent:
        beside = {"onnx beside": ["weights.bin"], "caffe": [f"{journey.model.stem}.caffemodel"]}.get(journey.kind, [])
        return [journey.model, *(journey.model.parent / name for name in beside)]
    return [file for file in journey.model.parent.iterdir() if file.is_file()]


def _of_report(journey: _Journey, one: Ended, out: str, is_changed: bool) -> str | None:
    """What is wrong with the report and the artifacts that it names."""
    file = journey.out / "report.json"
    if one.line[:1] != ("convert",) or not is_changed or not file.is_file() or file in journey.foreign:
        return None
    if b'"schema"' not in file.read_bytes():
        return None  # somebody else's
    report: Any = document(file.read_bytes(), of_report=True)
    if isinstance(report, str):
        return f"report.json {report}"
    if report["digest"] and report["model"] and journey.model.is_file():
        true = "sha256:" + hashlib.sha256(journey.model.read_bytes()).hexdigest()
        if report["digest"] != true:
            return "the report's digest is not the model's"
    for name, size in report["files"].items():
        artifact = journey.out / name
        if not artifact.exists() or artifact.stat().st_size != size:
            return f"the report names a file that is not there, or is of another size\n{artifact}"
    if report["status"] == "refused" and report["files"]:
        return "a refusal has files"
    return None


def _at_last(journey: _Journey) -> str | None:
    """What is wrong after one more conversion, in peace, and with what is made of that."""
    if journey.kind in NO_MODELS:
        return None
    peace = journey.folder / "peace" if journey.out.name in ("n" * 250,) or not journey.out.is_dir() else journey.out
    if (journey.out / "report.json").is_dir() or journey.is_reported or journey.out == journey.model.parent:
        peace = journey.folder / "peace"
    for line in (
        ["convert", str(journey.model), "-o", str(peace), "--json"],
        ["run", str(peace)],
        ["compare", str(journey.model), str(peace)],
    ):
        one = ended(line)
        journey.log.append(str(one))
        wrong = complaint(one)
        if wrong:
            return wrong
        if one.code == 2 and b"to compare with" in one.err:
            return None  # nobody runs such a model here
        if one.code:
            return f"in peace, {line[0]} ends with {one.code} of {journey.kind}"
    left = [
        name
        for name in _contents(journey.folder)
        if ".transload-" in name and (journey.folder / name).parent in (peace, peace.parent)
    ]
    return f"something is left after another run\n{left[:5]}" if left else None
