"""The command `convert`, for one model or for many."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Finding, TransloadError, UsageError, VerificationError
from .answer import print_json
from .process import note_written
from .session import session

if TYPE_CHECKING:
    from ..scale.conversions import Converted

__all__ = ["convert_each"]

_OF_ONE = {
    "shape": "--shape", "input": "--input", "input_data": "--input-data", "dump": "--dump", "start": "--from",
    "show_pipeline": "--show-pipeline", "trace_rewrites": "--trace-rewrites", "function": "--function", "weights": "--weights",
    "outputs": "--outputs", "excepts": "--excepts", "page": "--report", "table": "--table", "layers": "--layers",
    "floats": "--floats", "quant_input": "--quant-input", "quant_output": "--quant-output"}
"""Options that speak of one model's own names, or files."""
_OF_SIZES = ("--shape", "--input", "--input-data")
"""Those of them that may be there for the sizes of inputs."""
_BY_ITSELF = " (where the model is converted by itself, without --cache, --scheduler and --anew)"
"""Behind advice that speaks of one model's own names."""


def convert_each(
    models: Sequence[Path], scheduler: str | None, cache: Path | None, anew: bool, **given: Any,
) -> int:
    """Convert one model, as ever; or several, those of a folder, or any by way of a cache or a cluster."""
    if len(models) == 1 and scheduler is None and cache is None and not anew and not _is_zoo(models[0]):
        from .commands import convert_command

        return convert_command(models[0], **given)
    return _convert_all(models, scheduler, cache, anew, **given)


def _is_zoo(path: Path) -> bool:
    """Whether a path is a folder with models in it, and is none itself."""
    from ..files import is_folder

    if not is_folder(path):
        return False
    from ..scale.zoo import holds_models

    return holds_models(path)


def _convert_all(
    models: Sequence[Path], scheduler: str | None, cache: Path | None, anew: bool, target: str | None, out: Path,
    option: Sequence[str], tolerance: Sequence[str], json: bool, **given: Any,
) -> int:
    from ..scale import convert_all
    from ..scale.conversions import worst
    from .arguments import parse_options
    from .options import take_data, take_preprocess, take_quantizer
    from .show import show_error

    said = next((flag for name, flag in _OF_ONE.items() if given.get(name)), None)
    if said is not None:
        are_many = len(models) > 1 or _is_zoo(models[0])
        why = "here are many" if are_many else "--cache, --scheduler and --anew convert many"
        alone = "convert the one by itself" if are_many else "leave out one of them"
        hint = f"--dim and --batch give sizes to all of them; else {alone}" if said in _OF_SIZES else alone
        raise UsageError(f"{said} is for one model, and {why}", hint=hint)
    workers = given["workers"]
    preprocess, samples = take_preprocess(given), take_data(given, many=True)
    asked = {name: given[name] for name in (
        "verify", "fuse_preprocess", "add_postprocess", "quantize", "engine", "seed", "format", "passes",
        "host")}
    with _telling(json) as tell:
        made = convert_all(
            models, target, out, workers=workers, scheduler=scheduler, cache=cache, anew=anew, tell=tell,
            options=parse_options(option), tolerance=list(tolerance) or None, data=samples, preprocess=preprocess,
            quantizer_options=take_quantizer(given), **asked)
    if any(each.error is None for each in made):
        note_written(out)
    if json:
        print_json({"exit_code": worst(made), "models": made})
    elif not session().quiet:
        _show(made)
    for each in made:
        if each.exit_code != 0:
            show_error(_told(each), session().verbose)
    return worst(made)


def _told(made: Converted) -> TransloadError:
    """What is wrong with a model or with what was made of it, to be told as of a model alone, with the model's name."""
    if made.error is None:
        checked = (made.report or {}).get("verification", {})
        findings = [Finding(what, why) for what, _, why in (reason.partition(": ") for reason in checked.get("broken", ()))]
        why = f": {checked['why']}" if checked.get("why") else ""
        return VerificationError(f"{made.name}: converted, and verification {checked.get('status')}{why}", findings)
    said = made.error.message
    findings = [Finding(each.what, each.why, tuple(each.names), each.hint, each.count) for each in _findings(made.error)]
    hint = made.error.hint + _BY_ITSELF * ("--shape" in made.error.hint)
    return TransloadError(said if made.name in said else f"{made.name}: {said}", findings, hint)


@contextmanager
def _telling(silent: bool) -> Iterator[Callable[[Any], None] | None]:
    """Says on a terminal how many are done, and which was the last."""
    if silent or session().quiet or not sys.stderr.isatty():
        yield None
        return
    from .show import error_console, one_line, printable

    with error_console().status("…") as status:
        done = 0

        def tell(made: Any) -> None:
            nonlocal done
            done += 1
            status.update(f"{done} done, the last {printable(one_line(made.name))} …")

        yield tell


def _show(made: Sequence[Any]) -> None:
    from .show import bytes_text, console, seconds_text, table

    rows = []
    for each in made:
        report = each.report or {}
        size = sum(report.get("files", {}).values())
        rows.append((each.name, _outcome(each), bytes_text(size) if size else "", seconds_text(each.seconds), _said(each)))
    out = console()
    out.print(table(("model", "", "size", "time", "verification"), rows, right=("size", "time")))
    counts = Counter(_outcome(each) for each in made)
    out.print(", ".join(f"{count} {word}" for word, count in counts.most_common()), markup=False)


def _outcome(made: Any) -> str:
    if made.way == "skipped":
        return "skipped"
    if made.report is None:
        return "failed"
    if made.report["status"] == "refused":
        return "refused"
    return str(made.way)


def _said(made: Any) -> str:
    """How near the result is, in a word, or why there is none."""
    if made.error is not None:
        findings = [f"{each.what}: {each.why}" for each in _findings(made.error)[:1]]
        more = len(made.error.findings) - 1
        return "; ".join([made.error.message, *findings]) + (f" (and {more} more)" if more > 0 else "")
    checked = (made.report or {}).get("verification", {})
    metrics = [output["metrics"] for output in checked.get("outputs", [])]
    near = (float(each["cos"]) for each in metrics if "cos" in each)
    worst = min(near, key=lambda cos: -2.0 if math.isnan(cos) else cos, default=None)
    why = f"cos {worst:.6f}" if worst is not None else checked.get("why")
    return ", ".join(filter(None, (checked.get("status"), why)))


def _findings(error: Any) -> list[Any]:
    from ..report import FindingReport

    return [each if isinstance(each, FindingReport) else FindingReport(**each) for each in error.findings]
