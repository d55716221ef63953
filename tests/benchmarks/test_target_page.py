"""The page of targets: what a cell says, and that a refusal whose option fails is told and counted as such."""

from __future__ import annotations

from pathlib import Path

from target_page import BEGIN, END, Held, tables, write_page

REASON = "top.Conv: it rounds otherwise; " * 20


def test_what_fails_with_the_option_that_a_refusal_names_is_marked_counted_and_told() -> None:
    failed = {"verdict": "refused", "why": f"{REASON}; with --option rounding=coreml: y: differs by 3 steps, allowed 1"}
    page = tables({
        "onnx/a/a.onnx": {"coreml": failed}, "onnx/b/b.onnx": {"coreml": {"verdict": "refused", "why": REASON}},
        "onnx/c/c.onnx": {"coreml": {"verdict": "passed", "integers": True, "max_abs": 0}}}, ["coreml"], Held())
    lines = page.splitlines()
    assert "| `coreml` | 1 of 3 | 1 of 1 | 0 | 0 | 2 | 1 |" in lines
    assert "| onnx/a |  | –⁴ |" in lines and "| onnx/b |  | – |" in lines and "| onnx/c |  | same bits |" in lines
    (told,) = [line for line in lines if "onnx/a" in line and "rounds otherwise" in line]
    assert "with --option rounding=coreml: y: differs by 3 steps, allowed 1" in told


def test_a_target_that_is_not_measured_of_every_model_keeps_what_the_page_says(tmp_path: Path) -> None:
    page = tmp_path / "targets.md"
    page.write_text(f"Before.\n\n{BEGIN}\n{END}\n\nAfter.\n")
    right, refused = {"verdict": "passed", "ms": 2.0}, {"verdict": "refused", "why": "top.While: no way | none"}
    before = {"onnx/a/a.onnx": {"tflite": right, "onnx": right}, "onnx/b/b.onnx": {"tflite": refused, "onnx": right}}
    write_page(page, before, ["tflite", "onnx", "coreml"])
    once = page.read_text()
    now = {**right, "ms": 3.0, "commit": "abc"}
    after = {"onnx/a/a.onnx": {"tflite": now, "onnx": now}, "onnx/b/b.onnx": {"onnx": now}}
    write_page(page, after, ["tflite", "onnx", "coreml"])
    text = page.read_text()
    assert "| onnx/a |  | right, 2 ms | right, 3 ms |" in text and "| onnx/b |  | – | right, 3 ms |" in text
    (told,) = [line for line in once.splitlines() if "no way" in line]
    assert told in text.splitlines()
    assert "| `tflite` | 1 of 2 | 0 of 0 | 0 | 0 | 1 | 0 |" in text
    assert "Measured on commit abc: `onnx`. Measured on commit an unknown one: `tflite`." in text
    page.write_text(once.replace("Measured on commit an unknown one: `tflite`, `onnx`.", ""))
    write_page(page, after, ["tflite", "onnx", "coreml"])
    assert "Measured on commit abc: `onnx`. Measured on commits before that, not all on one: `tflite`." in page.read_text()
    assert "right: `tflite` 50.0 %, `onnx` 100.0 %." in text
    third = {model: {"tflite": {**right, "commit": state}} for model, state in (("onnx/a/a.onnx", "c1"), ("onnx/b/b.onnx", "c2"))}
    write_page(page, third, ["tflite", "onnx", "coreml"])
    assert "Measured on commit c1 and c2: `tflite`. Measured on commit abc: `onnx`.\n" in page.read_text()
    fourth = {model: {"onnx": {**refused, "commit": "d"}} for model in third}
    write_page(page, fourth, ["tflite", "onnx", "coreml"])
    (told,) = [line for line in page.read_text().splitlines() if line.startswith("Of the ")]
    assert told == "Of the 2 models that reach the hub (some target takes them), right: `tflite` 100.0 %, `onnx` 0.0 %."
    assert text.startswith("Before.") and text.endswith("After.\n")
