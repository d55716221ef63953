"""Words of a file that nobody reads to their end, in what the terminal shows of errors."""

from __future__ import annotations

import pytest

from transload.cli.show import show_error
from transload.errors import Finding, TransloadError


def test_names_of_a_million_letters_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    name = "n" * 1_000_000
    show_error(TransloadError(f"layer {name!r} is none", [Finding(f"op.{name}", "no such", (name,))], hint=f"see {name}"))
    said = capsys.readouterr().err
    assert len(said) < 5_000 and "characters more" in said and "layer 'nnn" in said and "is none" in said
