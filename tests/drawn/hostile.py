"""A valid file with one number, list or word that code does not expect ends in an error that says why, or in a module that runs.

A case takes a model of one op of some format, and gives one of its options, sizes, scales, constants or references another value:
0, -1, what does not fit into 32 bits, the ends of 64, numbers that are none, denormal ones, no item, a hundred thousand of them,
9 or 65 dimensions, a list in the place of a number (`tests.fuzz.edits` lists them). Then it is done with it what users do: read,
inspected, looked at, converted, quantized, judged by its framework's runtime. Judge: the rule that nothing but `TransloadError`
is raised, that it blames no code, that processes neither end nor take more than 20 s or 2 GB, and, where a runtime takes
the file, that both compute the same.
"""

from __future__ import annotations

import random
import tempfile
from functools import cache
from itertools import islice
from pathlib import Path

from transload.errors import InternalError, PluginFailure, TransloadError
from transload.inspection import inspect

from tests.drawn import Outcome
from tests.drawn._limited import limited
from tests.fuzz import cases
from tests.fuzz.cases import Case, options_of
from tests.fuzz.onward import Onward
from tests.fuzz.seeds import FORMATS, seed_files
from tests.fuzz.single import OPENED

__all__ = ["SAMPLE", "draw"]

SAMPLE = 10
_MODELS = 30
"""Of each format: those that the catalogues of one-op models begin with."""
_MOST = 4000
"""Edits of one file."""
_TARGETS = ("tosa", "stablehlo", "onnx", "tflite", "ethos-u55-128", "ethos-u85-256", "tp-small", "tp-large", "xla-cpu", "sophgo")


def draw(number: int, folder: Path) -> Outcome:
    """Case `number`, in a process of its own."""
    case = _case_of(number)
    done, why = limited(_attempt, case)
    if done is None:
        first, _, detail = why.partition("\n")
        return Outcome("failed", f"{case.format}: {first}\n{detail}")
    kind, place, detail = done
    wrong = f"{place}\n{detail}" if kind in ("failed", "differs") else None
    return Outcome("not judged" if kind == "judge refused" else kind, wrong)


def _case_of(number: int) -> Case:
    dice = random.Random(f"hostile {number}")
    format = sorted(FORMATS)[number % len(FORMATS)]
    content = dice.choice(_seeds()[format]).read_bytes()
    if format in OPENED:
        edits, write = OPENED[format](content)
        if listed := list(islice(edits, _MOST)):
            dice.choice(listed)()
            content = write()
    else:
        content = cases.MUTATORS[format](dice, content)
    way, to = dice.randrange(4), dice.choice(("tosa", "stablehlo", "top", "tfl", "onnx"))
    onward = Onward(dice.choice(_TARGETS), dice.choice((None, None, "int8")), dice.random() < 0.7) if way < 2 else None
    return Case(number, format, content, to, way == 2, options_of(dice, format, to), onward, view=dice.randrange(3) == 0)


@cache
def _seeds() -> dict[str, list[Path]]:
    """Models of one op of each format, made once for all who draw from this checkout."""
    return seed_files(Path(tempfile.gettempdir()) / f"transload-hostile-{_MODELS}", _MODELS)


def _attempt(case: Case) -> tuple[str, str, str]:
    """What became of a case: it is inspected, then what `tests.fuzz` does with it."""
    outcome = cases.attempt(case)
    if outcome.kind == "converted":
        with tempfile.TemporaryDirectory() as folder:
            try:
                inspect(cases.loaded(case, Path(folder)))
            except (InternalError, PluginFailure) as error:
                outcome = cases.failure(error.__cause__ or error, case)
            except TransloadError:
                return "refused", "", ""
            except Exception as error:
                outcome = cases.failure(error, case)
    return outcome.kind, outcome.place, outcome.detail
