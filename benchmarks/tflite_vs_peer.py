"""TFLite models through Transload and through Arm's tosa-converter-for-tflite, judged by independent tools.

    python benchmarks/tflite_vs_peer.py ../shared/models/tflite [--json results.json] [--only NAME] [--seed N] [--rounds N]

For every `.tflite` file in a folder, both converters are used as they come. Transload writes a `.tosa` file; the peer
writes MLIR, which `tosa-opt --tosa-serialize` makes a `.tosa` file of. Arm's `tosa_reference_model` runs both files on the
same random inputs, and the results are compared with LiteRT's reference kernels: the greatest difference of
integers, in steps, or the cosine of floats. Where LiteRT refuses a model, the two are compared with each other.

Models with integer weights and float activations are converted in both forms that a user can choose: the column "ops" counts
the operators of the exact one, which quantizes activations as LiteRT does, "ops (float)" those with the option `hybrid=float`,
which is what the peer makes.

Out of the box, the peer leaves dynamic batches dynamic and unsigned integers unsigned, which no TOSA consumer takes.
So it gets a second try with help ("peer, helped"): a copy of the model whose dynamic sizes are made those that the
file was planned with, and tosa-opt's pass `--tosa-convert-integer-type-to-signless`.

Times are those of the conversion alone, in a process that has everything imported: the best of three. Every
tool runs in a process of its own, because some end theirs.

With `--rounds N` nothing is judged, and times are all: ours and the peer's in turn, N times, in one process. A neighbour on the
machine disturbs both of a round, so what counts is the median of the rounds' ratios, of the clock and of processor time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from peer import HELP, best, convert_by_peer, load, model_name, run_step, without_dynamic_sizes
from rich.console import Console
from rich.table import Table

GOOD_COSINE, GOOD_STEPS = 0.9999, 1
CONVERTERS = {"ours": "ours", "peer": "peer", "helped": "peer, helped"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("../shared/models/tflite"))
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--only", default="", help="only models whose path has this in it")
    parser.add_argument("--seed", type=int, default=0, help="of the random inputs")
    parser.add_argument("--rounds", type=int, default=0, help="only times: so many rounds of both, in turn")
    parser.add_argument("--step", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        name, *paths = arguments.step
        STEPS[name](*map(Path, paths))
        return
    rows = []
    paths = [path for path in sorted(arguments.folder.rglob("*.tflite")) if arguments.only in str(path)]
    for path in paths:
        rows.append(in_turn(path, arguments.rounds) if arguments.rounds else measure(path, arguments.seed))
        print(f"{len(rows)}/{len(paths)} {rows[-1]['model']}", file=sys.stderr)
    (show_times if arguments.rounds else show)(rows)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


def measure(path: Path, seed: int = 0) -> dict[str, Any]:
    """One row: the model, what LiteRT says, and for both converters what became of it."""
    row: dict[str, Any] = {"model": model_name(path)}
    with TemporaryDirectory() as folder:
        work = Path(folder)
        inputs, reference = work / "inputs.npz", work / "reference.npz"
        row["source"] = run_step(__file__, "inputs", path, inputs, options=["--seed", str(seed)])
        row["litert"] = run_step(__file__, "litert", path, inputs, reference) if inputs.exists() else {"error": "no inputs"}
        static = work / "static.tflite"
        static.write_bytes(without_dynamic_sizes(path.read_bytes()))
        for who in CONVERTERS:
            row[who] = run_step(__file__, who, static if who == "helped" else path, work / f"{who}.tosa")
            if (work / f"{who}.tosa").exists():
                outputs = work / f"{who}.npz"
                row[who]["reference_model"] = run_step(__file__, "model", work / f"{who}.tosa", inputs, outputs)
                if outputs.exists() and reference.exists():
                    row[who]["outputs"] = compare(load(reference), load(outputs))
        if not reference.exists() and (work / "ours.npz").exists() and (work / "helped.npz").exists():
            row["agreement"] = compare(load(work / "helped.npz"), load(work / "ours.npz"))
    return row


def in_turn(path: Path, rounds: int) -> dict[str, Any]:
    """One row of times: medians of both converters, and of the ratios of the rounds; or why there are none."""
    return {"model": model_name(path)} | run_step(__file__, "turns", path, options=["--rounds", str(rounds)])


def compare(reference: Sequence[np.ndarray], actual: Sequence[np.ndarray]) -> dict[str, Any]:
    """The worst output: greatest difference of integers, least cosine of floats."""
    if len(reference) != len(actual):
        return {"error": f"{len(actual)} outputs for {len(reference)}"}
    steps, cosines, share = [], [], []
    for a, b in zip(reference, actual, strict=True):
        if a.size != b.size:
            return {"error": f"an output of shape {list(b.shape)} for {list(a.shape)}"}
        b = b.reshape(a.shape)
        if a.dtype.kind in "iub":
            if b.dtype != a.dtype and b.dtype.itemsize == a.dtype.itemsize:
                b = b.view(a.dtype)
            difference = np.abs(a.astype(np.int64) - b.astype(np.int64))
            steps.append(int(difference.max(initial=0)))
            share.append(float((difference > 0).mean()) if difference.size else 0.0)
        else:
            x, y = a.ravel().astype(np.float64), b.ravel().astype(np.float64)
            length = float(np.linalg.norm(x) * np.linalg.norm(y))
            cosines.append(float(x @ y) / length if length else float(np.array_equal(x, y)))
    result: dict[str, Any] = {}
    if steps:
        result |= {"max": max(steps), "differ": max(share)}
    if cosines:
        result["cos"] = min(cosines)
    return result


# --- the steps, each in a process of its own; the last line printed is JSON


def step_inputs(path: Path, out: Path) -> None:
    """Random inputs, by the model's own types."""
    import transload
    from transload.errors import TransloadError
    from transload.verification.inputs import random_inputs

    source = transload.load(path)
    try:
        hub = transload.legalize(source)
    except TransloadError:
        hub = None
    seed = int(sys.argv[sys.argv.index("--seed") + 1]) if "--seed" in sys.argv else 0
    arrays = random_inputs(source, hub, seed)
    np.savez(out, **{f"{index:04}": array for index, array in enumerate(arrays.values())})
    ops = [op.name for op in source.ops() if op.results and "const" not in op.name and op.name != "tfl.no_value"]
    print(json.dumps({"ops": len(ops)}))


