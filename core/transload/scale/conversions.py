"""Conversion of many models, side by side.

    made = transload.convert_all(["zoo/"], target, "build")

Each model has a folder of its own, named as the model is, and a line in `conversions.json` as soon as it is done: what is there
already, of the same request, is kept when the same is asked for again.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..artifact_set import MANIFEST
from ..chosen_target import target_options, usable_target
from ..convert_model import convert, need_possible
from ..errors import InternalError, ReadError, TransloadError, UsageError, VerificationError
from ..file_formats import file_of, reader_for
from ..files import atomic_path, current_directory, need_directory, need_place, own_text
from ..foreign import need_own
from ..hosting import hosted_for
from ..input_shapes import sizes_given, sizes_said
from ..interrupts import interrupts_kept
from ..json_text import json_text, of_json_text, plain
from ..kinds import CALLABLE, FLAG, ITERABLE, PATH, SCHEDULER, TEXT, WHOLE, Kind, need_kinds, takes
from ..plugin import Source, Target
from ..plugin_host import host
from ..report import ErrorReport, error_report
from ..samples.preprocess import Preprocess
from ..samples.samples import Data
from ..scratch import ScratchFolder
from ..suggest import nearest
from ..verification.asked import verify_mode
from ..verification.tolerance import Tolerance, limit_texts
from .cache import Cache, report_in
from .crew import Crew
from .located import located_options, located_passes, located_quantizing, located_samples
from .requests import Request, beside_is_same
from .seen import is_of_others, need_seen
from .zoo import Found, found_in

__all__ = ["MANIFEST", "Converted", "convert_all"]

_ASKED = (
    "options", "verify", "tolerance", "data", "preprocess", "fuse_preprocess", "add_postprocess", "quantize",
    "quantizer_options", "engine", "seed", "format", "passes", "host")
"""What can be asked for of many models: arguments of `convert`."""
_OF_EACH = ("preprocess", "fuse_preprocess", "add_postprocess", "format")
"""Those of which nothing can be said before a model is read, or nothing but their names."""
_DEFAULTS = {"options": {}, "fuse_preprocess": False, "quantizer_options": {}, "engine": "auto", "seed": 0, "passes": ""}
"""What is the same as not to be asked for."""


@dataclass(frozen=True)
class Converted:
    """What became of one model."""

    name: str
    """Its path from the folder that was given; the name of the folder in `out`, too."""
    model: Path
    directory: Path
    way: str
    """`converted`, `refused` or `failed` now; `kept` from before, or taken from the cache (`cached`); `skipped`, where a file in
    a folder has a model's name and cannot be read at all."""
    exit_code: int
    seconds: float
    report: dict[str, Any] | None
    """What `report.json` holds; None where the model could not even be begun."""
    error: ErrorReport | None = None


_MODELS = Kind("paths of models", lambda value: PATH.fits(value) or ITERABLE.fits(value))


