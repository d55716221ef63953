"""Making a plugin package to start from: one that installs, works and passes its own tests."""

from __future__ import annotations

import re
from importlib import resources
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path

from . import __version__
from .errors import TransloadError, UsageError
from .files import exists, need_directory, permitted, remove_empty, scratch_in
from .plugin_host import host
from .registration import singular

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

    Returns the directory. Raises `UsageError` for a name that no package can have or somebody has already, an unknown kind,
    or a directory that exists.
    """
    if kind not in KINDS:
        raise UsageError(f"no kind of plugin is called {kind!r}", hint=f"kinds: {', '.join(KINDS)}")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise UsageError(f"{name!r} cannot be a package's name", hint="lower-case words joined by hyphens: my-chip")
    need_directory(Path(parent))
    directory = Path(parent) / name
    if exists(directory):
        raise UsageError(f"{directory} exists already", hint="-o FOLDER, which is not there yet, takes the plugin; or remove it")
    module, description, try_it = KINDS[kind]
    package = name.replace("-", "_")
    dialect = package.removeprefix("transload_")
    if taken := _taken(name, package, dialect):
        raise UsageError(f"{name!r} cannot be a plugin's name: {taken}", hint=f"another one, as my-{name}")
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
    made = list[Path]()
    try:
        with scratch_in(directory.parent, made) as temporary:
            for place, template in files.items():
                file = temporary / place
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(_fill(template.read_text(encoding="utf-8"), words), encoding="utf-8")
            (temporary / "src" / package / "__init__.py").write_text(f'"""{description}"""\n', encoding="utf-8")
            temporary.chmod(permitted(0o777))
            temporary.rename(directory)
    except OSError as error:
        raise TransloadError(f"cannot write {directory}: {error.strerror or error}") from None
    finally:
        remove_empty(reversed(made))
    return directory


def _taken(name: str, package: str, dialect: str) -> str:
    """Who has a name already that the package, its entry point or what it registers would have; '' where nobody does."""
    if iskeyword(package) or iskeyword(dialect):
        return f"{dialect} is a word of Python's"
    own = host()
    if (plugin := next((each for each in own.plugins if each.name == name), None)) is not None:
        return f"{plugin} has it"
    for kind in ("dialects", "readers", "targets"):
        if dialect in getattr(own, kind):
            return f"{own.owner(kind, dialect)} has a {singular(kind)} of this name"
    try:
        return f"there is a module {package} already" if find_spec(package) is not None else ""
    except ValueError:  # of a module that does not say where it comes from
        return f"there is a module {package} already"


def _fill(template: str, words: dict[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda match: words[match[1]], template)
