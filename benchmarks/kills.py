"""Kills conversions at random moments, and looks at what they leave: old artifacts or new ones, whole, and nothing else.

    python benchmarks/kills.py [--kills 200] [--signals KILL TERM INT] [--what convert many quantizing calibrate quantize]

Two models (or one by two schemes, or methods) are converted into one folder in turn; each process is sent a signal at a moment
between its start and the time that it takes. After each kill the folder must hold all files of one of both, the same as without
the other, and no others; a process that was asked to end (TERM, INT) must say one line and end with 128 + the signal's number, or
have been done, or not yet have come to our first line. After the last one, one that nobody disturbs must leave nothing but its
own folder, there and where the system has temporary files. Of many models, converted at once with a cache, which is emptied now
and then, each has a folder of its own that is old or new, and what the cache holds must be whole.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from transload.scale.cache import entry_report

DIGITS = Path(__file__).resolve().parent.parent / "examples" / "digits"
MODELS = (DIGITS / "digits_int8.tflite", DIGITS / "digits_float.onnx")
SES = ".ses"
"""A file of onnxruntime's own."""
CACHE, SUMMARY, EMPTIED = "cache", "conversions.json", 4
"""The folder of a cache, the table of many conversions, and after how many kills the cache is emptied."""
PATIENCE = 30.0
"""Seconds that the children of a process that was killed have to end."""
LINES = {signal.SIGTERM: "terminated\n", signal.SIGINT: "interrupted\n"}


@dataclass
class Outcome:
    """What became of the processes that were sent one signal."""

    signal: str
    ended: Counter[str] = field(default_factory=Counter)
    """How often they were killed, had said their line, or were done before."""
    wrong: list[str] = field(default_factory=list)


def _commands(data: Path) -> dict[str, tuple[list[str], list[str]]]:
    """What is killed: two commands that write into one folder, `{out}`, in turn."""
    network, samples = str(MODELS[1]), ["--data", str(data)]
    model, table = str(Path("{out}", "model.mlir")), str(Path("{out}", "model.table"))

    def pair(words: list[str], option: str, first: str, second: str) -> tuple[list[str], list[str]]:
        return [*words, option, first], [*words, option, second]

    return {
        "convert": (["convert", str(MODELS[0]), "-o", "{out}"], ["convert", network, "-o", "{out}"]),
        "many": pair(["convert", *map(str, MODELS), "-o", "{out}", "--workers", "2", "--cache", str(data.parent / CACHE)],
                     "--target", "tosa", "stablehlo"),
        "quantizing": pair(["convert", network, "-o", "{out}", *samples], "--quantize", "int8", "int8-sym"),
        "calibrate": pair(["calibrate", network, "-o", table, "--plot", str(Path("{out}", "model.svg")), *samples], "--method",
                          "minmax", "mse"),
        "quantize": pair(["quantize", network, "-o", model, *samples], "--scheme", "int8", "int8-sym")}


def command(words: list[str], out: Path) -> list[str]:
    return [sys.executable, "-m", "transload", *(word.replace("{out}", str(out)) for word in words), "-q"]


def contents(out: Path) -> dict[str, str]:
    """The files of a folder, by their digests; of the report, which has times and places, those that it lists.

    What is begun lies in hidden folders; the next run removes those of processes that were killed, which is looked at by itself.
    """
    found = {}
    for file in sorted(out.rglob("*")) if out.exists() else ():
        if any(part.startswith(".transload-") for part in file.relative_to(out).parts):
            continue
        if file.name == "report.json":
            found[file.name] = str(json.loads(file.read_text(encoding="utf-8"))["files"])
        elif file.is_file():
            found[str(file.relative_to(out))] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def parts(out: Path) -> dict[str, dict[str, str]]:
    """The contents of the folder of each of many models, by name; of the folder itself, where there are none in it."""
    folders = [folder for folder in sorted(out.iterdir()) if folder.is_dir() and folder.name[0] != "."] if out.exists() else []
    return {folder.name: contents(folder) for folder in folders} or {".": contents(out)}


def mixtures(out: Path, whole: list[dict[str, dict[str, str]]]) -> str | None:
    """What is wrong with the folder of a model or of many; None where each is whole."""
    there = parts(out)
    found = [f"{name}: {why}" for name in sorted({*there, *whole[0]})
             if (why := mixture(there.get(name, {}), [each[name] for each in whole])) is not None]
    with suppress(FileNotFoundError):
        json.loads((out / SUMMARY).read_text(encoding="utf-8"))  # raises where it is none
    return "; ".join(found) or None


def broken_entries(cache: Path) -> list[str]:
    """What in a cache is no whole conversion."""
    entries = [entry for entry in cache.glob("*/*/*") if entry.is_dir()]
    strange = [folder for folder in (*cache.glob(".*"), *cache.glob("*/.*"), *cache.glob("*/*/.*")) if folder.is_dir()]
    return [f"{entry} of the cache is no whole conversion" for entry in entries if entry_report(entry) is None] + [
        f"{folder} is left in the cache" for folder in strange]


