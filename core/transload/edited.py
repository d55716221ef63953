"""Whether a module is still what its file holds, which is what verification compares with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .api import at_hub, load, lower
from .contents import main_dialect
from .errors import TransloadError, UsageError
from .ir import Cut, Module, TensorType
from .ir.compare import difference
from .plugin_host import host
from .roles import hub

if TYPE_CHECKING:
    from .verification.verdict import Verification

__all__ = ["blame_edits", "note_of_edits"]


def note_of_edits(module: Module) -> str | None:
    """What differs between a module and the file that it was read from, in words; None where nothing does.

    The file is read again, and converted to the dialect that the module is in: as `legalize` and `lower` do, and as conversions
    begin in the hub. A module that came into its dialect in another way (by passes, or quantized) is one that differs. Where the
    file does not read any more, or as something else altogether, nothing is said: whoever judges says that.
    """
    if module.source is None or not module.functions:
        return None
    states = {state.input for state in module.states}
    reader = host().readers.get(module.source_format or "")
    cut = module.cut or Cut((), {})
    shapes = {name: tuple(size or 0 for size in type_.shape or ()) for name, type_ in {**module.inputs, **cut.unused}.items()
              if isinstance(type_, TensorType) and type_.is_static and name not in states}
    try:
        read = load(
            module.source, format=module.source_format, inputs=shapes,
            function=module.entry if module.entry != "main" else None, outputs=cut.outputs,
            weights=module.beside[0] if reader is not None and reader.weights and module.beside else None)
        dialect = main_dialect(module)
        found = None
        for again in [read] if main_dialect(read) == dialect else _converted(read, dialect):
            found = difference(again, module, locations=False)
            if found is None:
                return None
    except UsageError as error:  # of inputs that are called otherwise in the file
        found = error.message
    except TransloadError:
        return None
    return (f"the module is not what {module.source} holds ({found}); it is that file, as it is, that verification compares it "
            "with") if found is not None else None


def blame_edits(verdict: Verification, note: str) -> None:
    """Let a failed verification say first that the module was edited: what differs may be what the edits are for."""
    if verdict.failed:
        from .verification.judge import DIFFERS_TOO

        verdict.notes = [note, *(each for each in verdict.notes if not each.endswith(DIFFERS_TOO))]


def _converted(read: Module, dialect: str) -> list[Module]:
    made = [lower(read, to=dialect)]
    return [*made, at_hub(read)] if dialect == hub().name else made
