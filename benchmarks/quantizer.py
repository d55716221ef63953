"""Quantizers side by side: ours with its default settings, and the best setting of each peer.

    python benchmarks/quantizer.py [--only CASE | --all] [--peers build/peers/bin/python] [--setting int8-sym/mse] [--json FILE]
    python benchmarks/quantizer.py --model FILE [--model FILE ...] [--peers ...] [--peer-setting nncf=mixed/accurate ...]
    python benchmarks/quantizer.py --speed [--only CASE] [--peers build/peers/bin/python]

Every tool gets the same float network and the same calibration samples, and is judged by other samples (`quantizer_cases`),
against the float network in its own runtime. Peers run with each of their settings (`quantizer_tools`); the one with the highest
SQNR is shown, chosen on the evaluation samples themselves, which favours them. Each setting is a process of its own: seconds and
peak memory are those of calibration and quantization.

SQNR is `10 log10(sum y^2 / sum (y - q)^2)` of a float output y and a quantized output q, as the graph gives them. Two figures:

- `mean`: a ratio for each sample, the mean of their decibels over the samples that differ at all; of several outputs, the mean of
  theirs. It is the one of published comparisons: of ResNet8 before its softmax, onnxruntime's best setting is at 30.3 dB, 593 of
  800 right and 95.6 % as the float network (of probabilities it would be 40.3). Peers' best settings are chosen by it.
- `worst`: sums over all evaluation samples, one ratio, of the worst output. Few bad samples weigh much.

JSON has each output's. Agreement, where the first output scores classes, is how often its greatest number along the last
dimension is at the same place as the float network's; top-1, at the label. PSNR, where the outputs are pictures, is that of the
quantized beside the float picture. Euclid is the mean of `1 - |y - q| / |y|` over samples and outputs.

Without `--only` the cases are real models of a folder (`quantizer_models`: the rows to be reached), with `--all` digits and the
networks that packages carry, too. What is not there is left out, and said. `--model` makes a case of any float model of any
framework (`quantizer_files`). `--peer-setting` narrows the settings of a peer to those that are named.

`--speed` takes time and memory alone, of one setting of each tool with 32 samples, in turn, and of ours with 100 and 1,000. Our
modules are compiled to bytecode beforehand, as those of an installed package are.
"""

from __future__ import annotations

import argparse
import compileall
import json
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from peer import run_step
from quantizer_cases import CASES as OWN
from quantizer_cases import Case, Sample
from quantizer_files import file_case
from quantizer_models import MODELS, Missing
from quantizer_networks import NETWORKS
from quantizer_tools import TOOLS
from rich.console import Console
from rich.table import Table

from transload.errors import TransloadError
from transload.metrics import euclid, sqnr

PROGRAM = str(Path(__file__).with_name("quantizer_tools.py"))
SECONDS = 3600
"""What a setting of a tool may take: accurate bias correction, and our effort `best`, take minutes."""
PEERS = ("onnxruntime", "nncf", "ai-edge-quantizer")
SPEED = {32: ("transload", *PEERS), 100: ("transload",), 1000: ("transload",)}
"""What is measured by `--speed` with so many samples, each tool with the first of its settings."""
COLUMNS = {
    "SQNR dB\nmean": "sqnr_mean", "\nworst": "sqnr_all", "agree\n%": "agreement", "top-1\n%": "top1",
    "PSNR\ndB": "psnr", "euclid": "euclid", "seconds": "seconds", "of all\ncores": "cpu_seconds", "peak\nMB": "peak_mb"}
