"""The example of a chip as a file: what `new-plugin --kind chip` makes, unchanged; its own tests are the template's."""

from __future__ import annotations

from pathlib import Path

import transload
from transload.new_plugin import make_plugin
from transload_targets.tensor_processor.chip import load_chip


def test_the_example_is_what_the_template_makes(examples: Path, tmp_path: Path) -> None:
    made = make_plugin("transload-snail", "chip", tmp_path)
    files = {file.relative_to(made): file.read_text() for file in made.rglob("*") if file.is_file()}
    kept = {file: (examples / "snail" / file).read_text() for file in files}
    assert kept == files


def test_a_chip_takes_a_page_and_sixty_lines(examples: Path) -> None:
    source = examples / "snail" / "src" / "transload_snail"
    assert len((source / "plugin.py").read_text().splitlines()) <= 60
    chip = load_chip(source / "chip.toml")
    assert chip.name == "snail" and chip.supports("snail.softsign", "float32")
    assert transload.__version__ in (examples / "snail" / "pyproject.toml").read_text()
