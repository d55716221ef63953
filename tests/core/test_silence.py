"""Runtimes that would tell their makers what they run, and keep it in the user's folders until they have."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest


@pytest.mark.parametrize(("target", "runtime"), [("onnx", "onnxruntime"), ("xla-cpu", "onnxruntime"), ("openvino", "openvino")])
def test_nothing_is_kept_for_others(target: str, runtime: str, examples: Path, tmp_path: Path) -> None:
    if find_spec(runtime) is None or find_spec("onnxruntime") is None:
        pytest.skip(f"install transload[{runtime}] to see what it keeps")
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    home.mkdir()
    temporary.mkdir()
    told = {"HOME": str(home), "TMPDIR": str(temporary), "XDG_CACHE_HOME": str(home / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    kept = {name: value for name, value in os.environ.items() if name not in ("ORT_DISABLE_TELEMETRY", "CI")}
    command = [sys.executable, "-m", "transload", "convert", str(examples / "digits" / "digits_float.onnx"), "-t", target,
               "-o", str(tmp_path / "out"), "--verify=require"]
    done = subprocess.run(command, env=kept | told, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    files = [path for folder in (home, temporary) for path in folder.rglob("*") if path.is_file()]
    assert not [path for path in files if ".cache" not in path.parts]
    assert not [path for path in home.rglob("*") if "Microsoft" in path.parts or "intel" in path.parts]