Outputs = Mapping[str, np.ndarray]
CASES = {**MODELS, **OWN, **NETWORKS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=sorted(CASES), action="append", help="this case; repeatable")
    parser.add_argument("--all", action="store_true", help="every case, not only the real models")
    parser.add_argument("--model", type=Path, action="append", default=[], help="a case of this float model; repeatable")
    parser.add_argument("--peers", type=Path, help="the Python that has the peers (make build/peers); without it, ours alone")
    parser.add_argument("--peer-setting", action="append", default=[], help="PEER=SETTING, and no other of it; repeatable")
    parser.add_argument("--setting", action="append", help="ours with SCHEME, SCHEME/METHOD or SCHEME//EFFORT; repeatable")
    parser.add_argument("--speed", action="store_true", help="seconds and memory alone, of palm_detection if --only is not there")
    parser.add_argument("--json", type=Path, help="write every setting's figures to this file")
    arguments = parser.parse_args()
    rows = []
    chosen = arguments.only or (["palm_detection"] if arguments.speed else CASES if arguments.all else MODELS)
    named = {str(path): partial(file_case, path) for path in arguments.model} or {name: CASES[name] for name in chosen}
    for name, make in named.items():
        try:
            case = make()
        except (Missing, TransloadError) as why:
            rows.append({"case": name, "tool": "left", "setting": "out", "error": str(why)})
            continue
        rows += speed(name, case, arguments.peers) if arguments.speed else compare(
            name, case, arguments.setting or TOOLS["transload"].settings, arguments.peers, settings_of(arguments.peer_setting))
    show(rows)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(rows, indent=1))


def settings_of(chosen: Sequence[str]) -> dict[str, list[str]]:
    """The settings of each peer: all, or those that `PEER=SETTING` names."""
    found: dict[str, list[str]] = {}
    for peer, _, setting in (each.partition("=") for each in chosen):
        found.setdefault(peer, []).append(setting)
    return {peer: found.get(peer, list(TOOLS[peer].settings)) for peer in PEERS}


def compare(
    name: str, case: Case, ours: Sequence[str], peers: Path | None, settings: Mapping[str, Sequence[str]] | None = None,
) -> list[dict[str, Any]]:
    """A row for each setting of each tool that takes one of the case's files."""
    rows = []
    with TemporaryDirectory() as folder:
        for ending in case.files:
            for part in ("calibration", "evaluation"):
                write_samples(Path(folder) / ending / part, getattr(case, part)[ending])
        runs = [("transload", setting, None) for setting in ours]
        runs += [(tool, setting, peers) for tool in PEERS if peers for setting in (settings or settings_of(()))[tool]]
        wanted: dict[str, Outputs] = {}
        for tool, setting, python in runs:
            ending = next((ending for ending in case.files if ending in TOOLS[tool].endings), None)
            if ending is None:
                continue
            if ending not in wanted:
                _, wanted[ending] = outputs_of("float", "", case.files[ending], Path(folder) / ending, None)
            row = {"case": name, "tool": tool, "setting": setting, "file": ending}
            said, given = outputs_of(tool, setting, case.files[ending], Path(folder) / ending, python)
            rows.append(row | said | (scores(wanted[ending], given, case) if given else {}))
    return rows


def speed(name: str, case: Case, peers: Path | None) -> list[dict[str, Any]]:
    """A row for each tool and number of samples: seconds and memory. The calibration samples are taken again and again."""
    rows = []
    compile_ours()
    for count, tools in SPEED.items():
        for tool in tools:
            ending = next((ending for ending in case.files if ending in TOOLS[tool].endings), None)
            if ending is None or (tool in PEERS and peers is None):
                continue
            with TemporaryDirectory() as folder:
                write_samples(Path(folder) / "calibration", list(islice(cycle(case.calibration[ending]), count)))
                write_samples(Path(folder) / "evaluation", case.evaluation[ending][:1])
                setting = TOOLS[tool].settings[0]
                said, _ = outputs_of(tool, setting, case.files[ending], Path(folder), peers if tool in PEERS else None)
            rows.append({"case": f"{name}, {count} samples", "tool": tool, "setting": setting, "file": ending} | said)
    return rows


