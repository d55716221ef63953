"""Files that a request names, by paths that hold wherever a worker stands."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..files import exists, is_file
from ..options import option_type, parameters_of
from ..passes.manager import Pipeline
from ..plugin import Target, resolve
from ..plugin_host import host

__all__ = ["located_options", "located_passes", "located_quantizing", "located_samples"]


def located_samples(source: Any, here: Path) -> Any:
    """Where samples are, from wherever a worker stands."""
    if isinstance(source, Mapping):
        return {str(name): located_samples(each, here) for name, each in source.items()}
    if not isinstance(source, str | Path):
        raise UsageError(f"samples for many models are files, or a function by its name, and this is a {type(source).__name__}")
    text = str(source)
    if not text.startswith("python:"):
        return str((here / text).absolute())
    module, colon, function = text[len("python:"):].rpartition(":")
    return f"python:{(here / module).absolute()}{colon}{function}" if module.endswith(".py") else text


def located_options(options: Mapping[str, Any], here: Path, targets: Iterable[Target]) -> dict[str, Any]:
    """Options of `targets` and conversions, those that are files by paths that hold for a worker.

    Which options are files nobody declares: it is a text that names one, of an option that takes any text.
    """
    words = _not_texts(targets)
    return {key: value if key.rpartition(".")[2] in words else _located(value, here) for key, value in options.items()}


def located_quantizing(options: Mapping[str, Any], here: Path, quantizer: str) -> dict[str, Any]:
    """The same of a quantizer's options; files that it writes (`Quantizer.saves`) lie where they are said to, there or not.

    A word is a word, whatever a file is called, where nobody says that the option is a file's (`Quantizer.files`).
    """
    known, words = host().get("quantizers", quantizer), _not_texts_of(quantizer)
    files, saves = known.files, known.saves
    return {
        key: str((here / value).absolute()) if key in saves and isinstance(value, str | Path)
        else value if key in words else _located(value, here, reads=key in files) for key, value in options.items()}


def located_passes(pipeline: str, here: Path) -> str:
    """A pipeline, in which the options that are files are so, too; as it was written where none is."""
    steps = Pipeline.parse(pipeline).steps
    before = [dict(step.options) for step in steps]
    for step in steps:
        step.options = {key: _located(value, here) for key, value in step.options.items()}
    return pipeline if before == [step.options for step in steps] else ",".join(map(str, steps))


def _located(value: Any, here: Path, reads: bool = True) -> Any:
    """A value, in which texts are paths from the root where they name files: a word that is a folder's name is a word.

    So is one that is a file's, with neither a folder nor a suffix, unless the option is known to be one that `reads` files.
    """
    if isinstance(value, list | tuple):
        return [_located(each, here, reads) for each in value]
    if not isinstance(value, str | Path):
        return value
    path = here / value
    may_be = reads or os.sep in str(value) or bool(path.suffix)
    is_path = isinstance(value, Path) or (may_be and is_file(path)) or (os.sep in value and exists(path))
    return str(path.absolute()) if is_path else value


def _not_texts(targets: Iterable[Target]) -> set[str]:
    """The names of options of targets and of all conversions that are numbers, or words to choose from, wherever declared.

    Other targets, one of which may fail, are not asked: a conversion is none of theirs.
    """
    declared = [each.options for each in host().conversions.values()] + [each.options() for each in targets]
    types = [(name, option[0]) for options in declared for name, option in options.items()]
    return {name for name, _ in types} - {name for name, kind in types if kind is str}


def _not_texts_of(quantizer: str) -> set[str]:
    """The same of a quantizer's options."""
    run = resolve(host().get("quantizers", quantizer).run)
    return {each.name for each in parameters_of(run, 2) if option_type(each.annotation) is not str}
