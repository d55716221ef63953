"""What every command keeps to, however it ends: docs/errors.md, docs/convert.md."""

from __future__ import annotations

import json
import re
import resource
from typing import Any

import jsonschema

from transload.report import SCHEMA_FILE

from .commands import Ended

JSON_TOO = (
    "convert",
    "compare",
    "eval",
    "inspect",
    "targets",
    "plugins",
    "passes",
    "ops",
    "coverage",
    "tosa-requirements",
    "search",
)
"""The commands that have `--json`."""
_CODES = (0, 1, 2, 3, 4)
_LISTINGS = ("targets", "plugins", "passes", "ops", "coverage", "-h")
_DEFECTS = (
    "Traceback (most recent call last)",
    "please report it",
    "Exception ignored",
    "defect in Transload",
    "core dumped",
    "Fatal Python error",
)
_MEASURING, _TOLD = ("convert", "search"), ("compare", "quantize")
"""The commands that end with 4, ever, and where `--tolerance` says how near results have to be."""
_OF_DISKS = {resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE}
"""Limits of a process by which it cannot write files."""
_LOADED = 0.4
"""Seconds after which a process that was forked, where everything is loaded, answers signals."""
_WORDS = {2: "interrupted", 15: "terminated", 1: "hung up"}
_SCHEMA = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text()))


def complaint(one: Ended) -> str | None:
    """What a user would complain of in how a command ended; None where nothing."""
    name = one.line[0] if one.line else "transload alone"
    encoding = (one.around.environment.get("PYTHONIOENCODING") or "utf-8").partition(":")[0]
    out, err = (each.decode(encoding, "backslashreplace") for each in (one.out, one.err))
    if one.is_late:
        return f"{name} never ends"
    word = next((word for word in _DEFECTS if word in out + err), None)
    if word is not None:
        return f"{name} tells of a defect: {word}"
    if one.around.signal is not None and one.code == 128 + one.around.signal[0]:
        return _of_signal(one, name, out, err)
    if one.code not in _CODES:
        return f"{name} ends with {one.code}"
    if one.code == 4 and one.line[0] not in _MEASURING and not (one.line[0] in _TOLD and "--tolerance" in one.line):
        return f"{name} ends with 4, and judges nothing"
    if one.code == 1 and one.line[:2] != ("npz", "compare") and not _may_fail(one):
        return f"{name} ends with 1 in surroundings that are right"
    if one.code and not err.strip() and "err" not in one.around.streams and one.line[:2] != ("npz", "compare"):
        return f"{name} ends with {one.code} and says nothing"
    if "--json" in one.line and "out" not in one.around.streams:
        wrong = _of_json(one, out)
        if wrong:
            return f"{name} --json {wrong}"
    if {"-q", "--quiet"} & set(one.line) and one.code == 0 and err and "--trace-rewrites" not in one.line:  # which is asked for
        return f"{name} -q says something on standard error"
    return _of_text(one, name, out, err)


def _may_fail(one: Ended) -> bool:
    """Whether a disk that cannot be written may be the reason for an exit code of 1: of one that could be, it is a defect.

    A reader who went is none, nor is a name that cannot be, which is a mistake in the call.
    """
    return bool(_OF_DISKS & set(one.around.limits)) or one.around.streams.get("out") in ("closed", "full")


def _of_signal(one: Ended, name: str, out: str, err: str) -> str | None:
    assert one.around.signal is not None
    number = one.around.signal[0]
    if one.is_killed:
        is_loading = one.around.is_new or one.around.signal[1] < _LOADED
        return None if is_loading and not (one.is_ready or out or err) else f"{name} dies of a signal without a word"
    said = [err, one.err.decode(errors="backslashreplace")]  # a handler writes no other encoding's bytes
    last = [next((line for line in reversed(re.split(r"[\r\n]", text)) if line.strip()), "") for text in said]
    if "err" not in one.around.streams and not any(line.endswith(_WORDS[number]) for line in last):
        return f"{name} does not say which signal ended it"
    if "--json" in one.line and "out" not in one.around.streams:
        said = document(out)
        if isinstance(said, str) or said.get("exit_code") != 128 + number:
            return f"{name} --json of a signal {said}"
    return None


def document(text: str | bytes, of_report: bool = False) -> Any:
    """What a text of JSON holds, as strict readers have it; what is wrong with it, as a sentence's end, where it is a text."""

    def refuse(word: str) -> Any:
        raise ValueError(f"{word} is no JSON")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise ValueError("has a key twice")
        return dict(pairs)

    try:
        found = json.loads(text, parse_constant=refuse, object_pairs_hook=unique)
        json.dumps(found, ensure_ascii=False).encode()
    except ValueError as error:
        return f"is no document: {type(error).__name__}"
    if of_report or (isinstance(found, dict) and "schema" in found and "digest" in found):
        wrong = next(_SCHEMA.iter_errors(found), None)
        if wrong is not None:
            return f"is not of the schema: {wrong.message[:100]}"
    return found


def _of_json(one: Ended, out: str) -> str | None:
    if not out.strip():
        return f"prints nothing where the exit code is {one.code}"
    found = document(out)
    if isinstance(found, str):
        return found
    if one.code in (1, 2, 3) and isinstance(found, dict) and found.get("exit_code") != one.code:
        return f"says another exit code than {one.code}"
    if one.line[0] == "convert" and isinstance(found, dict) and "status" in found and found.get("exit_code") != one.code:
        return "says another exit code"
    return None


def _of_text(one: Ended, name: str, out: str, err: str) -> str | None:
    if "FORCE_COLOR" not in one.around.environment and re.search("[\x00-\x08\x0b-\x1f\x7f]", (out + err).replace("\r\n", "\n")):
        return f"{name} prints a control character"
    columns = one.around.environment.get("COLUMNS") or ""
    if name in _LISTINGS and columns in ("80", "500") and "--json" not in one.line:
        longest = max(map(len, out.splitlines()), default=0)
        if longest > int(columns):
            return f"{name} is wider than the terminal"
    return None