@takes(models=_MODELS, target=TEXT, out=PATH, workers=WHOLE, scheduler=SCHEDULER, cache=PATH, anew=FLAG, tell=CALLABLE)
@interrupts_kept()
def convert_all(
    models: Iterable[str | Path] | str | Path, target: str | None = None, out: str | Path = "build", *,
    workers: int | None = None, scheduler: Any = None, cache: str | Path | None = None, anew: bool = False,
    tell: Callable[[Converted], Any] | None = None, **asked: Any,
) -> list[Converted]:
    """Convert models, and those in folders, each into a folder of its own in `out`; what became of each, in order.

    `workers` processes do it, or the workers of a Dask cluster (`Crew`). What `out` holds of the same request is kept, unless
    `anew`; `cache` is a folder of conversions by content, which others may use at the same time. `asked` are the arguments
    `options`, `verify`, `tolerance`, `data`, `preprocess`, `fuse_preprocess`, `add_postprocess`, `quantize`,
    `quantizer_options`, `engine`, `seed`, `format`, `passes` and `host` of `convert`, for all of them; samples are files, or
    functions by name. `tell` is called with each model as it is done.

    A model that is refused, or whose process ends, does not stop the others. The largest are begun first, so that no long one is
    left to the end. Raises `UsageError` for arguments that are none,
    where there are no models, and for two of one name, and `TransloadError` where `out` cannot be written.
    """
    directory = Path(out)
    need_directory(directory)
    found = _with_folders(found_in(_paths(models), asked.get("format")), directory)
    for each in found:
        if each.why_not is None:
            need_directory(directory / each.name)
    need_place(directory / MANIFEST)
    need_own(directory / MANIFEST, "schema", ["models"])
    request = _request(target, asked)
    before = {} if anew else _read(directory / MANIFEST)
    store = None
    if cache is not None:
        Cache(cache).need_writable()
        store = str(Cache(cache).folder.absolute())
    order = sorted((each for each in found if each.why_not is None), key=_size, reverse=True)
    tasks = [(str(each.path.absolute()), str((directory / each.name).absolute()), request,
              before.get(each.name, {}).get("request"), store) for each in order]
    made = {each.name: _skipped(each, directory / each.name) for each in found if each.why_not is not None}
    lines = {name: line for name, line in before.items() if name not in {each.name for each in found}}
    lines |= {name: _line(each, None) for name, each in made.items()}
    with Crew(workers, scheduler) as crew:
        need_seen(crew, _used(request, order))
        for number, answer in crew.done("transload.scale.conversions:convert_one", tasks):
            name, path = order[number].name, order[number].path
            made[name] = _converted(name, path, directory / name, answer)
            lines[name] = _line(made[name], answer)
            _write(directory / MANIFEST, lines)
            if tell is not None:
                tell(made[name])
    return [made[each.name] for each in found]


def _with_folders(found: Iterable[Found], directory: Path) -> list[Found]:
    """What was found; a model whose folder would lie where the table of all does, or another's folder, is refused."""
    places: dict[str, str] = {}
    made = []
    for each in found:
        first, *inner = Path(each.name).parts
        whose = MANIFEST if _is_one(directory, first, MANIFEST) else places.setdefault(each.name.casefold(), each.name)
        is_taken = whose == MANIFEST or (whose != each.name and _is_one(directory, whose, each.name))
        if each.why_not is None and is_taken:
            what = "the table of all conversions lies" if whose == MANIFEST else f"what {whose!r} becomes lies"
            each = replace(each, why_not=UsageError(
                f"{each.path}: would be written to {directory / first / Path(*inner)}, where {what}",
                hint="give it another name, or convert it by itself, into another folder"))
        made.append(each)
    return made


def _is_one(directory: Path, name: str, other: str) -> bool:
    """Whether two names are of one file in a folder; those that differ in case alone are where the file system says so."""
    if name == other or name.casefold() != other.casefold():
        return name == other
    there = next((folder for folder in (directory, *directory.absolute().parents) if folder.is_dir()), directory)
    try:
        with ScratchFolder(there) as folder:
            (folder / "a").touch()
            return (folder / "A").exists()
    except OSError:  # said by who writes there
        return False


def _paths(models: Any) -> list[Path]:
    """The paths of models and folders that are given, one or several."""
    given = [models] if PATH.fits(models) else list(models)
    if strange := [each for each in given if not PATH.fits(each)]:
        raise UsageError(f"convert_all() takes paths of models, and was given {type(strange[0]).__name__}")
    return [Path(each) for each in given]


def _size(model: Found) -> int:
    """Bytes of a model's file, or of all in its folder: about how long it takes, as far as one knows before."""
    files = model.path.rglob("*") if model.path.is_dir() else [model.path.resolve()]
    with suppress(OSError):  # it goes away in this moment: said by who converts it
        return sum(file.lstat().st_size for file in files)
    return 0


