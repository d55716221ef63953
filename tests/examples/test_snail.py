"""The example of a chip as a file: what `new-plugin --kind chip` makes, unchanged; its own tests are the template's."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import transload
from transload.context import Context
from transload.ir import F32, TensorType
from transload.new_plugin import make_plugin
from transload.plugin_host import Host
from transload.testing import build_module
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


@pytest.mark.parametrize("order", [("crab", "newt"), ("newt", "crab")])
def test_two_chips_keep_to_their_own_instructions(order: tuple[str, str], tmp_path: Path) -> None:
    """The rule of the one that came last refused the ops of the other, which went to the host."""
    own = Host()
    for name in order:
        folder = make_plugin(name, "chip", tmp_path) / "src" / name
        spec = spec_from_file_location(f"{name}_plugin", folder / "plugin.py")
        assert spec is not None and spec.loader is not None
        spec.loader.exec_module(plugin := module_from_spec(spec))
        own.register(plugin, name)
    for name in order:
        with Context(own).bind():
            module = build_module([TensorType((1, 4, 8, 8), F32)], lambda build, x: build.emit("top.Softsign", x))
            made = transload.convert(module, name, tmp_path / "out" / name)
        assert made.report.target_report["operators"] == {f"{name}.softsign": 1} and made.report.partition is None
