"""The commands `npz` and `gen-input`: files of arrays, looked at, compared, and made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..input_shapes import static_inputs
from ..sizes_text import sizes_text
from .process import note_written
from .show import console, lines, table

if TYPE_CHECKING:
    import numpy as np

__all__ = ["compare_command", "dump_command", "gen_input_command", "to_dat_command"]

_PART = 1 << 20
"""Numbers that are looked at together."""


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an `.npz` file, or the one of an `.npy` file."""
    from ..arrays import open_array, read_arrays
    from ..files import need_file

    need_file(path)
    if path.suffix.lower() == ".npy":
        return {path.stem: _as_numbers(open_array(path))}
    return {name: _as_numbers(data.numpy()) for name, data in read_arrays(path).items()}


def _as_numbers(array: np.ndarray) -> np.ndarray:
    """An array as it is, but for two bytes a number, as files have bfloat16, which numpy does not know."""
    import ml_dtypes

    return array.view(ml_dtypes.bfloat16) if array.dtype.str == "|V2" and array.dtype.names is None else array


def _holds_numbers(array: np.ndarray) -> bool:
    """Whether it is known which numbers its bytes are: of other types that numpy does not know it is not."""
    return array.dtype.kind in "biufc" or array.dtype.name == "bfloat16"


def _one(path: Path, name: str | None) -> np.ndarray:
    """The array that is meant: the one of that name, or the only one."""
    arrays = _arrays(path)
    if name is None and len(arrays) == 1:
        return next(iter(arrays.values()))
    if name is None or name not in arrays:
        raise UsageError(f"{path}: " + ("it has to be said which array is meant" if name is None else f"holds no array {name!r}"),
                         hint=f"it holds {', '.join(arrays) or 'nothing'}")
    return arrays[name]


def dump_command(file: Path, name: str | None) -> int:
    """Show what arrays a file holds, or the numbers of one."""
    if name is not None:
        import numpy as np

        console().print(lines(np.array2string(_one(file, name), threshold=1000)))
        return 0
    rows = []
    for each, array in _arrays(file).items():
        told = _holds_numbers(array) and array.dtype.kind != "c" and array.size
        ends = [f"{number:.6g}" for number in _ends(array)] if told else ["", "", ""]
        rows.append((each, sizes_text(array.shape), str(array.dtype), *ends))
    console().print(table(("array", "shape", "type", "least", "greatest", "mean"), rows, right=("least", "greatest", "mean")))
    return 0


def _ends(array: np.ndarray) -> tuple[float, float, float]:
    """The least, the greatest and the mean, a part after the other: in float64 all at once takes many times the memory."""
    import numpy as np

    flat = array.reshape(-1)
    least, greatest, total = np.inf, -np.inf, 0.0
    for start in range(0, flat.size, _PART):
        part = flat[start : start + _PART].astype(np.float64)
        least, greatest, total = np.minimum(least, part.min()), np.maximum(greatest, part.max()), total + part.sum()
    return float(least), float(greatest), float(total) / flat.size


def compare_command(first: Path, second: Path, tolerance: Sequence[str], excepts: Sequence[str]) -> int:
    """Show how near the arrays of the same names in two files are; 1 where one is not near enough, or misses."""
    import numpy as np

    from ..plugin import resolve
    from ..plugin_host import host
    from ..samples.sources import same_but_ones
    from ..verification.tolerance import compared_among

    wanted = _limits(tolerance)
    metrics = {name: resolve(host().metrics[name].measure) for name in ("cos", "euclid", "max_abs")}
    a, b = _arrays(first), _arrays(second)
    left_out = compared_among(excepts, {**a, **b})
    if left_out and left_out >= a.keys():
        raise UsageError(f"all arrays of {first} are excepted: nothing is left to compare")
    rows: list[tuple[str, ...]] = []
    broken = 0
    for name, array in a.items():
        if name in left_out:
            continue
        other = b.get(name)
        if other is None or not same_but_ones(other.shape, array.shape):
            shapes = [sizes_text(each.shape) for each in (array, other) if each is not None]
            rows.append((name, "", "", "", "is missing" if other is None else f"is of shape {shapes[1]}, not {shapes[0]}"))
            broken += 1
            continue
        if not (_holds_numbers(array) and _holds_numbers(other)):
            same = array.dtype == other.dtype and np.ascontiguousarray(array).tobytes() == np.ascontiguousarray(other).tobytes()
            rows.append((name, "", "", "", f"is no array of numbers, and {'the same' if same else 'differs'}"))
            broken += not same
            continue
        found = {key: float(measure(array, other.reshape(array.shape))) for key, measure in metrics.items()}
        bad = [key for key, least in wanted.items() if not found[key] >= least]
        broken += bool(bad)
        said = f"{' and '.join(bad)} too low" if bad else "one has NaN where the other has a number" if np.isnan(
            found["max_abs"]) else ""
        rows.append((name, *(f"{found[key]:.6g}" for key in metrics), said))
    rows += [(name, "", "", "", f"is in {second} alone") for name in b if name not in a and name not in left_out]
    console().print(table(("array", *metrics, ""), rows, right=tuple(metrics)))
    return 1 if broken else 0


