"""Checking a target: it converts, reports, refuses in words, and leaves nothing behind when it fails."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from ..convert_model import Artifact, convert
from ..errors import TransloadError
from ..plugin_host import host

__all__ = ["check_target"]


def check_target(name: str, model: str | Path, refused: str | Path | None = None, **options: Any) -> Artifact:
    """Convert `model` for the target and look at what comes out; `refused` is a model it must refuse.

    The artifacts exist, are not empty, and are listed in `report.json`; nothing else is written. A
    refusal is a `TransloadError` with findings, and leaves no file but its report.
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
        if refused is not None:
            bad = Path(directory) / "refused"
            try:
                convert(refused, name, bad)
            except TransloadError as error:
                assert error.findings, f"{name} refuses {refused} without saying why"
                left = [file.name for file in bad.iterdir()]
                assert left == ["report.json"], f"{name} refuses {refused} and leaves {left}"
            else:
                raise AssertionError(f"{name} takes {refused}, which it should refuse")
    return artifact