def compile_ours(packages: Sequence[str] = ("transload", "transload_hub", "transload_converters", "transload_plugins")) -> None:
    """Compile our packages to bytecode, as installing does for peers: in a checkout Python may be told to keep none
    (PYTHONDONTWRITEBYTECODE), and would compile 300 modules in the time that is measured."""
    for name in packages:
        spec = find_spec(name)
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            compileall.compile_dir(folder, quiet=2)


def write_samples(folder: Path, samples: Sequence[Sample]) -> None:
    """A file a sample."""
    folder.mkdir(parents=True)
    for number, sample in enumerate(samples):
        np.savez(folder / f"{number:06}.npz", **sample)


def outputs_of(tool: str, setting: str, model: Path, samples: Path, python: Path | None) -> tuple[dict[str, Any], Outputs]:
    """What a tool's process says of its time and memory, or its error, and what its result gives."""
    file = samples / "outputs.npz"
    file.unlink(missing_ok=True)
    said = run_step(PROGRAM, tool, model, samples, file, options=["--setting", setting], python=python, seconds=SECONDS)
    if "error" in said:
        return said, {}
    with np.load(file) as arrays:
        return said, dict(arrays)


def scores(wanted: Outputs, given: Outputs, case: Case) -> dict[str, Any]:
    """How near the outputs [N, ...] of a quantized network are to the float network's, paired in order; see the module."""
    each = {name: _distances(y, q, case.peak) for (name, y), q in zip(wanted.items(), given.values(), strict=True)}
    result: dict[str, Any] = {
        key: float((min if key == "sqnr_all" else np.mean)([found[key] for found in each.values()]))
        for key in next(iter(each.values()))}
    result["outputs"] = each
    right, said = (next(iter(outputs.values())).argmax(axis=-1) for outputs in (wanted, given))
    if case.classes:
        result["agreement"] = 100.0 * float(np.mean(right == said))
    if case.labels is not None:
        answers = {"top1": said, "float_top1": right}
        result |= {key: 100.0 * float(np.mean(chosen.ravel() == case.labels)) for key, chosen in answers.items()}
    return result


def _distances(wanted: np.ndarray, given: np.ndarray, peak: float | None) -> dict[str, Any]:
    each = np.array([sqnr(y, q) for y, q in zip(wanted, given, strict=True)])
    shares = [euclid(y, q) for y, q in zip(wanted, given, strict=True)]
    different = np.isfinite(each)
    noise = float(np.mean((wanted.astype(np.float64) - given) ** 2))
    return {
        "sqnr_all": sqnr(wanted, given), "sqnr_mean": float(each[different].mean()) if different.any() else float("inf"),
        "exact": int(np.sum(~different)), "euclid": float(np.mean(shares)),
        **({} if peak is None else {"psnr": float(20 * np.log10(peak) - 10 * np.log10(noise)) if noise else float("inf")})}


def show(rows: Sequence[Mapping[str, Any]]) -> None:
    """Ours and each peer's best setting, case after case; below, what failed."""
    table = Table("case", "tool", "setting", "file")
    for title in COLUMNS:
        table.add_column(title, justify="right")
    kept: dict[tuple[str, str, str], Mapping[str, Any]] = {}
    for row in (row for row in rows if "error" not in row):
        key = (row["case"], row["tool"], row["setting"] if row["tool"] == "transload" else "")
        if key not in kept or row.get("sqnr_mean", 0.0) > kept[key].get("sqnr_mean", 0.0):
            kept[key] = row
    for row in kept.values():
        figures = (_text(key, row.get(key)) for key in COLUMNS.values())
        table.add_row(row["case"], row["tool"], row["setting"], row["file"], *figures)
    console = Console(width=150)
    console.print(table)
    for row in (row for row in rows if "error" in row):
        console.print(f"{row['case']}, {row['tool']} {row['setting']}: {row['error']}", markup=False, soft_wrap=True)


def _text(key: str, number: Any) -> str:
    if number is None:
        return "-"
    return str(number) if isinstance(number, int) else f"{number:.{4 if key == 'euclid' else 2}f}"


if __name__ == "__main__":
    main()