def step_litert(path: Path, inputs: Path, out: Path) -> None:
    """LiteRT's reference kernels."""
    from transload.plugin import Source, resolve
    from transload.plugin_host import host
    from transload_converters.tflite.reader import tensor_names

    names = tensor_names(Source(path)).inputs
    execute = resolve(host().runtimes["litert"].open)(path)
    outputs = execute(dict(zip(names, load(inputs), strict=True)))
    np.savez(out, **{f"{index:04}": array for index, array in enumerate(outputs.values())})
    print(json.dumps({}))


def step_ours(path: Path, out: Path) -> None:
    """Transload: `.tflite` to `.tosa`."""
    import transload
    from transload.contents import op_counts

    def convert() -> Any:
        module = transload.lower(transload.load(path), "tosa")
        transload.save(module, out)
        return module

    module, seconds = best(convert)
    plain = transload.lower(transload.load(path), "tosa", hybrid="float")
    print(json.dumps({
        "ms": seconds * 1e3, "ops": sum(op_counts(module).values()), "ops_float": sum(op_counts(plain).values())}))


def step_peer(path: Path, out: Path) -> None:
    """The peer as it comes."""
    print(json.dumps(convert_by_peer(path, out)))


def step_helped(path: Path, out: Path) -> None:
    """The peer with help, see above."""
    print(json.dumps(convert_by_peer(path, out, HELP)))


def step_turns(path: Path) -> None:
    """Both converters in turn; a round that warms up is not counted."""
    from tosa_converter_for_tflite import tflite_flatbuffer_to_tosa_mlir

    import transload

    with TemporaryDirectory() as folder:
        made = Path(folder) / "made.tosa"
        tools: dict[str, Callable[[], Any]] = {
            "ours": lambda: transload.save(transload.lower(transload.load(path), "tosa"), made),
            "peer": lambda: tflite_flatbuffer_to_tosa_mlir(str(path), str(made.with_suffix(".mlirbc"))),
        }
        taken: dict[str, list[tuple[float, float]]] = {who: [] for who in tools}
        for _ in range(int(sys.argv[sys.argv.index("--rounds") + 1]) + 1):
            for who, convert in tools.items():
                wall, processor = time.perf_counter(), time.process_time()
                convert()
                taken[who].append((time.perf_counter() - wall, time.process_time() - processor))
    result: dict[str, float] = {}
    for place, clock in enumerate(("wall", "processor")):
        ours, peer = ([times[place] for times in taken[who][1:]] for who in tools)
        result[f"{clock}_ours_ms"], result[f"{clock}_peer_ms"] = statistics.median(ours) * 1e3, statistics.median(peer) * 1e3
        result[f"{clock}_ratio"] = statistics.median(a / b for a, b in zip(ours, peer, strict=True))
    print(json.dumps(result))


def step_model(tosa: Path, inputs: Path, out: Path) -> None:
    """Arm's reference model."""
    import tosa_reference_model

    arrays = [array.view(array.dtype.str.replace("u", "i")) if array.dtype.kind == "u" else array for array in load(inputs)]
    arrays = [array.astype(np.int32) if array.dtype == np.int64 else array for array in arrays]
    start = time.perf_counter()
    outputs, status = tosa_reference_model.run(tosa.read_bytes(), arrays)
    if status != tosa_reference_model.GraphStatus.TOSA_VALID:
        raise SystemExit(f"the reference model says {status}")
    np.savez(out, **{f"{index:04}": array for index, array in enumerate(outputs)})
    print(json.dumps({"s": time.perf_counter() - start}))


