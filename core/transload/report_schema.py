"""The JSON schema of `report.json`, made from the classes of `transload.report`. `make schema` writes it."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from .errors import InternalError
from .report import SCHEMA_FILE, Report

__all__ = ["schema_of", "schema_text"]

_SIMPLE = {str: "string", int: "integer", bool: "boolean", NoneType: "null"}
_NUMBER = {"anyOf": [{"type": "number"}, {"enum": ["Infinity", "-Infinity", "NaN"]}]}
"""A number as `json_text` writes it."""


def schema_text() -> str:
    """The text of the schema's file."""
    return json.dumps(schema_of(Report), indent=2) + "\n"


def schema_of(kind: type) -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of a dataclass as `json_text` writes it; what is `Annotated` is its description."""
    parts: dict[str, Any] = {}
    whole = _dataclass(kind, parts)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": kind.__name__, **whole, "$defs": parts}


def _dataclass(kind: Any, parts: dict[str, Any]) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {
        "description": (kind.__doc__ or "").strip(),
        "type": "object",
        "properties": {field.name: _schema(hints[field.name], parts) for field in fields(kind)},
        "required": [field.name for field in fields(kind)],
        "additionalProperties": False,
    }


def _schema(hint: Any, parts: dict[str, Any]) -> dict[str, Any]:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return {"description": arguments[1], **_schema(arguments[0], parts)}
    if hint is Any:
        return {}
    if hint is float:
        return dict(_NUMBER)
    if hint in _SIMPLE:
        return {"type": _SIMPLE[hint]}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is list:
        return {"type": "array", "items": _schema(arguments[0], parts)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(arguments[1], parts)}
    if origin in (Union, UnionType):
        return {"anyOf": [_schema(each, parts) for each in arguments]}
    if is_dataclass(hint) and isinstance(hint, type):
        if hint.__name__ not in parts:
            parts[hint.__name__] = _dataclass(hint, parts)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    raise InternalError(f"no JSON schema is known for {hint}")


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8")
