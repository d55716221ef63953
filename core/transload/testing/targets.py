"""Checking a target: it converts, reports, runs, refuses in words, and leaves nothing behind when it fails."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..analysis.choices import chosen_outputs
from ..api import loaded, runnable
from ..chosen_target import limits_of, target_options
from ..convert_model import Artifact, convert
from ..errors import InternalError, PluginFailure, TransloadError
from ..execution import run
from ..ir import Module
from ..parts import runner_of
from ..plugin import Emitted
from ..plugin_host import host
from ..verification.differences import compare_outputs
from ..verification.inputs import random_inputs
from ..verification.limits import broken_limits

__all__ = ["check_target"]


def check_target(
    name: str, model: str | Path | Module, refused: str | Path | Module | None = None, **options: Any,
) -> Artifact:
    """Convert `model` for the target and look at what comes out; `refused` is a model it must refuse, with the same options.

    There are artifacts, they are not empty, and are listed in `report.json`; nothing else is written. Where the target has a
    `run` that can be used here, it gives of the artifact what the model computes, by the target's own tolerance. A refusal is a
    `TransloadError` with findings, each of which says what is refused and why, and leaves no file but its report; what a plugin
    fails in is none. Raises `AssertionError` for all else, the `PluginFailure` of what it fails in with `model` (no file, say),
    and the `ReadError` of a model that cannot be read.
    """
    assert name in host().targets, f"no target is called {name!r}; there are {', '.join(host().targets)}"
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "out"
        artifact = convert(model, name, out, options=options)
        report = json.loads((out / "report.json").read_text(encoding="utf-8"))
        written = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
        assert written == {*report["files"], "report.json"}, f"written: {written}; reported: {set(report['files'])}"
        empty = [file.name for file in artifact.files if file.stat().st_size == 0]
        assert not empty, f"empty artifacts: {', '.join(empty)}"
        _check_numbers(name, model, artifact, options)
        if refused is not None:
            _check_refusal(name, refused, Path(directory) / "refused", options)
    return artifact


def _check_refusal(name: str, refused: str | Path | Module, out: Path, options: Mapping[str, Any]) -> None:
    """A target refuses a model in words, and by meaning to."""
    loaded(refused, "check_target")  # what cannot be read never comes to a target
    try:
        convert(refused, name, out, options=options)
    except TransloadError as error:
        failed = next((each for each in (error, error.__cause__) if isinstance(each, PluginFailure | InternalError)), None)
        assert failed is None, f"{name} fails where it should refuse {refused}: {failed}"
        assert error.findings, f"{name} refuses {refused} without saying why: {error}"
        silent = [finding for finding in error.findings if not finding.what.strip() or not finding.why.strip()]
        assert not silent, f"{name} refuses {refused} with a finding that does not say what is refused, and why: {silent[0]!r}"
        left = sorted(file.name for file in out.iterdir()) if out.is_dir() else []
        assert left == ["report.json"], f"{name} refuses {refused} and leaves {', '.join(left) or 'no report.json'}"
    else:
        raise AssertionError(f"{name} takes {refused}, which it should refuse")


def _check_numbers(name: str, model: str | Path | Module, artifact: Artifact, options: Mapping[str, Any]) -> None:
    """What the artifact computes is what the model does: by its verification, or, where that says nothing, by its run."""
    verdict = artifact.verification
    if verdict is not None and verdict.status in ("passed", "failed"):
        assert verdict.passed, f"{name} does not compute what {model} does: {'; '.join(verdict.broken)}"
        return
    target, _ = runner_of(name, Emitted(artifact.files, artifact.report.target_report))
    if target is None:
        return
    source = loaded(model, "check_target")
    given = random_inputs(source)
    wanted, made = run(source, given), run(artifact.directory, given)
    assert len(made) == len(wanted), f"{name}.run() gives {', '.join(made) or 'nothing'}, and the model {', '.join(wanted)}"
    tolerance = limits_of(target, None, target_options(target, options))
    chosen = chosen_outputs(runnable(source))
    broken = [reason for place, tensor in enumerate(compare_outputs(wanted, made))
              for reason in broken_limits(tensor, tolerance, chosen=place in chosen)]
    assert not broken, f"{name}.run() does not give what the model computes: {'; '.join(broken)}"
