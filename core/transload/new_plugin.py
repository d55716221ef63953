"""Making a plugin package to start from: one that installs, works and passes its own tests."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

from . import __version__
from .errors import TransloadError, UsageError
from .scratch import ScratchFolder

__all__ = ["KINDS", "make_plugin"]

KINDS = {
    "op": ("ops.py", "Ops for Transload: declaration, kernel and lowering.", "transload ops {dialect}"),
    "frontend": ("frontend.py", "A model format for Transload.", "transload inspect model.{dialect}"),
    "target": ("target.py", "A chip for Transload.", "transload convert model.tflite --target {dialect}"),
    "chip": ("chip.toml", "A chip that is a file, for Transload.", "transload convert model.tflite --target {dialect}"),
}
"""Kind of plugin -> (name of its module, description, a command to try)."""


def make_plugin(name: str, kind: str, parent: str | Path = ".") -> Path:
    """Make directory `parent/name` with a package that adds an op, a frontend, a target or a chip that is described by a file.

    Returns the directory. Raises `UsageError` for a name that no package can have, an unknown kind,
    or a directory that exists.
    """
    if kind not in KINDS:
        raise UsageError(f"no kind of plugin is called {kind!r}", hint=f"kinds: {', '.join(KINDS)}")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise UsageError(f"{name!r} cannot be a package's name", hint="lower-case words joined by hyphens: my-chip")
    directory = Path(parent) / name
    if directory.exists():
        raise UsageError(f"{directory} exists already")
    module, description, try_it = KINDS[kind]
    package = name.replace("-", "_")
    dialect = package.removeprefix("transload_")
    words = {
        "name": name, "package": package, "dialect": dialect, "description": description, "version": __version__,
        "Class": "".join(word.capitalize() for word in dialect.split("_")), "try_it": try_it.format(dialect=dialect),
    }
    templates = resources.files("transload") / "templates"
    files = {
        "pyproject.toml": templates / "common" / "pyproject.toml.tmpl",
        "README.md": templates / "common" / "README.md.tmpl",
        f"src/{package}/plugin.py": templates / kind / "plugin.py.tmpl",
        f"src/{package}/{module}": templates / kind / f"module{Path(module).suffix}.tmpl",
        f"tests/test_{package}.py": templates / kind / "test.py.tmpl",
    }
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with ScratchFolder(directory.parent) as temporary:
            for place, template in files.items():
                file = temporary / place
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(_fill(template.read_text(encoding="utf-8"), words), encoding="utf-8")
            (temporary / "src" / package / "__init__.py").write_text(f'"""{description}"""\n', encoding="utf-8")
            temporary.chmod(0o755)
            temporary.rename(directory)
    except OSError as error:
        raise TransloadError(f"cannot write {directory}: {error.strerror or error}") from None
    return directory


def _fill(template: str, words: dict[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda match: words[match[1]], template)
