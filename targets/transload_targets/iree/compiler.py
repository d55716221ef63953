"""IREE's compiler, as it runs in a process of its own: other people's C++, which may end it (`transload.worker`).

What it has to say of a program comes as diagnostics with locations, in which are the names of the model's tensors.

Source: https://iree.dev/reference/bindings/c-api/ (the compiler's embedding API, through `iree.compiler.api`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["compile_program", "complaints"]

_INPUT = "iree-stablehlo-input-transformation-pipeline"
"""The passes that turn StableHLO into what IREE compiles, and refuse what has no way there."""
MOST = 200
"""Complaints that are told: a program may have one in each of thousands of kernels."""


def complaints(program: bytes, flags: Sequence[str]) -> list[list[Any]]:
    """What IREE cannot take into its compiler: `[message, names]` each; nothing where it takes all. A part of compiling it."""
    from iree.compiler.api import Session

    with Session() as session:
        errors = _Errors(session, flags)
        invocation = session.invocation()
        if _parsed(session, invocation, program) and invocation.execute_text_pass_pipeline(_INPUT):
            return []
        return errors.told()


def compile_program(program: bytes, flags: Sequence[str]) -> dict[str, Any]:
    """A program of StableHLO (text, or a portable artifact) compiled: its `code`, or None and what was `said`."""
    from iree.compiler.api import Output, Session

    with Session() as session:
        errors = _Errors(session, flags)
        invocation = session.invocation()
        if not _parsed(session, invocation, program) or not invocation.execute():
            return {"code": None, "said": errors.told()}
        with Output.open_membuffer() as output:
            invocation.output_vm_bytecode(output)
            return {"code": bytes(output.map_memory()), "said": []}


class _Errors:
    """What is said as errors while a session of the compiler works, under its flags."""

    def __init__(self, session: Any, flags: Sequence[str]) -> None:
        session.set_flags(*flags)
        self.said: list[list[Any]] = []
        self._handler = session.context.attach_diagnostic_handler(self._hear)  # gone, it hears nothing

    def _hear(self, diagnostic: Any) -> bool:
        if diagnostic.severity.name == "ERROR" and len(self.said) < MOST:
            self.said.append([diagnostic.message, list(dict.fromkeys(_names(diagnostic.location)))])
        return True

    def told(self) -> list[list[Any]]:
        return self.said or [["it refused the program without a word", []]]


def _parsed(session: Any, invocation: Any, program: bytes) -> bool:
    from iree.compiler.api import Source

    return bool(invocation.parse_source(Source.wrap_buffer(session, program)))


def _names(location: Any) -> Iterator[str]:
    """The names in a location. A kind of location is known by what it has: MLIR's own words for them changed."""
    name = getattr(location, "name_str", None)
    if name is not None:
        yield name
    inner = [getattr(location, part, None) for part in ("child_loc", "callee")]
    for each in (*inner, *getattr(location, "locations", ())):
        if each is not None:
            yield from _names(each)
