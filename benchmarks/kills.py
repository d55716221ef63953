"""Kills conversions at random moments, and looks at what they leave: old artifacts or new ones, whole, and nothing else.

    python benchmarks/kills.py [--kills 200] [--signals KILL TERM INT] [--json FILE]

Two models are converted into one folder in turn; each process is sent a signal at a moment between its start and the time that
a conversion takes. After each kill the folder must hold all files of one conversion, by its report, and no others; a process that
was asked to end (TERM, INT) must say one line and end with 128 + the signal's number, or have been done, or not yet have come to
our first line. After the last one, a conversion that nobody disturbs must leave nothing but its own folder, there and where the
system has temporary files.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

DIGITS = Path(__file__).resolve().parent.parent / "examples" / "digits"
MODELS = (DIGITS / "digits_int8.tflite", DIGITS / "digits_float.onnx")
SES = ".ses"
"""A file of onnxruntime's own."""
LINES = {signal.SIGTERM: "terminated\n", signal.SIGINT: "interrupted\n"}


@dataclass
class Outcome:
    """What became of the processes that were sent one signal."""

    signal: str
    ended: Counter[str] = field(default_factory=Counter)
    """How often they were killed, had said their line, or were done before."""
    wrong: list[str] = field(default_factory=list)


def command(model: Path, out: Path) -> list[str]:
    return [sys.executable, "-m", "transload", "convert", str(model), "-o", str(out), "-q"]


def mixture(out: Path) -> str | None:
    """What is wrong with a folder of artifacts; None where it is whole."""
    if not out.exists():
        return None
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    there = {str(file.relative_to(out)): file.stat().st_size for file in out.rglob("*") if file.is_file()}
    there.pop("report.json")
    if there != report["files"]:
        return f"the report has {report['files']}, and there are {there}"
    stem = Path(report["model"]).stem
    foreign = [name for name in there if not name.startswith(stem)]
    return f"{foreign} are not of {stem}" if foreign else None


def is_of_python_alone(said: str) -> bool:
    """Whether it is Python that was interrupted, on the way to our first line: its traceback has no file of ours."""
    return "KeyboardInterrupt" in said and f"{os.sep}transload{os.sep}" not in said


def kill(number: signal.Signals, kills: int, seed: int = 0) -> Outcome:
    """Send `kills` conversions a signal."""
    if signal.getsignal(number) is signal.SIG_IGN:  # as a shell has it for what runs behind it; the conversions would inherit it
        signal.signal(number, signal.SIG_DFL)
    outcome, chance = Outcome(number.name), random.Random(f"{seed} {number.name}")
    with TemporaryDirectory() as folder:
        place, scratch = Path(folder) / "place", Path(folder) / "tmp"
        scratch.mkdir()
        environment = {**os.environ, "TMPDIR": str(scratch)}
        out = place / "out"
        start = time.perf_counter()
        subprocess.run(command(MODELS[0], out), env=environment, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - start
        for turn in range(kills):
            process = subprocess.Popen(
                command(MODELS[turn % 2], out), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            time.sleep(chance.uniform(0.2, 1.1) * seconds)
            process.send_signal(number)
            _, said = process.communicate()
            code = process.returncode
            outcome.ended["done" if code == 0 else "killed" if code == -number else "ended"] += 1
            allowed = [(0, ""), (-number, ""), (128 + number, LINES.get(number))]
            if number != signal.SIGKILL and (code, said) not in allowed and not is_of_python_alone(said):
                outcome.wrong.append(f"{number.name} {turn}: exit code {code}, said {said[-600:]!r}")
            if why := mixture(out):
                outcome.wrong.append(f"{number.name} {turn}: {why}")
        subprocess.run(command(MODELS[0], out), env=environment, check=True, stdout=subprocess.DEVNULL)
        there = {*place.iterdir(), *scratch.iterdir()} - {out, scratch / SES}
        left = [str(file.relative_to(folder)) for file in there]
        outcome.wrong += [f"{name} is left" for name in left] + ([mixture(out) or ""] if mixture(out) else [])
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=200, help="of each signal")
    parser.add_argument("--signals", nargs="+", default=["KILL", "TERM", "INT"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the results there, too")
    given = parser.parse_args()
    outcomes = [kill(signal.Signals[f"SIG{name}"], given.kills, given.seed) for name in given.signals]
    for outcome in outcomes:
        print(f"{outcome.signal}: {dict(outcome.ended)}, {len(outcome.wrong)} wrong")
        for why in outcome.wrong:
            print(f"  {why}")
    if given.json is not None:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        found = [{"signal": each.signal, "ended": dict(each.ended), "wrong": each.wrong} for each in outcomes]
        given.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return int(any(outcome.wrong for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
