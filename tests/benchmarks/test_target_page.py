"""The page of targets: what a cell says, and that a refusal whose option fails is told and counted as such."""

from __future__ import annotations

from target_page import tables

REASON = "top.Conv: it rounds otherwise; " * 20


def test_what_fails_with_the_option_that_a_refusal_names_is_marked_counted_and_told() -> None:
    failed = {"verdict": "refused", "why": f"{REASON}; with --option rounding=coreml: y: differs by 3 steps, allowed 1"}
    page = tables({
        "onnx/a/a.onnx": {"coreml": failed}, "onnx/b/b.onnx": {"coreml": {"verdict": "refused", "why": REASON}},
        "onnx/c/c.onnx": {"coreml": {"verdict": "passed", "integers": True, "max_abs": 0}}}, ["coreml"])
    lines = page.splitlines()
    assert "| `coreml` | 1 of 3 | 1 of 1 | 0 | 0 | 2 | 1 |" in lines
    assert "| onnx/a |  | –⁴ |" in lines and "| onnx/b |  | – |" in lines and "| onnx/c |  | same bits |" in lines
    (told,) = [line for line in lines if "onnx/a" in line and "rounds otherwise" in line]
    assert "with --option rounding=coreml: y: differs by 3 steps, allowed 1" in told
