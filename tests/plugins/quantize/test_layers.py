"""What layers are held in where the caller says so: quantize tables, and names of tensors that stay float."""

from __future__ import annotations

from pathlib import Path

import pytest

from transload.errors import ReadError, UsageError
from transload.ir import I16, Module
from transload.quantization import quantize_at_hub
from transload_plugins.quantize.layers import load_layers, save_layers

from .test_islands import far_from_zero


def kinds(module: Module) -> dict[str, str]:
    """What each tensor with a name is held in, as text."""
    return {op.result.name: str(op.result.element) for op in module.ops() if op.results and op.result.name is not None}


def test_what_a_table_says_is_done_and_nothing_else(tmp_path: Path) -> None:
    module, samples = far_from_zero()
    found = quantize_at_hub(module, "int8", samples, {})
    assert found.report["layers"]["far"] == "INT16"
    without = quantize_at_hub(module, "int8", samples, {"layers": {}})
    assert without.report["layers"] == {} and not without.floats
    again = quantize_at_hub(module, "int8", samples, {"layers": str(save_layers(tmp_path / "q.txt", found.report["layers"]))})
    assert kinds(again.module) == kinds(found.module)
    assert "q.txt" in again.report["islands of 16 bits"]["far"]
    floats = quantize_at_hub(module, "int8", samples, {"layers": {"far": "F32"}})
    assert "far" in floats.floats
    assert not any(value.quant.storage == I16 for op in floats.module.ops() for value in op.results if value.quant is not None)


@pytest.mark.parametrize("floats", ["far", ["far"], {"far": "as the caller asked"}])
@pytest.mark.parametrize("scheme", ["int8", "f16"])
def test_tensors_stay_float_by_name(scheme: str, floats: object) -> None:
    module, samples = far_from_zero()
    made = quantize_at_hub(module, scheme, samples, {"floats": floats})
    assert made.floats is not None and made.floats["far"] == "as the caller asked"


@pytest.mark.parametrize(("options", "message"), [
    ({"floats": "fra"}, "no float tensor 'fra'"), ({"layers": {"nowhere": "F32"}}, "no float tensor 'nowhere'"),
    ({"layers": {"far": "INT4"}}, "cannot be held in 'INT4'")])
def test_names_and_words_that_there_are_not_are_refused(options: dict[str, object], message: str) -> None:
    module, samples = far_from_zero()
    with pytest.raises(UsageError, match=message) as caught:
        quantize_at_hub(module, "int8", samples, options)
    assert caught.value.hint


@pytest.mark.parametrize(("text", "message"), [
    ("conv F32\nconv INT8\n", ":2: 'conv' has had a line"), ("conv\n", ":1: 'conv' is not the name"),
    ("# all\nconv F33\n", ":2: 'conv F33' is not"), ("\xff", "cannot be read")])
def test_files_that_are_no_tables_are_refused_by_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "q.txt"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(ReadError, match=message):
        load_layers(file)


def test_names_may_have_spaces_in_them(tmp_path: Path) -> None:
    file = tmp_path / "q.txt"
    file.write_text("# op_name quantize_mode\na layer F16\nb\tINT8\n")
    assert load_layers(file) == {"a layer": "F16", "b": "INT8"}
