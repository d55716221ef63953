"""`.mlir` files: the reader of MLIR text, and the writer, in generic form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ..contents import dialects_in
from ..errors import ReadError, UsageError
from ..files import atomic_path
from ..input_shapes import may_stay_open, no_input, static_shapes
from ..ir import NONE, Module, TensorType, input_names, update_function_type
from ..ir.names import tell_apart
from ..ir.verify import check
from ..plugin import Source
from ..plugin_host import host
from . import parse_module, write_module
from .assembly import form_of
from .carried import carrying_states, take_up
from .resources import SHARED

__all__ = ["CONSTANTS", "constants_beside", "detect", "fix_inputs", "read", "read_text", "write"]

CONSTANTS = "constants.npz"
"""The file, beside texts that are printed with `constants="file"`, which all texts of the folder share."""


_pretty = re.compile(rb"(?m)^[ \t]*(?:module|func\.func|func)\b")
_word = re.compile(
    rb"(?m)(?:^[ \t]*|\{[ \t]*|%[\w$.-]+(?::\d+)?[ \t]*=[ \t]*)([A-Za-z_][\w$]*(?:\.[\w$]+)+)(?=[ \t({\[@:])(?![ \t]*=)")
"""The name of an op in pretty form: it begins a line, or a block, or stands behind what it gives."""
_quoted = re.compile(rb"(?m)(?:^|[=,({\s])\"([a-z_]\w*)\.[\w.$]+\"[ \t]*\(")


def detect(head: bytes, path: Path) -> bool:
    """Whether a file begins as MLIR's generic form does, with a quoted op, after comments and aliases; or is empty.
    What Python shows of a module is no MLIR, and `parse_module` says so.

    So does text of ops in their dialects' own form, where plugins say how it is read (`transload.text.assembly`). Text of
    dialects that have a reader of their own is left to that, in generic form where it has ops of dialects that nobody declares.
    """
    start = head.lstrip()
    others = {reader.dialect for reader in host().readers.values() if ".mlir" in reader.suffixes}
    quoted = _dialects_of(head)
    if not start or start.startswith((b'"', b"<module")) or b'"builtin.module"' in head or b'"func.func"' in head:
        all_of_file = _dialects_of(_beginning(path)) if quoted & others else quoted
        return not others or all_of_file <= host().dialects.keys()
    words = [word.decode("ascii", "replace") for word in _word.findall(head)]
    known = _pretty.search(head) is not None and all(map(form_of, words))
    known = known and all(name in host().dialects and name not in others for name in quoted)
    return known and _goes_on(path, head.rfind(b"\n") + 1)


_PIECE, _SEARCHED = 1 << 20, 1 << 26


def _dialects_of(text: bytes) -> set[str]:
    """The dialects of the ops that a text quotes."""
    return {name.decode("ascii", "replace") for name in _quoted.findall(text)}


def _beginning(path: Path) -> bytes:
    """As much of a file as is searched; nothing where it cannot be read, which whoever reads it says."""
    try:
        with path.open("rb") as file:
            return file.read(_SEARCHED)
    except OSError:
        return b""


def _goes_on(path: Path, begun: int) -> bool:
    """Whether from the line on that its beginning cuts off, too, a file has ops alone whose form is known: a program may begin
    with many calls."""
    known: set[bytes] = set()
    with suppress(OSError), path.open("rb") as file:
        file.seek(begun)
        while file.tell() < _SEARCHED and (piece := file.read(_PIECE) + file.readline(_PIECE)):
            found = set(_word.findall(piece)) - known
            if not all(form_of(word.decode("ascii", "replace")) for word in found):
                return False
            known |= found
    return True


def read(source: Source, inputs: Mapping[str, TensorType]) -> Module:
    """Read MLIR text; `inputs` fixes dynamic sizes of arguments, and what follows from them is inferred.

    What a file holds is checked here, so that everything behind can rely on the ops' declarations.
    """
    module = read_text(source)
    take_up(module)
    findings = check(module)
    if findings:
        raise ReadError(f"{source.name}: its ops break the rules of their dialects", findings)
    if not module.functions:
        raise ReadError(f"{source.name}: holds no function")
    fix_inputs(module, inputs, source.function or "main", source.name)
    if _is_program(module):
        tell_apart(module)
    return module


def _is_program(module: Module) -> bool:
    """Whether a module is of a dialect alone whose programs are `.mlir` files, too: a model as another reader would have it.

    In what was made of a model, ops of one name are parts of one op.
    """
    held = set(dialects_in(module))
    return any(held == {reader.dialect} for reader in host().readers.values() if ".mlir" in reader.suffixes)


def read_text(source: Source) -> Module:
    """The module of a text as it stands, with constants that may lie beside it."""
    constants = constants_beside(source.path, source.data)
    module = parse_module(source.data, name=source.name, constants=constants)
    module.beside = (constants,) if constants is not None else ()
    return module


def constants_beside(path: Path | None, text: str | bytes | memoryview) -> Path | None:
    """The file with the constants of the texts in a folder, as `--dump` writes them; None where this text names none of them."""
    beside = path.with_name(CONSTANTS) if path is not None else None
    if beside is None or not beside.is_file():
        return None
    names_some = SHARED in text if isinstance(text, str) else SHARED.encode() in bytes(text)
    return beside if names_some else None


def fix_inputs(module: Module, inputs: Mapping[str, TensorType], function: str = "main", where: str = "the model") -> bool:
    """Give the inputs of a module's function the types that a user wants, and infer what follows. Returns whether any changed.

    Where sizes may not stay open, the others become static, too: a batch 1, which is noted in the module. Raises `UsageError`
    where `inputs` does not fit the function, `ReadError` where sizes of it must be given (`static_shapes`).
    """
    from ..passes.shapes import infer_shapes

    if not inputs and may_stay_open():
        return False
    try:
        main = module.function(function)
    except UsageError:
        if inputs:
            raise
        return False  # which of several is the model, who uses one of them has to say
    arguments = dict(zip(input_names(main), main.regions[0].block.arguments, strict=True))
    have = {name: argument.type for name, argument in arguments.items() if isinstance(argument.type, TensorType)}
    for name, wanted in inputs.items():
        if name not in arguments:
            raise no_input(name, arguments, where)
        if name not in have or wanted.element not in (NONE, have[name].element):
            raise UsageError(f"{where}: input {name!r} is {arguments[name].type}, not {wanted}")
    given = {name: wanted.shape for name, wanted in inputs.items() if wanted.shape is not None}
    asked = given if may_stay_open() else have
    found = static_shapes({name: have[name].shape for name in asked}, given, where)
    module.notes = (*module.notes, *found.notes)
    changed = {name: shape for name, shape in found.shapes.items() if have[name].shape != shape}
    for name, shape in changed.items():
        arguments[name].type = have[name].with_shape(shape)
    if changed:
        update_function_type(main)
        infer_shapes(module)
    return bool(changed)


def write(module: Module, path: Path) -> None:
    """Write MLIR text with its constants in a resource section."""
    with carrying_states(module), atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        write_module(module, file, constants="resource")
