"""Functions in MLIR's pretty form as generic text, so that tests of dialect `tf` are short to write."""

from __future__ import annotations

import re

_FUNCTION = re.compile(r"func\.func (private )?@(\w+)\((.*?)\) -> (.*?) \{\n(.*?)\n\}", re.DOTALL)


def generic(text: str) -> str:
    """The functions of a text in generic form; all ops but `return` are in it already."""
    def function(found: re.Match[str]) -> str:
        private, name, arguments, results, body = found.groups()
        types = ", ".join(each.split(": ")[1] for each in arguments.split(", ")) if arguments else ""
        visibility = ', sym_visibility = "private"' if private else ""
        body = re.sub(r"\breturn (.*?) : (.*)", r'"func.return"(\1) : (\2) -> ()', body)
        return (f'"func.func"() <{{function_type = ({types}) -> {results}, sym_name = "{name}"{visibility}}}> ({{\n'
                f"^bb0({arguments}):\n{body}\n}}) : () -> ()")

    return '"builtin.module"() ({' + _FUNCTION.sub(function, text) + "}) : () -> ()"
