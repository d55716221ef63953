"""Looking at a model: `transload view` shows it in the browser, at every stage of its way to a target.

A *stage* is the module as a part of the journey left it. `stages` runs the journey and keeps what it sees, `graph` says of a
module what the page draws, `lineage` follows ops from stage to stage, `comparing` puts float beside quantized, `document` makes
one HTML document of all, and `server` hands it to a browser. The page itself is in `page/`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from transload.hookspecs import hookimpl

if TYPE_CHECKING:
    from transload.ir import Module

__all__ = ["view_page"]


@hookimpl
def register_commands(register: Any) -> None:
    from .commands import view

    register(("view", view))


def view_page(module: Module, file: str | Path, target: str | None = None) -> Path:
    """Write the page of `transload view` for a module, up to a target or the default one; the argument is unchanged.

    Returns the path. Raises `UsageError` for a target that there is not, `TransloadError` where the place cannot be written.
    """
    from transload.files import atomic_path

    from .document import document
    from .looking import Looking

    looking = Looking()
    title = module.source.name if module.source is not None else "module"
    looking.add_module(module.clone(), title, target)
    with atomic_path(file) as place:
        place.write_bytes(document(looking.data(title), title))
    return Path(file)
