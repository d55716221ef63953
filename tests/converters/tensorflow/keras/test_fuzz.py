"""A sample of changed Keras files: each is refused in our words, or gives a module (`make fuzz` tries more)."""

from __future__ import annotations

import random

import pytest

from .test_layers import CASES
from tests.fuzz import keras_files
from tests.fuzz.cases import Case, attempt
from tests.support.keras_layers.models import archive

pytest.importorskip("h5py")


@pytest.mark.plugin_fails
def test_changed_files_give_errors_or_modules() -> None:
    seeds = [archive(cases[0]["config"], cases[0]["variables"]) for cases in CASES.values()]
    failed = []
    for number in range(120):
        dice = random.Random(number)
        outcome = attempt(Case(number, "keras", keras_files.mutate(dice, dice.choice(seeds)), "top", False))
        if outcome.kind == "failed":
            failed.append(f"{number}: {outcome.place}\n{outcome.detail}")
    assert not failed, "\n\n".join(failed)