def mixture(there: dict[str, str], whole: list[dict[str, str]]) -> str | None:
    """What is wrong with the contents of a folder of artifacts; None where it is whole."""
    if there in whole:
        return None
    return "; ".join(
        f"{name} is " + ("missing" if name not in there else "of " + (" and ".join(
            str(number) for number, each in enumerate(whole) if each.get(name) == there[name]) or "neither"))
        for name in sorted({*there, *(name for each in whole for name in each)}))


def is_of_python_alone(said: str) -> bool:
    """Whether it is Python that was interrupted, on the way to our first line: its traceback has no file of ours."""
    return "KeyboardInterrupt" in said and f"{os.sep}transload{os.sep}" not in said


def ended(mark: str) -> bool:
    """Wait until no process is left that has `mark` in its environment: children go with who started them, a moment later."""
    until = time.monotonic() + PATIENCE
    while any(mark.encode() in _environment(process) for process in Path("/proc").glob("[0-9]*")):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def _environment(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:  # it is somebody else's, or has ended
        return b""


def kill(number: signal.Signals, kills: int, seed: int = 0, what: str = "convert") -> Outcome:
    """Send `kills` processes that do `what` a signal."""
    if signal.getsignal(number) is signal.SIG_IGN:  # as a shell has it for what runs behind it; the conversions would inherit it
        signal.signal(number, signal.SIG_DFL)
    outcome, chance = Outcome(f"{what} {number.name}"), random.Random(f"{seed} {number.name}")
    with TemporaryDirectory() as folder:
        place, scratch = Path(folder) / "place", Path(folder) / "tmp"
        scratch.mkdir()
        np.save(Path(folder) / "data.npy", np.random.default_rng(0).normal(size=(24, 1, 1, 8, 8)).astype(np.float32))
        commands = _commands(Path(folder) / "data.npy")[what]
        environment = {**os.environ, "TMPDIR": str(scratch)}
        out, whole = place / "out", []
        for words in (commands[1], commands[0]):  # so that the first is there, whole, when the second is killed
            start = time.perf_counter()
            subprocess.run(command(words, out), env=environment, check=True, stdout=subprocess.DEVNULL)
            seconds = time.perf_counter() - start
            whole.append(parts(out))
        for turn in range(kills):
            if turn % EMPTIED == 0:
                shutil.rmtree(Path(folder) / CACHE, ignore_errors=True)
            process = subprocess.Popen(
                command(commands[1 - turn % 2], out), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            time.sleep(chance.uniform(0.2, 1.1) * seconds)
            process.send_signal(number)
            _, said = process.communicate()
            code = process.returncode
            outcome.ended["done" if code == 0 else "killed" if code == -number else "ended"] += 1
            allowed = [(0, ""), (-number, ""), (128 + number, LINES.get(number))]
            if number != signal.SIGKILL and (code, said) not in allowed and not is_of_python_alone(said):
                outcome.wrong.append(f"{number.name} {turn}: exit code {code}, said {said[-600:]!r}")
            if why := mixtures(out, whole):
                outcome.wrong.append(f"{number.name} {turn}: {why}")
        if not ended(str(scratch)):
            outcome.wrong.append(f"children live on, {PATIENCE:g} seconds after the last one was killed")
        subprocess.run(command(commands[0], out), env=environment, check=True, stdout=subprocess.DEVNULL)
        there = {*place.iterdir(), *scratch.iterdir(), *out.glob(".*")} - {out, scratch / SES}
        left = [str(file.relative_to(folder)) for file in there]
        outcome.wrong += [f"{name} is left" for name in left]
        outcome.wrong += [f"after the last one {why}" for why in [mixtures(out, whole)] if why]
        outcome.wrong += broken_entries(Path(folder) / CACHE)
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=200, help="of each signal")
    parser.add_argument("--signals", nargs="+", default=["KILL", "TERM", "INT"])
    parser.add_argument("--what", nargs="+", default=list(_commands(Path())))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the results there, too")
    given = parser.parse_args()
    outcomes = []
    for what, name in product(given.what, given.signals):
        outcomes.append(outcome := kill(signal.Signals[f"SIG{name}"], given.kills, given.seed, what))
        print(f"{what}, {outcome.signal}: {dict(outcome.ended)}, {len(outcome.wrong)} wrong", flush=True)
        for why in outcome.wrong:
            print(f"  {why}", flush=True)
    if given.json is not None:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        found = [{"signal": each.signal, "ended": dict(each.ended), "wrong": each.wrong} for each in outcomes]
        given.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return int(any(outcome.wrong for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