def _request(target: str | None, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What is asked for, as data that travels; `UsageError` for what cannot be asked for of many models, or of any."""
    unknown = [name for name in asked if name not in _ASKED]
    if unknown:
        raise UsageError(f"{unknown[0]} is not for many models at once", hint=f"arguments: {', '.join(_ASKED)}")
    asked = need_kinds(convert, asked, "convert_all")
    data, preprocess, tolerance = asked.get("data"), asked.get("preprocess"), asked.get("tolerance")
    here = current_directory() or Path()
    made = {name: value for name, value in asked.items() if value is not None and value != _DEFAULTS.get(name)}
    made["verify"] = verify_mode(asked.get("verify", True))
    targets = _checked_targets(target, asked.get("options") or {}, asked.get("host"))
    chosen = targets[0]
    need_possible(chosen, **{name: value for name, value in asked.items() if value is not None and name not in _OF_EACH})
    if "format" in made:
        host().get("readers", made["format"])
    made["target"] = chosen.name
    made["sizes"], made["batch"] = sizes_said()
    if data is not None:
        whole = data if isinstance(data, Data) else Data(data)
        made["data"] = {**asdict(whole), "source": located_samples(whole.source, here)}
    if "options" in made:
        made["options"] = located_options(made["options"], here, targets)
    if "quantizer_options" in made:
        made["quantizer_options"] = located_quantizing(made["quantizer_options"], here, made["quantize"])
    if "passes" in made:
        made["passes"] = located_passes(made["passes"], here)
    if preprocess is not None:
        made["preprocess"] = preprocess.as_toml()
    if tolerance is not None:
        made["tolerance"] = asdict(tolerance) if isinstance(tolerance, Tolerance) else limit_texts(tolerance)
    request = plain(made)
    assert isinstance(request, dict)
    return request


def _checked_targets(name: str | None, options: Mapping[str, Any], host_name: str | None) -> list[Target]:
    """The target, which can be used here, and the host's, where there is one; `UsageError` for options that nobody has."""
    chosen = usable_target(name)
    hosted, options = hosted_for(chosen, host_name, options)
    target_options(chosen, options)
    known = {*chosen.options(), *(key for each in host().conversions.values() for key in each.options)}
    wrong = next((key for key in options if key.rpartition(".")[2] not in known), None)
    if wrong is not None:
        guess = nearest(wrong, known)
        raise UsageError(f"neither {chosen.name!r} nor any way to it has an option {wrong}",
                         hint=f"did you mean {guess!r}?" if guess else "")
    return [chosen] if hosted is None else [chosen, hosted.target]


def _used(request: Mapping[str, Any], models: Iterable[Found]) -> Iterator[tuple[str, str]]:
    """What of the plugins' objects a request is about, each by kind and name."""
    target = host().targets[request["target"]]
    yield from (("targets", target.name), ("targets", str(request.get("host") or getattr(target, "host", ""))))
    yield from (("quantizers", request.get("quantize", "")), ("engines", request.get("engine", "")))
    yield from (("passes", name) for name in re.findall(r"[\w.-]+", request.get("passes", "")))
    if "format" in request:
        yield "readers", request["format"]
    elif any(is_of_others("readers", name) for name in host().readers):
        for each in models:
            file = file_of(each.path)
            yield "readers", reader_for(Source(file, name=str(file))).name


# --- in a worker


def convert_one(
    model: str, out: str, request: Mapping[str, Any], before: str | None, cache: str | None,
) -> dict[str, Any]:
    """Convert one model: what became of it, as data. `before` is the digest of the request that made what `out` holds.

    Files are looked at here, before and after: others may have been converted for hours since all were asked for. What was made
    while one of them changed answers no request.
    """
    start = time.perf_counter()
    path, directory = Path(model), Path(out)
    file = file_of(path)
    now = Request(file, request)
    digest = now.digest
    store = Cache(cache) if cache is not None else None
    way, report, error, code = "kept", _kept(file, directory, digest, before), None, 0
    if report is None and store is not None and digest is not None:
        way, report = "cached", store.find(digest, path, directory)
    if report is None:
        way, report, error, code = _made(path, directory, request)
        digest = digest if not now.has_changed() else None
        if store is not None and digest is not None and way != "failed":
            store.keep(digest, directory)
    return {"way": way, "report": report, "error": plain(error), "exit_code": code, "request": digest,
            "seconds": time.perf_counter() - start}


def _kept(model: Path, directory: Path, request: str | None, before: str | None) -> dict[str, Any] | None:
    """The report of what is there, where it was made by the same request, of the same files."""
    report = report_in(directory) if request is not None and request == before else None
    return report if report is not None and beside_is_same(model, report["beside"]) else None


def _made(
    model: Path, directory: Path, request: Mapping[str, Any],
) -> tuple[str, dict[str, Any] | None, ErrorReport | None, int]:
    """What became of a model, its report, its error and the exit code of that, which a report says too, where there is one."""
    how = {name: value for name, value in request.items() if name not in ("target", "sizes", "batch")}
    if "data" in how:
        how["data"] = Data(**how["data"])
    if "preprocess" in how:
        how["preprocess"] = Preprocess.from_toml(how["preprocess"])
    if isinstance(how.get("tolerance"), Mapping):
        how["tolerance"] = _tolerance(how["tolerance"])
    try:
        with sizes_given(request["sizes"], request["batch"]):
            artifact = convert(model, request["target"], directory, **how)
        return "converted", plain(artifact.report), None, 0
    except VerificationError as error:
        if error.artifact is None:
            raise
        return "converted", plain(error.artifact.report), error_report(error), error.exit_code
    except TransloadError as error:
        refused = error.exit_code == 3 and not isinstance(error, InternalError)
        report = plain(error.report) if refused and error.report is not None else None
        return "refused" if refused else "failed", report, error_report(error), error.exit_code


def _tolerance(said: Mapping[str, Any]) -> Tolerance:
    numbers = {name: float(value) for name, value in said.items() if name not in ("others", "excepts", "integer")}
    return Tolerance(
        integer=said["integer"], others=tuple((name, float(value)) for name, value in said["others"]),
        excepts=frozenset(said["excepts"]), **numbers)


# --- what became of them


def _converted(name: str, model: Path, directory: Path, answer: Any) -> Converted:
    if isinstance(answer, TransloadError):
        return Converted(name, model, directory, "failed", answer.exit_code, 0.0, None, error_report(answer))
    report, error = answer["report"], answer["error"]
    code = report["exit_code"] if report is not None else answer["exit_code"]
    why = error if error is not None else report.get("error") if report is not None else None
    return Converted(name, model, directory, answer["way"], code, answer["seconds"], report, _error(why))


def _skipped(found: Found, directory: Path) -> Converted:
    why = found.why_not
    assert why is not None
    way, code = ("skipped", 0) if isinstance(why, ReadError) else ("failed", why.exit_code)  # a model that nothing became of
    return Converted(found.name, found.path, directory, way, code, 0.0, None, error_report(why))


def _error(said: Mapping[str, Any] | None) -> ErrorReport | None:
    return None if said is None else ErrorReport(**said)


def _line(made: Converted, answer: Any) -> dict[str, Any]:
    request = answer["request"] if isinstance(answer, Mapping) else None
    status = made.report["status"] if made.report is not None else "skipped" if made.way == "skipped" else "failed"
    return {"model": str(made.model), "status": status, "exit_code": made.exit_code, "seconds": round(made.seconds, 3),
            "request": request, "error": plain(made.error)}


def _read(manifest: Path) -> dict[str, dict[str, Any]]:
    """What an earlier call noted; nothing where it noted nothing that reads."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        lines = of_json_text(own_text(manifest))["models"]
        return {str(name): dict(line) for name, line in lines.items()}
    return {}


def _write(manifest: Path, lines: Mapping[str, Any]) -> None:
    with atomic_path(manifest) as path:
        path.write_text(json_text({"schema": 1, "models": dict(sorted(lines.items()))}) + "\n", encoding="utf-8")


def worst(made: Sequence[Converted]) -> int:
    """The exit code of all together: the greatest."""
    return max((each.exit_code for each in made), default=0)
