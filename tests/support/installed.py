"""A fresh virtual environment with Transload and a package from `examples/`, as a user has them."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

__all__ = ["install", "run_tests", "site_packages"]


def site_packages(python: Path) -> str:
    """Where an interpreter's packages are."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def install(directory: Path, *projects: Path) -> Path:
    """Install projects with pip in a new environment in `directory`; its interpreter.

    Dependencies are seen from our environment, to save time.
    """
    venv.create(directory / "env", with_pip=False)
    python = directory / "env" / "bin" / "python"
    ours = [path for path in sys.path if path.endswith("site-packages")]  # several, where ours stands on another
    for project in projects:
        pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-deps", "--no-build-isolation"]
        subprocess.run(
            [*pip, str(project)], check=True, capture_output=True, text=True, timeout=300,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(ours)})
    # Ours come behind the fresh environment's own packages, so that what was installed there is what is tested.
    (Path(site_packages(python)) / "behind.pth").write_text(f"import sys; sys.path.extend({ours!r})\n")
    return python


def run_tests(python: Path, directory: Path, tests: Path) -> subprocess.CompletedProcess[str]:
    """Run a package's own tests with an interpreter."""
    return subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)],
        cwd=directory, capture_output=True, text=True, timeout=300,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"})
