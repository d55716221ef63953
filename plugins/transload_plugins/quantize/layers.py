"""Quantize tables: in what each of some layers is held, where the user says so, in TPU-MLIR's text form.

    # op_name quantize_mode
    conv2_1/linear/bn F32

Source: TPU-MLIR manual, 3.4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path

from transload.errors import ReadError, UsageError
from transload.extraction import names_among
from transload.files import atomic_path, text_of
from transload.ir import Module, Value

from .observe import observed
from .words import as_word, of_word

__all__ = [
    "FLOAT", "FLOAT8", "MODES", "WIDE", "Floats", "Layers", "check_tensors", "floats_of", "layers_of", "load_layers",
    "need_agreement", "save_layers", "words_of"]

FLOAT, WIDE, NARROW = "F32", "INT16", "INT8"
HALVES = ("F16", "BF16")
MODES: Mapping[str, str] = {FLOAT: FLOAT, **dict.fromkeys(HALVES, FLOAT), WIDE: WIDE, NARROW: NARROW}
"""What a mode's word comes to: floats of 16 bits are wide ones among integers."""
FLOAT8 = ("F8E4M3", "F8E5M2")
"""Words for products of floats of 8 bits (`float8`)."""
WORDS = (*MODES, *FLOAT8)
HEADER = "###\n# op_name quantize_mode\n"
Layers = Mapping[str, str]
"""Words of `WORDS` by the name of a layer, which is that of what it computes."""


Floats = Mapping[str, str] | Iterable[str] | str | None
"""Tensors that are to stay float: a mapping to reasons, or names, as text with commas between."""


def layers_of(
    asked: Layers | str | Path | None, module: Module, bits: int = 8,
) -> tuple[dict[str, str], dict[str, str]]:
    """The names of layers that are to stay float, and of those that get 16 bits, with the reason, where others have `bits`.

    Those with floats of 8 bits are float among integers, too, and so are those with floats of 16 bits, of 32. Raises `UsageError`
    for words that there are not, for names that the module does not have, and for fewer bits than the others have.
    """
    table, said = words_of(asked)
    check_tensors(module, table)
    table = _with_parts(table, observed(module)) if table else table
    narrow = next((name for name, mode in table.items() if mode == NARROW), None)
    if narrow is not None and bits > 8:
        raise UsageError(f"layer {narrow!r} cannot be held in {NARROW} where others have {bits} bits",
                         hint=f"a scheme of 8 bits, as int8, and {WIDE} of the others")
    kept, wide = ({name: _reason(mode, said) for name, mode in table.items() if MODES.get(mode, FLOAT) == held}
                  for held in (FLOAT, WIDE))
    return kept, wide


def _reason(mode: str, said: str) -> str:
    """Why a layer is held in what it is; floats of 16 bits are a word for other tools."""
    return f"{mode} says {said}" + (f", which is {FLOAT} among integers" if mode in HALVES else "")


def words_of(asked: Layers | str | Path | None) -> tuple[dict[str, str], str]:
    """The words of layers, by name, and who says them. Raises `UsageError` for a word that there is not."""
    table = load_layers(asked) if isinstance(asked, str | Path) else dict(asked or {})
    for name, mode in table.items():
        if mode not in WORDS:
            raise UsageError(f"layer {name!r} cannot be held in {mode!r}", hint=f"one of {', '.join(WORDS)}")
    return table, str(asked) if isinstance(asked, str | Path) else "who called"


def floats_of(asked: Floats, module: Module) -> dict[str, str]:
    """Names of a module's tensors that are to stay float, each with the reason: those asked for, and, of what one op of the model
    became several, what these make on the way to a tensor that was asked for."""
    named = observed(module) if asked else {}
    if not isinstance(asked, Mapping):
        names = names_among([asked], named) if isinstance(asked, str) else asked or ()
        asked = dict.fromkeys(names, "as the caller asked")
    return _with_parts(asked, named)


def _with_parts(asked: Mapping[str, str], named: Mapping[str, Value]) -> dict[str, str]:
    """What is asked of tensors, and the same of what one op of the model became several makes on the way to them."""
    own = {name: value.op.origin or "" for name, value in named.items() if value.name is None and value.op is not None}
    return {**asked, **{name: asked[whole] for name, whole in own.items() if whole in asked and name not in asked}}


def need_agreement(floats: Collection[str], layers: Layers | str | Path | None) -> None:
    """`UsageError` for a tensor that is to stay float by its name, and to be held in something else by a quantize table."""
    table, said = words_of(layers)
    for name in floats:
        if (mode := table.get(name, FLOAT)) not in (FLOAT, *HALVES):
            raise UsageError(f"{name!r} is to stay float, and {said} says {mode} of it", hint="leave one of them out")


def check_tensors(module: Module, asked: Collection[str]) -> None:
    """`UsageError` for tensors that were named and are none of the module's that are quantized."""
    names = observed(module)
    unknown = [name for name in asked if name not in names]
    if unknown:
        near = [match for name in unknown for match in get_close_matches(name, names, 2)]
        there = ", ".join(near or list(names)[:5])
        raise UsageError(
            f"there is no float tensor {', '.join(map(repr, unknown[:5]))}", hint=f"tensors of that kind: {there}")


def load_layers(path: str | Path) -> dict[str, str]:
    """The words of a table, by layer. Raises `ReadError` for a file that is none."""
    lines = text_of(path, "a quantize table").splitlines()
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        *names, mode = line.rsplit(maxsplit=1)
        name = of_word("".join(names).strip())
        if not names or mode not in WORDS:
            raise ReadError(f"{path}:{number}: {line!r} is not the name of a layer and one of {', '.join(WORDS)}")
        if name in found:
            raise ReadError(f"{path}:{number}: {name!r} has had a line before")
        found[name] = mode
    return found


def save_layers(path: str | Path, layers: Layers) -> Path:
    """Write a table that `load_layers` reads."""
    with atomic_path(path) as made:
        made.write_text(HEADER + "".join(f"{as_word(name)} {mode}\n" for name, mode in layers.items()), encoding="utf-8")
    return Path(path)
