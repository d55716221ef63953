"""A sample of what `make fuzz` does, always the same: none of these files ends in anything but an error of ours or a module."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("onnx", reason="the package 'onnx' is not installed")
pytest.importorskip("jaxlib", reason="jaxlib writes the bytecode to start from")

from tests.fuzz import tflite_files
from tests.fuzz.cases import MUTATORS, attempt, case_of
from tests.fuzz.seeds import FORMATS, seed_files
from tests.fuzz.single import single_case_of
from tests.fuzz.unchanged import unchanged_case_of

CASES = 400
WRITERS = {"keras": "h5py"}
"""Packages that write the files of a format, where not all have them."""


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TRANSLOAD_MODELS", raising=False)
        return seed_files(tmp_path_factory.mktemp("seeds"), 60)


@pytest.mark.plugin_fails
def test_changed_files_give_errors_or_modules(seeds: dict[str, list[Path]]) -> None:
    failed, kinds = [], Counter[str]()
    for number in range(CASES):
        case = case_of(number, seeds)
        outcome = attempt(case)
        kinds[outcome.kind] += 1
        if outcome.kind == "failed":
            failed.append(f"{number} ({case.format}): {outcome.place}\n{outcome.detail}")
    assert not failed, "\n\n".join(failed)
    assert kinds["converted"] > CASES // 8 and kinds["refused when read"] > CASES // 8 and kinds["refused"] > 0


def test_a_tflite_file_is_what_it_was_when_nothing_is_changed(seeds: dict[str, list[Path]]) -> None:
    for file in seeds["tflite"]:
        content = file.read_bytes()
        again = tflite_files.encode(tflite_files.decode(content))
        assert tflite_files.decode(again) == tflite_files.decode(content)


@pytest.mark.parametrize("format", FORMATS)
def test_changes_change_something(seeds: dict[str, list[Path]], format: str) -> None:
    mutate = MUTATORS[format]
    if format in WRITERS:
        pytest.importorskip(WRITERS[format], reason=f"{WRITERS[format]}, which writes its files, is not installed")
    content = seeds[format][1].read_bytes()
    made = {mutate(random.Random(number), content) for number in range(20)}
    assert len(made) > 6
    assert mutate(random.Random(1), content) == mutate(random.Random(1), content)


def test_files_as_they_are_are_quantized_and_verified(seeds: dict[str, list[Path]]) -> None:
    """A sample of what `make sweep` does; as many numbers in a row as there are files are of each file once."""
    count = sum(map(len, seeds.values()))
    turn = [unchanged_case_of(number, seeds) for number in range(count)]
    assert sorted((case.format, case.content) for case in turn) == sorted(
        (format, file.read_bytes()) for format, files in seeds.items() for file in files)
    outcomes = [attempt(unchanged_case_of(number, seeds)) for number in range(50)]
    assert not [f"{outcome.place}\n{outcome.detail}" for outcome in outcomes if outcome.kind in ("failed", "differs")]
    assert sum(outcome.kind == "checked" for outcome in outcomes) > 15


def test_single_edits_are_judged(seeds: dict[str, list[Path]]) -> None:
    """A sample of what `make edits` does."""
    outcomes = [attempt(single_case_of(number, seeds)) for number in range(75)]
    assert not [f"{outcome.place}\n{outcome.detail}" for outcome in outcomes if outcome.kind in ("failed", "differs")]
    assert sum(outcome.kind == "checked" for outcome in outcomes) > 15
