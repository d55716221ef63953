"""What is said of a whole command line: how much a person wants to be told."""

from __future__ import annotations

from dataclasses import dataclass

import click

__all__ = ["Session", "session"]


@dataclass
class Session:
    """One call of the command line; its options stand anywhere in the line."""

    verbose: bool = False
    """Every finding with all its places, instead of what they have in common."""
    quiet: bool = False
    """Nothing but errors, and what was asked for: JSON, text."""
    debug: bool = False
    """Tracebacks of errors."""


def session() -> Session:
    """The session of the command that runs."""
    context = click.get_current_context(silent=True)
    return (context.find_object(Session) if context is not None else None) or Session()
