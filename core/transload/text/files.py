"""`.mlir` files: the reader of MLIR text, and the writer, in generic form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ..errors import ReadError, UsageError
from ..files import atomic_path
from ..ir import NONE, Module, TensorType, input_names, update_function_type
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
_word = re.compile(rb"(?m)^[ \t]*(?:%[^=\n\"]*=[ \t]*)?([A-Za-z_][\w$]*(?:\.[\w$]+)+)(?=[ \t({\[@:])(?![ \t]*=)")
_quoted = re.compile(rb"(?m)(?:^|[=,({\s])\"([a-z_]\w*)\.[\w.$]+\"[ \t]*\(")


def detect(head: bytes, path: Path) -> bool:
    """Whether a file begins as MLIR's generic form does, with a quoted op, after comments and aliases; or is empty.

    So does text of ops in their dialects' own form, where plugins say how it is read (`transload.text.assembly`). Text of
    dialects that have a reader of their own is left to that.
    """
    start = head.lstrip()
    if not start or start.startswith(b'"') or b'"builtin.module"' in head or b'"func.func"' in head:
        return True
    words = [word.decode("ascii", "replace") for word in _word.findall(head)]
    others = {reader.dialect for reader in host().readers.values() if ".mlir" in reader.suffixes}
    quoted = {name.decode("ascii", "replace") for name in _quoted.findall(head)}
    known = _pretty.search(head) is not None and all(map(form_of, words))
    return known and all(name in host().dialects and name not in others for name in quoted)


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
    if inputs:
        fix_inputs(module, inputs, source.function or "main")
    return module


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


def fix_inputs(module: Module, inputs: Mapping[str, TensorType], function: str = "main") -> None:
    """Give the inputs of a module's function the types that a user wants, and infer what follows from them."""
    from ..passes.shapes import infer_shapes

    main = module.function(function)
    names = input_names(main)
    unknown = [name for name in inputs if name not in names]
    if unknown:
        raise UsageError(f"the model has no input {', '.join(unknown)}", hint=f"inputs: {', '.join(names) or 'none'}")
    for name, argument in zip(names, main.regions[0].block.arguments, strict=True):
        wanted = inputs.get(name)
        if wanted is None:
            continue
        have = argument.type
        sizes = wanted.shape or ()
        if not isinstance(have, TensorType) or (have.shape is not None and (
            len(have.shape) != len(sizes) or any(a not in (None, b) for a, b in zip(have.shape, sizes, strict=True))
        )):
            raise UsageError(f"input {name!r} is {have}, and cannot be given the shape {wanted.shape}")
        if wanted.element not in (NONE, have.element):
            raise UsageError(f"input {name!r} holds {have.element}, not {wanted.element}")
        argument.type = have.with_shape(wanted.shape)
    update_function_type(main)
    infer_shapes(module)


def write(module: Module, path: Path) -> None:
    """Write MLIR text with its constants in a resource section."""
    with carrying_states(module), atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        write_module(module, file, constants="resource")
