"""The hooks a plugin can implement, each called once with a function `register`.

A plugin is a module (or object) named by an entry point of group `transload`:

    [project.entry-points.transload]
    my-chip = "my_package.plugin"

and in it, for each hook it wants:

    from transload import hookimpl

    @hookimpl
    def register_targets(register):
        register(MyChip())

A module may say which version of this interface it was written for: `transload_api = "1.0"`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pluggy

__all__ = ["API_VERSION", "hookimpl", "hookspec"]

API_VERSION = "1.0"
"""Of the hooks and of what they register. A plugin may say in `transload_api` which it was written for: it is loaded where the
first number is the same, and the second no greater."""

hookspec = pluggy.HookspecMarker("transload")
hookimpl = pluggy.HookimplMarker("transload")

Register = Callable[[Any], None]


@hookspec
def register_dialects(register: Register) -> None:
    """Register `DialectSpec` objects: op declarations and the kernels that execute them."""


@hookspec
def register_facts(register: Register) -> None:
    """Register `Facts` objects, tables of what is known of ops, one's own or others', and `FactKind` objects, new kinds of it."""


@hookspec
def register_readers(register: Register) -> None:
    """Register `Reader` objects: file formats that can be loaded."""


@hookspec
def register_formats(register: Register) -> None:
    """Register `ForeignFormat` objects: formats that are only known, and the way from them to one that can be loaded."""


@hookspec
def register_writers(register: Register) -> None:
    """Register `Writer` objects: file formats that a module can be saved to."""


@hookspec
def register_conversions(register: Register) -> None:
    """Register `Conversion` objects: from one dialect to another, or additions to one that exists."""


@hookspec
def register_passes(register: Register) -> None:
    """Register `Pass` objects: named passes for pipelines."""


@hookspec
def register_engines(register: Register) -> None:
    """Register `Engine` objects: ways to execute a module."""


@hookspec
def register_runtimes(register: Register) -> None:
    """Register `Runtime` objects: frameworks' own runtimes, against which conversions are verified."""


@hookspec
def register_quantizers(register: Register) -> None:
    """Register `Quantizer` objects: ways to turn a float module into a quantized one."""


@hookspec
def register_calibrators(register: Register) -> None:
    """Register `Calibrator` objects: methods to choose the ranges of a float module's tensors."""


@hookspec
def register_targets(register: Register) -> None:
    """Register `Target` objects: chips and formats a model can be converted for."""


@hookspec
def register_metrics(register: Register) -> None:
    """Register `Metric` objects: measures of how near two tensors are."""


@hookspec
def register_scores(register: Register) -> None:
    """Register `Score` objects: what `transload eval` can say of a model on samples."""


@hookspec
def register_commands(register: Register) -> None:
    """Register `click.Command` objects or `typer.Typer` apps (as `(name, command)`) that become subcommands of `transload`."""
