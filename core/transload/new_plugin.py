"""Making a plugin package to start from: one that installs, works and passes its own tests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path

from . import __version__
from .errors import TransloadError, UsageError
from .files import exists, need_directory, permitted, remove_empty, scratch_in
from .plugin_host import host
from .registration import singular

__all__ = ["KINDS", "Kind", "make_plugin"]


@dataclass(frozen=True)
class Kind:
    """A kind of plugin: the module that implements it, what it is, a command to try, and the model that this takes, if any.

    In texts `{dialect}` is what the plugin registers.
    """

    module: str
    description: str
    try_it: str
    model: str = ""


KINDS = {
    "op": Kind("ops.py", "Ops for Transload: declaration, kernel and lowering.", "transload ops {dialect}"),
    "frontend": Kind(
        "frontend.py", "A model format for Transload.", "transload convert model.{dialect} -o out", "model.{dialect}"),
    "target": Kind(
        "target.py", "A chip for Transload.", "transload convert model.mlir --target {dialect} -o out", "model.mlir"),
    "chip": Kind(
        "chip.toml", "A chip that is a file, for Transload.", "transload convert model.mlir --target {dialect} -o out",
        "model.mlir"),
}
_OF_MODEL = "; the third takes `{model}`, a model of this package's own to try it with"


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
    made_of = KINDS[kind]
    package = name.replace("-", "_")
    dialect = package.removeprefix("transload_")
    if taken := _taken(name, package, dialect):
        raise UsageError(f"{name!r} cannot be a plugin's name: {taken}", hint=f"another one, as my-{name}")
    model = made_of.model.format(dialect=dialect)
    words = {
        "name": name, "package": package, "dialect": dialect, "description": made_of.description, "version": __version__,
        "Class": _class_of(dialect), "module": made_of.module,
        "try_it": made_of.try_it.format(dialect=dialect), "of_model": _OF_MODEL.format(model=model) if model else "",
    }
    templates = resources.files("transload") / "templates"
    files = {
        "pyproject.toml": templates / "common" / "pyproject.toml.tmpl",
        "README.md": templates / "common" / "README.md.tmpl",
        f"src/{package}/plugin.py": templates / kind / "plugin.py.tmpl",
        f"src/{package}/{made_of.module}": templates / kind / f"module{Path(made_of.module).suffix}.tmpl",
        f"tests/test_{package}.py": templates / kind / "test.py.tmpl",
        **({model: templates / kind / "model.tmpl"} if model else {}),
    }
    made = list[Path]()
    try:
        with scratch_in(directory.parent, made) as temporary:
            for place, template in files.items():
                file = temporary / place
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(_fill(template.read_text(encoding="utf-8"), words), encoding="utf-8")
            (temporary / "src" / package / "__init__.py").write_text(f'"""{made_of.description}"""\n', encoding="utf-8")
            temporary.chmod(permitted(0o777))
            temporary.rename(directory)
    except OSError as error:
        raise TransloadError(f"cannot write {directory}: {error.strerror or error}") from None
    finally:
        remove_empty(reversed(made))
    return directory


def _class_of(dialect: str) -> str:
    return "".join(word.capitalize() for word in dialect.split("_"))


def _taken(name: str, package: str, dialect: str) -> str:
    """Who has a name already that the package, its entry point or what it registers would have; '' where nobody does."""
    if any(map(iskeyword, (package, dialect, _class_of(dialect)))):
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