STEPS = {
    "inputs": step_inputs,
    "litert": step_litert,
    "ours": step_ours,
    "peer": step_peer,
    "helped": step_helped,
    "turns": step_turns,
    "model": step_model,
}


# --- the table


def verdict(side: dict[str, Any]) -> str:
    """In a word what became of a model in a converter."""
    if side.get("left"):
        return "not converted: " + ", ".join(sorted(side["left"]))
    if "error" in side:
        return f"fails: {side['error']}"
    model = side.get("reference_model", {})
    if "error" in model:
        return f"does not run: {model['error']}"
    outputs = side.get("outputs")
    if outputs is None:
        return "runs (no judge)"
    return f"wrong: {outputs['error']}" if "error" in outputs else "right" if is_good(outputs) else "differs"


def is_good(outputs: dict[str, Any]) -> bool:
    return outputs.get("max", 0) <= GOOD_STEPS and outputs.get("cos", 1.0) >= GOOD_COSINE


def numbers(outputs: dict[str, Any] | None) -> str:
    """`max 1 (0.3%)`, `cos 0.999999`."""
    if not outputs or "error" in outputs:
        return ""
    parts = []
    if "max" in outputs:
        parts.append(f"max {outputs['max']}" + (f" ({outputs['differ']:.1%})" if outputs["max"] else ""))
    if "cos" in outputs:
        parts.append(f"cos {outputs['cos']:.7f}")
    return " ".join(parts)


def show(rows: list[dict[str, Any]]) -> None:
    """Print the table and a summary."""
    table = Table(title="TFLite to TOSA: Transload and tosa-converter-for-tflite, judged by the reference model against LiteRT")
    table.add_column("model", no_wrap=True)
    for title in ("ours", "", "ops", "ops (float)", "ms", "peer", "ops", "ms", "peer, helped", "", "ops"):
        table.add_column(title, justify="right" if title.startswith(("ops", "ms")) else "left", max_width=46)
    for row in rows:
        ours, peer, helped = (row[who] for who in CONVERTERS)
        table.add_row(
            row["model"],
            verdict(ours),
            numbers(ours.get("outputs")),
            _size(ours)[0],
            str(ours.get("ops_float", "")),
            _size(ours)[1],
            verdict(peer),
            *_size(peer),
            verdict(helped),
            numbers(helped.get("outputs")),
            _size(helped)[0],
        )
    console = Console(width=230)
    console.print(table)
    for who, title in CONVERTERS.items():
        counts = Counter(verdict(row[who]).partition(":")[0] for row in rows)
        console.print(f"{title}: " + ", ".join(f"{n} {what}" for what, n in counts.most_common()))
    whole = [row for row in rows if "ops" in row["peer"] and not row["peer"].get("left")]
    more = [row["model"] for row in whole if row["ours"].get("ops_float", 0) > row["peer"]["ops"]]
    console.print(f"of the {len(whole)} that the peer converts whole, with more operators: {', '.join(more) or 'none'}")
    for row in rows:
        if "agreement" in row:
            console.print(
                f"{row['model']}: LiteRT refuses it; ours against the peer: {numbers(row['agreement']) or row['agreement']}"
            )
    times = [(row["ours"]["ms"], row["peer"]["ms"]) for row in rows if "ms" in row["ours"] and "ms" in row["peer"]]
    if times:
        ratio = np.exp(np.mean([np.log(peer / ours) for ours, peer in times]))
        console.print(
            f"time of the {len(times)} that both convert: ours {sum(o for o, _ in times):.0f} ms, "
            f"peer {sum(p for _, p in times):.0f} ms; the peer's over ours, geometric mean: {ratio:.2f}"
        )


def show_times(rows: list[dict[str, Any]]) -> None:
    """Print the table of times."""
    table = Table(title="TFLite to TOSA, in turn: ms of Transload and of tosa-converter-for-tflite, and ours over the peer's")
    table.add_column("model", no_wrap=True)
    for clock in ("wall", "processor"):
        for title in (f"{clock}: ours", "peer", "ratio"):
            table.add_column(title, justify="right")
    for row in rows:
        cells = [
            f"{row[f'{clock}_{what}']:.{digits}f}" for clock in ("wall", "processor")
            for what, digits in (("ours_ms", 1), ("peer_ms", 1), ("ratio", 2))] if "error" not in row else [row["error"][:60]]
        table.add_row(row["model"], *cells)
    Console(width=130).print(table)


def _size(side: dict[str, Any]) -> tuple[str, str]:
    """How many ops, and how long it took."""
    return str(side.get("ops", "")), f"{side['ms']:.0f}" if "ms" in side else ""


if __name__ == "__main__":
    main()
