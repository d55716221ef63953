"""Verification passes what is right, and nothing that is clearly wrong, however a network ends and however it is asked.

A network (`_networks`) is converted as its file says, or with one mistake, which stands for a wrong reader (the module that is
converted is another's), or for a wrong target (its last pass makes it another's). The judge is the framework's runtime on inputs
that no verification draws: where it gives something clearly else of the other network on most of them, the mistake is wrong.

- What is right never fails, and is not conclusive only where outputs hardly differ between those inputs.
- What is wrong never passes: not in `convert`, on inputs that it draws, on one that is given, or on `data`, nor quantized, nor in
  `compare`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import transload
from transload.context import Context
from transload.errors import ConversionError, TargetError
from transload.ir import Module
from transload.journey import convert_to
from transload.plugin import Pass, Target

from tests.drawn import Outcome
from tests.drawn._networks import LABELS, Net, mistaken, network
from tests.support.litert import run_litert
from tests.support.plugins import beside_ours

SAMPLE = 6
HELD_OUT = 12
WAYS = ("drawn", "drawn", "target", "target", "given", "given target", "data", "compare", "compare", "compare given", "int8",
        "int16x8")
TARGETS = ("tosa", "stablehlo", "onnx", "tflite")


def draw(number: int, folder: Path) -> Outcome:
    rng = np.random.default_rng((5, number))
    net = network(rng)
    wrong = mistaken(net) if rng.integers(3) else None
    way, format, target = (str(rng.choice(each)) for each in (WAYS, ("onnx", "onnx", "tflite"), TARGETS))
    made = wrong[0] if wrong is not None else net
    what = f"{net.name}; {format} to {target}, {way}; {'as it is' if wrong is None else wrong[1]}"
    try:
        files = [_written(each, folder / name, format) for each, name in ((net, "right"), (made, "made"))]
    except (ConversionError, TargetError):  # TFLite has no such operator
        return Outcome("not made")
    try:
        right, found = (_run(file, net) for file in files)
    except Exception:  # each runtime has its own: a mistake gave operands that do not fit
        if wrong is None:
            raise
        return Outcome("not made")
    is_wrong = wrong is not None and any(map(_clearly_differs, right, found, _labels(net, len(right))))
    if wrong is not None and not is_wrong:
        return Outcome("a mistake that does little")
    try:
        said = _asked(way, target, *files, net, folder / "out")
    except (ConversionError, TargetError):  # a size that only the data says, or nothing at all, is not for each target
        return Outcome("refused")
    word = f"{'wrong' if is_wrong else 'right'}: {said}"
    if is_wrong and said == "passed":
        return Outcome(word, f"passes though wrong, {wrong[1] if wrong else ''}, {way.split()[0]}\n{what}")
    if not is_wrong and said == "failed":
        return Outcome(word, f"fails though right, {way}\n{what}")
    if not is_wrong and said == "inconclusive" and any(map(_tells, right)):
        return Outcome(word, f"not conclusive, and outputs differ, {way}\n{what}")
    return Outcome(word)


def _labels(net: Net, count: int) -> Sequence[bool]:
    return [any(head.__name__ in net.name for head in LABELS)] * count


# --- the judge

def _written(net: Net, folder: Path, format: str) -> Path:
    """The file of a network: of ONNX, or of TFLite as it is converted."""
    folder.mkdir(exist_ok=True)
    path = folder / "net.onnx"
    path.write_bytes(net.file())
    if format == "onnx":
        return path
    transload.convert(path, "tflite", folder, verify=False)
    return next(folder.glob("*.tflite"))


def _run(path: Path, net: Net) -> list[list[np.ndarray]]:
    """What the framework gives of each output on inputs that are held out."""
    given = [net.sample(np.random.default_rng((77, each))) for each in range(HELD_OUT)]
    if path.suffix == ".onnx":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads = 4, 1
        session = onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])
        runs = [session.run(None, each) for each in given]
    else:
        runs = [run_litert(path.read_bytes(), each) for each in given]
    return [list(each) for each in zip(*runs, strict=True)]


def _clearly_differs(right: list[np.ndarray], found: list[np.ndarray], labels: bool) -> bool:
    """Whether an output is clearly another on most inputs: of integers a quarter, of floats a tenth of what they are, or more
    than half of what varies of them."""
    if any(a.shape != b.shape for a, b in zip(right, found, strict=True)):
        return len({array.shape for array in right}) == 1
    if right[0].dtype.kind in "iub":
        step = 0 if labels or right[0].dtype == bool else 1
        apart = [np.abs(a.astype(np.float64) - b) > step for a, b in zip(right, found, strict=True)]
        return bool(apart[0].size) and float(np.mean([each.mean() >= 0.25 for each in apart])) >= 0.75
    if not right[0].size:
        return False
    a, b = np.stack(right).astype(np.float64), np.stack(found).astype(np.float64)
    axes = tuple(range(1, a.ndim))
    error, size, varies = (np.sqrt(np.square(each).mean(axes)) for each in (b - a, a, a - a.mean(0)))
    seen = (np.abs(b - a).max(axes) > 1e-5) & (np.abs(b - a).max(axes) > 1e-4 * np.abs(a).max(axes))
    return bool(np.mean(seen & ((error > 0.1 * size) | (error > 0.5 * varies))) >= 0.75)


def _tells(right: list[np.ndarray]) -> bool:
    """Whether an output of several numbers clearly is another on others of the inputs: a constant would be near few of them."""
    if right[0].size < 2 or len({array.shape for array in right}) > 1:
        return False
    a = np.stack(right).astype(np.float64)
    if right[0].dtype.kind in "iub":
        return bool(np.mean(a != np.median(a, 0)) > 0.2)
    varies, size = np.sqrt(np.square(a - a.mean(0)).mean()), np.sqrt(np.square(a).mean())
    saturated = np.minimum(np.abs(a), np.abs(a - 1)).max() < 0.02
    return bool(varies > 0.3 * size and np.abs(a).max() > 1e-4 and not saturated)


# --- what verification says

def _asked(way: str, target: str, right: Path, made: Path, net: Net, out: Path) -> str:
    """The verdict: "passed", "failed", "inconclusive", or why it was skipped."""
    rng, asked = np.random.default_rng((78, 0)), way.partition(" ")[0]
    given = net.sample(rng) if "given" in way else None
    more: dict[str, Any] = {"options": {"found": "padded"}} if "detections" in net.name else {}
    if asked == "compare":
        transload.convert(made, target, out, verify=False, **more)
        said = transload.compare(right, out, given)
        return "failed" if said.broken else "inconclusive" if len(said.silent) == len(said.tensors) else "passed"
    more |= {"input_data": given} if given is not None else {}
    if asked == "data" or asked.startswith("int"):
        more["data"] = [net.sample(rng) for _ in range(8)]
    if asked.startswith("int"):
        more["quantize"] = asked
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "target" in way:
            artifact = _by_wrong_target(target, right, made, out, more)
        else:
            module = transload.load(right)
            source, entry = module.source, module.source_format
            module.become(transload.load(made))
            module.source, module.source_format = source, entry
            artifact = transload.convert(module, target, out, **more)
    verdict = artifact.verification
    assert verdict is not None
    return "poor" if verdict.status == "passed" and "poor" in str(verdict.why) else verdict.status


_become: dict[str, Module] = {}
"""What the last pass of a wrong target makes of its module."""


@cache
def _wrong_targets() -> Context:
    """Our plugins, and beside each target one of whose module another is made at last."""
    def become(module: Module) -> bool:
        before = module.source, module.source_format, module.entry
        module.become(_become["it"])
        module.source, module.source_format, module.entry = before
        return True

    def wrong(name: str) -> Target:
        known = transload.host().targets[name]
        made: Target = object.__new__(known.__class__)
        vars(made).update(known.__dict__, name=f"wrong-{name}", default=False, pipeline=f"{known.pipeline},become".strip(","))
        return made

    return beside_ours(passes=[Pass("become", become, "Become another.")], targets=list(map(wrong, TARGETS)))


def _by_wrong_target(target: str, right: Path, made: Path, out: Path, more: dict[str, Any]) -> Any:
    """A conversion whose last pass makes the module what another file would have become."""
    with _wrong_targets().bind():
        known, other = transload.host().targets[f"wrong-{target}"], transload.load(made)
        convert_to(other, known.accepts, **more.get("options", {}))
        _become["it"] = other
        return transload.convert(right, known.name, out, **more)
