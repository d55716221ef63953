"""`.mlir` files: the reader and the writer of MLIR text in generic form."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..errors import ReadError, UsageError
from ..files import atomic_path
from ..ir import NONE, Module, TensorType, input_names, update_function_type
from ..ir.verify import check, check_inference
from ..plugin import Source
from . import parse_module, write_module
from .carried import take_up
from .resources import SHARED

__all__ = ["CONSTANTS", "constants_beside", "detect", "fix_inputs", "read", "read_text", "write"]

CONSTANTS = "constants.npz"
"""The file, beside texts that are printed with `constants="file"`, which all texts of the folder share."""


def detect(head: bytes, path: Path) -> bool:
    """Whether a file begins as MLIR's generic form does, with a quoted op, after comments and aliases; or is empty.

    Text in the pretty form of a dialect is left to that dialect's reader.
    """
    start = head.lstrip()
    return not start or start.startswith(b'"') or b'"builtin.module"' in head or b'"func.func"' in head


def read(source: Source, inputs: Mapping[str, TensorType]) -> Module:
    """Read MLIR text; `inputs` fixes dynamic sizes of arguments, and what follows from them is inferred.

    What a file holds is checked here, so that everything behind can rely on the ops' declarations.
    """
    module = read_text(source)
    take_up(module)
    findings = check(module) or check_inference(module)
    if findings:
        raise ReadError(f"{source.name}: its ops break the rules of their dialects", findings)
    if not module.functions:
        raise ReadError(f"{source.name}: holds no function")
    if inputs:
        fix_inputs(module, inputs)
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


def fix_inputs(module: Module, inputs: Mapping[str, TensorType]) -> None:
    """Give the inputs of a module's function the types that a user wants, and infer what follows from them."""
    from ..passes.shapes import infer_shapes

    main = module.main
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
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        write_module(module, file, constants="resource")
