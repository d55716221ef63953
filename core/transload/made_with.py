"""What the stages of a dump were made with: a journey goes on behind them only where the same is asked for now.

    made = made_with(module, quantizing, data=data, preprocess=preprocess)
    Dump(directory, name, made=made)                  # notes it
    need_same(start, journey, module, made, again)    # `start` is of a dump of before

What a conversion or a pipeline was made with its passes say, which the dump has as text, with their options.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import UsageError
from .ir import Module
from .journey import QUANTIZE, READ, Journey
from .option_files import digests_of_options, read_by_quantizer
from .text.digest import digest_of_module

if TYPE_CHECKING:
    from .dump import Start
    from .quantization import Quantization
    from .samples.preprocess import Preprocess

__all__ = ["made_with", "need_made", "need_same"]

_WORDS = {
    "data": "the samples (--data)", "preprocess": "what becomes of images", "files": "what the files that options name hold",
    "postprocess": "what is made of outputs (--add-postprocess)"}
"""What quantizing depends on beside the quantizer and its options, in words."""


def made_with(
    module: Module, quantization: Quantization | None = None, data: Any = None, preprocess: Preprocess | None = None,
    postprocess: str | None = None,
) -> dict[str, dict[str, Any]]:
    """What reading gave, and what quantizing is given, by stage, as data.

    The module as it was read has the sizes that were said, the outputs, the function and the weights in it. What samples hold is
    not known of all: of a function's, or of an iterator's, nothing is said (None).
    """
    made: dict[str, dict[str, Any]] = {READ: {"module": digest_of_module(module), "reading": list(module.reading)}}
    if quantization is not None:
        read = read_by_quantizer(quantization.scheme, quantization.options)
        made[QUANTIZE] = {
            "data": _told(data), "preprocess": preprocess.as_toml() if preprocess is not None else None,
            "files": digests_of_options(read), "postprocess": postprocess}
    return made


def _told(data: Any) -> str | None:
    """Samples as text that says when they are others; None where that cannot be said."""
    from .evaluation.sources import told

    return told(data) if _is_told(getattr(data, "source", data)) else None


def _is_told(source: Any) -> bool:
    """Whether samples are texts, paths, numbers, arrays, or lists and dicts of these: what others say may be where they lie."""
    if isinstance(source, Mapping):
        return all(_is_told(each) for each in source.values())
    if isinstance(source, list | tuple):
        return all(_is_told(each) for each in source)
    if isinstance(source, np.ndarray):
        return not source.dtype.hasobject
    return isinstance(source, str | Path | int | float | np.generic)


def need_made(stage: str, made: Any) -> None:
    """`ValueError` where what an index has of a stage is not what `made_with` gives; of what is told apart alone, anything is."""
    if not isinstance(made, dict):
        raise ValueError(f"{stage} was made with no dict")
    if stage == READ and not (isinstance(made.get("module"), str) and isinstance(reading := made.get("reading"), list)
                              and all(isinstance(word, str) for word in reading)):
        raise ValueError(f"{stage} does not say what was read, and how")


def need_same(start: Start, journey: Journey, module: Module, made: Mapping[str, Mapping[str, Any]], again: str) -> None:
    """`UsageError` where a stage that is behind was made with something else than what is asked for now, of a module just read.

    `again` is the command that makes the dump again. A dump that does not say what it was made with was written by an earlier
    version, and is refused, too: nothing tells whether what is asked for is in it.
    """
    before = {entry["stage"]: entry.get("made") for entry in start.stages}
    if before.get(READ) is None or (QUANTIZE in before and before[QUANTIZE] is None):
        raise UsageError("the dump does not say what it was made with: an earlier version wrote it",
                         hint=f"`{again}` writes it again")
    for stage, difference in _differences(start, journey, module, made):
        raise UsageError(
            f"stage {stage!r} is behind {start.stage!r}, and was made with {difference}",
            hint=f"ask for what it was made with, start at {stage!r} or before, or make the dump again: `{again}`"
            if stage != READ else f"ask for what it was made with, or make the dump again: `{again}`")


def _differences(
    start: Start, journey: Journey, module: Module, made: Mapping[str, Mapping[str, Any]],
) -> Iterator[tuple[str, str]]:
    """The stages that would be others now, each with what it was made with and what is asked for, in words."""
    entries = {entry["stage"]: entry for entry in start.stages}
    then, now = entries[READ]["made"], made[READ]
    if then["module"] != now["module"]:
        yield READ, f"{_said(then['reading'])}, and now " + (
            f"{_said(now['reading'])} is asked for" if then["reading"] != now["reading"] else
            "the same is read otherwise, by another version, or the module was edited")
    for name, stage in journey.stages_behind(module, list(entries)).items():
        if name == QUANTIZE:
            yield from ((name, words) for words in _of_quantizing(entries[name], stage.about if stage else None, made))
            continue
        had, has = [each["pass"] for each in entries[name]["steps"]], [str(step) for step in stage.steps] if stage else []
        if had != has:
            yield name, "{}, and now {} is asked for".format(*_told_apart(had, has))
    if QUANTIZE in made and QUANTIZE not in entries and (left := journey.out_of_hub(entries)) is not None:
        yield left, "floats, and now quantizing is asked for, which comes before it"


def _told_apart(had: list[str], has: list[str]) -> Iterator[str]:
    """Two lists of passes in words: what only one of them has, or all of both where one of them has nothing else."""
    mine, theirs = ([each for each in one if each not in other] for one, other in ((had, has), (has, had)))
    for passes in (mine, theirs) if mine and theirs else (had, has):
        yield ", ".join(passes) or "no passes"


def _of_quantizing(entry: Mapping[str, Any], about: str | None, made: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """How what quantized differs from what would now, in words; `about` is what is asked for."""
    if about != entry["about"]:
        yield f"{entry['about']}, and now {about or 'no quantizer'} is asked for"
        return
    then, now = entry["made"], made[QUANTIZE]
    for key, words in _WORDS.items():
        if then.get(key) != now[key] and (key != "data" or None not in (then.get(key), now[key])):
            yield f"something else: {words} {'have' if key == 'data' else 'has'} changed since, or others are asked for"


def _said(reading: list[str]) -> str:
    return " ".join(reading) or "nothing said of it"
