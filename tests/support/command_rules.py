"""What every command keeps to, however it ends: docs/errors.md, docs/convert.md."""

from __future__ import annotations

import json
import re
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
_PLACES = re.compile(
    r"cannot (be )?(write|written|make|made)|File name too long|Not a directory|Is a directory|File exists|"
    r"is a (file|folder|directory)|symbolic links"
)
"""What is said of a place that cannot be written to."""
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
    if one.code == 1 and one.line[:2] != ("npz", "compare") and not _may_fail(one):
        return f"{name} ends with 1 in surroundings that are right"
    if one.code and not err.strip() and "err" not in one.around.streams and one.line[:2] != ("npz", "compare"):
        return f"{name} ends with {one.code} and says nothing"
    if "--json" in one.line and "out" not in one.around.streams:
        wrong = _of_json(one, out)
        if wrong:
            return f"{name} --json {wrong}"
    if {"-q", "--quiet"} & set(one.line) and one.code == 0 and err:
        return f"{name} -q says something on standard error"
    return _of_text(one, name, out, err)


def _may_fail(one: Ended) -> bool:
    """Whether a disk that cannot be written may be the reason for an exit code of 1."""
    said = one.err.decode(errors="replace")
    return (
        bool(one.around.limits) or "out" in one.around.streams or "TMPDIR" in one.around.environment or bool(_PLACES.search(said))
    )


def _of_signal(one: Ended, name: str, out: str, err: str) -> str | None:
    assert one.around.signal is not None
    number = one.around.signal[0]
    if one.is_killed:
        return None if one.around.is_new or one.around.signal[1] < 0.4 else f"{name} dies of a signal without a word"
    lines = [line for line in re.split(r"[\r\n]", err) if line.strip()]
    if "err" not in one.around.streams and (not lines or not lines[-1].endswith(_WORDS[number])):
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
