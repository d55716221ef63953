"""Which function of a module is the model."""

from __future__ import annotations

from .errors import UsageError
from .ir import Module
from .passes.inline import named_functions, reached_functions, rename_function

__all__ = ["choose_entry"]


def choose_entry(module: Module, name: str) -> None:
    """Make the function called `name` the main one, in place: it is called `main` from now on, and what it does not use goes.

    What it uses is private from now on: a part of the model, which nobody else runs, and gone once its calls are replaced.
    Raises `UsageError` where there is no such function, or where others that stay call it.
    """
    chosen = module.function(name)
    functions = module.functions
    used = reached_functions(module, chosen)
    if any(name in named_functions(functions[other]) for other in used):
        raise UsageError(f"function {name!r} calls itself, and cannot be the model")
    for other, function in functions.items():
        if other not in used:
            function.erase()
        elif function is not chosen:
            function.attributes["sym_visibility"] = "private"
    if name != "main" and "main" in used:
        rename_function(module, "main")
    chosen.attributes["sym_name"] = "main"
    chosen.attributes.pop("sym_visibility", None)
    module.entry = name
