"""A small language model whose weights become integers: how well it reads then, and how small it is; what a large one takes.

    python benchmarks/language_model.py [--steps 600] [--group 32 ...] [--model FILE] [--json FILE]
    python benchmarks/language_model.py --megabytes 500        # memory and time, of random weights

The model (`gpt`) is trained here on nine tenths of this project's documentation and reads the last: its perplexity there, by
characters, is the exponential of the mean negative logarithm of what it gave the character that came. `hub` is ours (the engine
`xla`), `onnxruntime` runs the converted file, as the model says (activations of MatMulNBits in floats) and as it is by
default (`8 bits`), `LiteRT` the converted `.tflite` by its reference kernels on a part of the text. Rounding on samples takes
16 windows of what was learned.

`--megabytes` converts a model of GPT-2's form of so many megabytes of weights in a process of its own, without samples. `peak` is
the most resident memory beyond what everything imported takes, in multiples of the file.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from gpt import Size, begun, divided, onnx_model, trained, windows
from peer import run_step
from quantizer_tools import tflite_run
from rich.console import Console
from rich.table import Table

import transload
from transload.api import at_hub
from transload.ir import Module
from transload.plugin import resolve
from transload.plugin_host import host
from transload.quantization import quantize_at_hub

SAMPLES = 16
JUDGED_BY_LITERT = 24
Logits = Callable[[np.ndarray], np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--group", type=int, action="append")
    parser.add_argument("--model", type=Path, help="kept here, and taken from here where it is")
    parser.add_argument("--megabytes", type=int, help="convert a model of this size, and read nothing")
    parser.add_argument("--scheme", choices=("w4a16", "w8a16"), default="w4a16", help="with --megabytes")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--step", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.step:
        print(json.dumps(STEPS[asked.step[0]](*map(Path, asked.step[1:]), asked)))
        return
    rows = list(large(asked)) if asked.megabytes else list(read(asked))
    show(rows)
    if asked.json is not None:
        asked.json.write_text(json.dumps(rows, indent=1))


# --- reading


def read(asked: argparse.Namespace) -> Iterable[dict[str, Any]]:
    """The float model, then each scheme and size of groups, to the nearest and on samples."""
    size = Size()
    with TemporaryDirectory() as scratch:
        path = asked.model or Path(scratch) / "gpt.onnx"
        if not path.is_file():
            path.write_bytes(onnx_model(size, trained(size, asked.steps)).SerializeToString())
        learned, apart = divided()
        judging = list(windows(apart, size.context))
        samples = [{"ids": each[None, :-1]} for each in list(windows(learned, size.context))[:: len(learned) // 1100][:SAMPLES]]
        source = at_hub(transload.load(path))
        yield {"scheme": "float", "kB": path.stat().st_size / 1e3, "onnxruntime": perplexity(by_onnxruntime(path), judging)}
        for scheme in ("w8a16", "w4a16"):
            for group in asked.group or (32, 128):
                for rounding in (False, True):
                    made = quantize_at_hub(source, scheme, samples if rounding else None, {"q_group_size": group})
                    yield {"scheme": scheme, "group": group, "on samples": rounding,
                           **judged(made.module, judging, Path(scratch))}


def judged(module: Module, judging: Sequence[np.ndarray], folder: Path) -> dict[str, Any]:
    """Perplexities of a quantized module by each runtime, and the size of its file."""
    onnx, tflite = folder / "made.onnx", folder / "made.tflite"
    transload.save(transload.lower(module, "onnx"), onnx)
    transload.save(transload.lower(module, "tfl"), tflite)
    few = judging[:JUDGED_BY_LITERT]
    return {
        "kB": onnx.stat().st_size / 1e3, "hub": perplexity(by_hub(module), judging),
        "onnxruntime": perplexity(by_onnxruntime(onnx), judging),
        "8 bits": perplexity(by_onnxruntime(onnx, exact=False), judging),
        "hub, part": perplexity(by_hub(module), few), "LiteRT, part": perplexity(by_litert(tflite), few)}


def perplexity(logits: Logits, judging: Sequence[np.ndarray]) -> float:
    """Of windows [T + 1], whose numbers but the first are to be foretold."""
    total = 0.0
    for window in judging:
        scores = logits(window[None, :-1])[0].astype(np.float64)
        scores -= scores.max(axis=-1, keepdims=True)
        sure = scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))
        total -= sure[np.arange(len(sure)), window[1:]].mean()
    return float(np.exp(total / len(judging)))


def by_hub(module: Module) -> Logits:
    run = resolve(host().get("engines", "xla").prepare)(module)
    return lambda ids: np.asarray(run({"ids": ids})["logits"])


def by_onnxruntime(path: Path, exact: bool = True) -> Logits:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    if exact:
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda ids: np.asarray(session.run(["logits"], {"ids": ids})[0])


def by_litert(path: Path) -> Logits:
    run = tflite_run(path.read_bytes())
    return lambda ids: np.asarray(run({"ids": ids})["logits"])


# --- a large one


def large(asked: argparse.Namespace) -> Iterable[dict[str, Any]]:
    """To ONNX and StableHLO, each in a process of its own."""
    options = ["--megabytes", str(asked.megabytes), "--scheme", asked.scheme]
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "large.onnx"
        run_step(__file__, "write", path, Path(scratch), options=options)
        for target in ("onnx", "stablehlo"):
            out = Path(scratch) / target
            made = run_step(__file__, target, path, out, options=options)
            yield {"scheme": asked.scheme, "target": target, "file MB": sum(
                each.stat().st_size for each in Path(scratch).iterdir() if each.is_file()) / 1e6, **made}


def write(path: Path, _: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """A model of GPT-2's form, 12 layers and its number of words, as wide as fits; constants in a file beside it."""
    import onnx

    words, layers = 50304, 12
    width = next(width for width in range(64, 1 << 14, 64)
                 if 4e-6 * (12 * layers * width ** 2 + 2 * words * width) >= asked.megabytes)
    size = Size(layers, width, width // 64, context=128, vocabulary=words)
    onnx.save(onnx_model(size, begun(size)), path, save_as_external_data=True, location=path.name + ".data")
    return {"width": width}


def converted(path: Path, out: Path, asked: argparse.Namespace, target: str) -> dict[str, Any]:
    """Convert without a judge, and say what it took."""
    import onnx  # noqa: F401  # what it takes is not counted

    before, start = _resident(), time.perf_counter()
    artifact = transload.convert(path, target, out, quantize=asked.scheme, verify=False)
    seconds = time.perf_counter() - start
    whole = sum(each.stat().st_size for each in path.parent.iterdir() if each.is_file())
    made = sum(each.stat().st_size for each in artifact.files if each.suffix != ".json")
    return {"made MB": made / 1e6, "seconds": seconds, "peak": (_resident() - before) / whole}


def _resident() -> int:
    """The most memory that the process had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


STEPS: dict[str, Callable[..., dict[str, Any]]] = {
    "write": write, **{target: partial(converted, target=target) for target in ("onnx", "stablehlo")}}


def show(rows: Sequence[dict[str, Any]]) -> None:
    """All figures."""
    table = Table(*dict.fromkeys(key for row in rows for key in row))
    for row in rows:
        table.add_row(*(_text(row.get(column.header, "")) for column in table.columns))
    Console(width=150).print(table)


def _text(value: Any) -> str:
    return f"{value:,.3f}" if isinstance(value, float) else "yes" if value is True else "" if value is False else str(value)


if __name__ == "__main__":
    sys.exit(main())
