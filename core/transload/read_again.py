"""Commands that are advised, of a model as it was read: the file alone does not say which of its functions, and what sizes.

    module.reading = how_read({"x": TensorType((1, 3), NONE)}, function="serve")
    command("convert", module.source, reading=module.reading, more=("--target", target.name))
    # transload convert model.onnx --shape x:1x3 --function serve --target NAME
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from .context import current
from .input_shapes import shape_said, sizes_said
from .ir import NONE, Module, TensorType
from .ir.constants import dtype_of
from .shell import quoted
from .typed import typed

__all__ = ["command", "how_read", "quantizing"]

READING = ("--shape", "--dim", "--batch", "--format", "--function", "--weights", "--outputs")
"""What `how_read` says."""
_NONE: Mapping[str, str] = {}


def how_read(
    inputs: Mapping[str, TensorType], *, format: str | None = None, function: str | None = None,
    weights: str | Path | None = None, outputs: Sequence[str] = (),
) -> tuple[str, ...]:
    """The words of a command line, behind the file's name, that say what `load` was asked for, and which sizes were given."""
    sizes, batch = sizes_said()
    said = [("--shape", _typed(name, type_)) for name, type_ in inputs.items()]
    said += [("--dim", f"{name}={size}") for name, size in sizes.items()]
    said += [("--batch", str(batch))] * (batch is not None)
    said += [(flag, str(value)) for flag, value in (("--format", format), ("--function", function), ("--weights", weights))
             if value is not None]
    said += [("--outputs", name) for name in outputs]
    return tuple(word for pair in said for word in pair)


def _typed(name: str, type_: TensorType) -> str:
    shape = shape_said(name, [size if size is not None else "?" for size in type_.shape or ()])
    return shape if type_.element == NONE else f"{shape}:{dtype_of(type_.element).name}"


def command(
    name: str, *files: object, reading: Iterable[str] = (), more: Sequence[object] = (), needs: Mapping[str, str] = _NONE,
    without: Iterable[str] = (), asked: bool = True,
) -> str:
    """A command of ours as it can be typed, on files of which the first was read as `reading` says (`Module.reading`).

    With what the running command was `asked`, as that is of the same model and samples: options that both commands have, but for
    those `without`, and those that `more` says. `needs` are flags without which the command cannot be, with words for what
    the user knows, where nothing was said of them: `{"--data": "SAMPLES"}`.
    """
    own = [word for word in more if isinstance(word, str) and word.startswith("--")]
    said = typed(name, {*READING, *without}, own, needs) if asked else []
    lacking = [word for flag, text in needs.items() if flag not in said for word in (flag, text)]
    return " ".join(["transload", name, *map(quoted, (*files, *reading, *said, *more, *lacking))])


def quantizing(module: Module, target: str, preferred: Iterable[str] = ()) -> str:
    """How a float model that was read from a file becomes integers for a target: ": " and the command.

    With the first of the `preferred` quantizers that there is, else with any. Where no quantizer is registered, how its
    framework quantizes; nothing where that is not known, either.
    """
    host = current().host
    quantizer = next((name for name in (*preferred, *host.quantizers) if name in host.quantizers), None)
    if quantizer is not None and module.source is not None:
        more, needs = ("--target", target, "--quantize", quantizer), {"--data": "SAMPLES"}
        return f": {command('convert', module.source, reading=module.reading, more=more, needs=needs, without=['--input'])}"
    reader = host.readers.get(module.source_format or "")
    return f": {reader.quantizing}" if reader is not None and reader.quantizing else ""
