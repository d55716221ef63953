"""IREE's compiler, as it runs in a process of its own: other people's C++, which may end it (`transload.worker`).

What it has to say of a program comes as diagnostics with locations, in which are the names of the model's tensors. Its bindings
make Python objects of them before they take Python's lock, which its calls have let go of: in Python 3.12 and later that ends the
process. So a program is compiled without listening, and what fails is done again by calls that keep the lock (`_Held`).

Source: https://iree.dev/reference/bindings/c-api/ (the compiler's embedding API, through `iree.compiler.api`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["compile_program", "complaints"]

_INPUT = "iree-stablehlo-input-transformation-pipeline"
"""The passes that turn StableHLO into what IREE compiles, and refuse what has no way there."""
_STANDARD = 0
"""The pipeline that compiles all of a program (IREE_COMPILER_PIPELINE_STD)."""
MOST = 200
"""Complaints that are told: a program may have one in each of thousands of kernels."""


def complaints(program: bytes, flags: Sequence[str]) -> list[list[Any]]:
    """What IREE cannot take into its compiler: `[message, names]` each; nothing where it takes all. A part of compiling it."""
    from iree.compiler.api import Session

    with Session() as session:
        session.set_flags(*flags)
        invocation = session.invocation()
        if _parsed(session, invocation, program) and invocation.execute_text_pass_pipeline(_INPUT):
            return []
    return _said(program, flags, "ireeCompilerInvocationRunPassPipeline", _INPUT.encode())


def compile_program(program: bytes, flags: Sequence[str]) -> dict[str, Any]:
    """A program of StableHLO (text, or a portable artifact) compiled: its `code`, or None and what was `said`."""
    from iree.compiler.api import Output, Session

    with Session() as session:
        session.set_flags(*flags)
        invocation = session.invocation()
        if _parsed(session, invocation, program) and invocation.execute():
            with Output.open_membuffer() as output:
                invocation.output_vm_bytecode(output)
                return {"code": bytes(output.map_memory()), "said": []}
    return {"code": None, "said": _said(program, flags, "ireeCompilerInvocationPipeline", _STANDARD)}


def _said(program: bytes, flags: Sequence[str], step: str, what: Any) -> list[list[Any]]:
    """What is said as errors of a program when a step of the compiler, named as in its C API, is taken."""
    from iree.compiler.api import Session, Source

    with Session() as session:
        session.set_flags(*flags)
        errors, held = _Errors(session), _Held()
        invocation, source = session.invocation(), Source.wrap_buffer(session, program)
        if held.call("ireeCompilerInvocationParseSource", invocation._inv_p, source._source_p):
            held.call(step, invocation._inv_p, what)
        return errors.told()


class _Held:
    """Functions of the compiler's C API by calls that keep Python's lock: those of its bindings let it go."""

    def __init__(self) -> None:
        from ctypes import PyDLL

        from iree.compiler.api import ctypes_dl

        self.library = ctypes_dl._dylib
        self.functions = PyDLL(self.library._name, handle=self.library._handle)

    def call(self, name: str, *arguments: Any) -> bool:
        """Call a function that tells whether it went well."""
        function, typed = getattr(self.functions, name), getattr(self.library, name)
        function.argtypes, function.restype = typed.argtypes, typed.restype
        return bool(function(*arguments))


class _Errors:
    """What is said as errors while a session of the compiler works."""

    def __init__(self, session: Any) -> None:
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
