"""Makes `schema_table.py` of the code that the FlatBuffers compiler made of LiteRT's schema: `make schema`.

That code, `ai_edge_litert.schema_py_generated`, is 20,000 lines long and takes longer to import than most models to
convert; of it, the names, numbers and types of fields and the members of enumerations are needed.
"""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["generate"]

TABLE_FILE = Path(__file__).with_name("schema_table.py")

_HEADER = '''"""LiteRT's schema as data, made by `make schema` (`schema_generator.py`): not to be edited.

An enumeration lists its members with their numbers. A table lists its fields in the order of their numbers, with their
types, and with their defaults where these are not zero; `-` stands for a number whose field is no more.

Source: `schema.fbs` of ai-edge-litert {version}.
"""

'''
_CLASS = re.compile(r"^class (\w+)\(object\):\n((?:(?:[ #].*)?\n)*)", re.MULTILINE)
_MEMBER = re.compile(r"^    (\w+) = (-?\d+)$", re.MULTILINE)
_FIELD = re.compile(
    r"^    def (\w+)\(self(?:, j)?\):\n        o = [\w.]+\(self\._tab\.Offset\((\d+)\)\)\n        if o != 0:\n"
    r"((?:            .*\n)*)        return (.*)$", re.MULTILINE)
_NUMBER = re.compile(r"number_types\.(\w+)Flags, [ao]")
_CALLS = {"string": ".String(", "union": ".Union(", "table": ".Indirect("}
_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


def generate() -> str:
    """The text of `schema_table.py` for the schema that is installed."""
    from importlib.metadata import version

    from ai_edge_litert import schema_py_generated

    source = Path(schema_py_generated.__file__).read_text(encoding="utf-8")
    enumerations, tables = {}, {}
    for name, body in _CLASS.findall(source):
        if "_tab" in body:
            tables[name] = _fields(body)
        elif members := _MEMBER.findall(body):
            enumerations[name] = " ".join(f"{member}={number}" for member, number in members)
    text = _HEADER.format(version=version("ai-edge-litert"))
    text += "# ruff: noqa: E501\n\n" + _dictionary("ENUMERATIONS", enumerations) + "\n" + _dictionary("TABLES", tables)
    return text


def _fields(body: str) -> str:
    """The fields of a table: `name:type` or `name:type=default`."""
    found: dict[int, str] = {}
    for method, slot, code, default in _FIELD.findall(body):
        number = (int(slot) - 4) // 2
        if number not in found:  # other methods of the same field follow the one that has its name
            field = f"{_CAPITAL.sub('_', method).lower()}:{_type(code)}"
            found[number] = field if default in ("0", "0.0", "False", "None", '""') else f"{field}={default}"
    return " ".join(found.get(number, "-") for number in range(max(found, default=-1) + 1))


def _type(code: str) -> str:
    """The type of a field, from the code that reads it: a number's, `string`, `table` or `union`; in brackets, of a vector."""
    number = _NUMBER.search(code)
    if number is not None:
        kind = number[1].lower()
    else:
        kind = next(kind for kind in ("string", "union", "table") if _CALLS[kind] in code)
    return f"[{kind}]" if ".Vector(" in code else kind


def _dictionary(name: str, entries: dict[str, str]) -> str:
    return f"{name}: dict[str, str] = {{\n" + "".join(f'    "{key}": "{entries[key]}",\n' for key in sorted(entries)) + "}\n"


if __name__ == "__main__":
    TABLE_FILE.write_text(generate(), encoding="utf-8")