def _limits(texts: Sequence[str]) -> dict[str, float]:
    """What `--tolerance` says: `cos=0.99`, `euclid=0.9`, or the two as `0.99,0.9`."""
    from ..verification.tolerance import need_possible
    from .arguments import once

    limits: dict[str, float] = {}
    for text in texts:
        parts = text.split(",") if "=" not in text else [text]
        if len(parts) > 2:
            raise UsageError(f"--tolerance {text!r} has {len(parts)} numbers", hint="cos=0.99, or 0.99,0.9 for cos and euclid")
        for name, part in zip(("cos", "euclid"), parts, strict=False):
            key, _, number = part.rpartition("=")
            try:
                once(limits, key or name, float(number), f"--tolerance {text!r}: a limit of {{!r}} is given")
            except ValueError:
                raise UsageError(f"--tolerance {text!r} is no number", hint="cos=0.99, or 0.99,0.9 for cos and euclid") from None
    unknown = set(limits) - {"cos", "euclid"}
    if unknown:
        raise UsageError(f"--tolerance knows cos and euclid, not {', '.join(sorted(unknown))}")
    for key, limit in limits.items():
        need_possible(key, limit)
    return limits


def to_dat_command(file: Path, out: Path, name: str | None) -> int:
    """Write the bytes of an array, without anything else."""
    import numpy as np

    from ..files import atomic_path

    array = np.ascontiguousarray(_one(file, name))
    with atomic_path(out) as temporary:
        temporary.write_bytes(array.tobytes())
    note_written(out)
    console().print(f"written to {out}: {array.nbytes:,} bytes of {array.dtype}, {list(array.shape)}", markup=False)
    return 0


@static_inputs()
def gen_input_command(
    model: Path, out: Path, shape: Sequence[str], input: Sequence[str], range: Sequence[str], seed: int, format: str | None,
    function: str | None, weights: Path | None,
) -> int:
    """Write an array for each input of a model: given ones and images as the inputs want them, random ones for the others."""
    import math

    import numpy as np

    from ..api import legalize, load
    from ..arrays import need_room, write_arrays
    from ..errors import ConversionError
    from ..given import open_given, settled, shapes_of
    from ..ir import Module
    from ..sizes_of_data import sizes_from
    from ..verification.asked import need_random
    from ..verification.inputs import checked_inputs, random_inputs
    from .arguments import parse_given

    shapes, given = parse_given(shape, input)
    with sizes_from(given):
        module = load(model, format=format, inputs={**shapes_of(given or {}), **shapes}, function=function, weights=weights)
    need_room(out, module.inputs)
    hub: Module | None = None
    try:
        hub = legalize(module)
    except ConversionError:  # it tells which inputs index a table; without it, they are small numbers
        hub = None
    arrays = random_inputs(module, hub, seed)
    random = np.random.default_rng(seed)
    ranges = _ranges(range, arrays)
    for name, (low, high) in ranges.items():
        array = arrays[name]
        numbers = random.uniform(low, high, array.shape) if _is_float(array.dtype) else random.integers(
            math.ceil(low), math.floor(high), array.shape, endpoint=True)
        arrays[name] = numbers.astype(array.dtype)
    if given:
        taken = settled(module, open_given(given))
        need_random(seed, not taken.keys() >= arrays.keys())
        both = next((name for name in taken if name in ranges), None)
        if both is not None:
            raise UsageError(f"input {both!r} is given a file and a --range", hint="leave out one of them")
        arrays = checked_inputs(module, {**arrays, **taken})
    write_arrays(out, {name: np.asarray(array) for name, array in arrays.items()})
    note_written(out)
    border = "; ".join(f"{name} {sizes_text(array.shape)} {array.dtype}" for name, array in arrays.items())
    console().print(f"written to {out}: {border}", markup=False)
    return 0


def _ranges(texts: Sequence[str], arrays: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """What `--range [NAME=]LOW:HIGH` says, by the name of the input; without a name for the only one."""
    from .arguments import once

    ranges: dict[str, tuple[float, float]] = {}
    for text in texts:
        name, _, span = text.rpartition("=")
        low, _, high = span.partition(":")
        name = name or (next(iter(arrays)) if len(arrays) == 1 else "")
        if name not in arrays:
            wrong = "is for no input" if "=" in text or not arrays else "does not say for which input"
            raise UsageError(f"--range {text!r} {wrong}", hint=f"inputs: {', '.join(arrays)}; as NAME=0:255")
        try:
            once(ranges, name, (float(low), float(high)), f"--range {text!r}: there is a range of input {{!r}}")
        except ValueError:
            raise UsageError(f"--range {text!r} is no range", hint="as NAME=0:255") from None
        _check_range(text, *ranges[name], arrays[name].dtype)
    return ranges


def _check_range(text: str, low: float, high: float, dtype: np.dtype) -> None:
    """Raise `UsageError` where a range ends before it begins, or numbers in it are none of an input's."""
    import math

    import ml_dtypes

    if low > high:
        raise UsageError(f"--range {text!r} ends before it begins")
    if dtype.kind == "b":
        least, most = 0.0, 1.0
    else:
        limits = ml_dtypes.finfo(dtype) if _is_float(dtype) else ml_dtypes.iinfo(dtype)
        least, most = float(limits.min), float(limits.max)
    if not (least <= low and high <= most and math.isfinite(high - low)):
        raise UsageError(f"--range {text!r} leaves the numbers of {dtype}", hint=f"these are {least:g} to {most:g}")
    if not _is_float(dtype) and math.ceil(low) > math.floor(high):
        raise UsageError(f"--range {text!r} has no whole number in it, as {dtype} takes")


def _is_float(dtype: np.dtype) -> bool:
    """Whether numbers of a type are floats, those that numpy does not know included."""
    import ml_dtypes

    try:
        ml_dtypes.finfo(dtype)
    except (TypeError, ValueError):
        return False
    return True
