"""The reference of the library: pages of mkdocstrings directives, a page for each subject.

A page has every public name of the modules it is about, in the order in which they list them; what is said of a name is its
docstring.
"""

from __future__ import annotations

import importlib
import inspect
import re
import reprlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tables import table

import transload

__all__ = ["write_library"]


@dataclass(frozen=True)
class Page:
    """A page: its file, its title, what it is about, and the modules whose public names it has."""

    name: str
    title: str
    about: str
    modules: tuple[str, ...]


PAGES = (
    Page("steps", "Convert, run, compare", "What most users need. All of it can be had from `transload` itself.", (
        "transload.api", "transload.execution", "transload.convert_model", "transload.verification.compare",
        "transload.verification.tolerance",
        "transload.inspection", "transload.coverage_report", "transload.samples.samples", "transload.samples.preprocess",
        "transload.extraction")),
    Page("quantizing", "Quantize and evaluate", "See [Quantize](../../quantize.md), [Evaluate](../../evaluate.md).", (
        "transload.quantization", "transload_plugins.quantize.run",
        "transload_plugins.quantize.calibration", "transload_plugins.quantize.scheme",
        "transload_plugins.quantize.search.promise", "transload_plugins.quantize.search.searching", "transload.layers_page",
        "transload.evaluation.evaluate", "transload.evaluation.scores")),
    Page("partitioning", "Parts of a graph", "What a target takes of a module, and what it does not.", (
        "transload.partitioning",)),
    Page("ir", "Modules, ops, values, types", "The IR: MLIR's ideas as Python classes. See [Use the IR](../../use-the-ir.md).", (
        "transload.ir.module", "transload.ir.core", "transload.ir.locations", "transload.ir.types", "transload.ir.constants",
        "transload.ir.attributes",
        "transload.ir.build", "transload.ir.verify")),
    Page("network", "Networks written down", "Modules of the hub in few lines. See [Networks in Python](../../network.md).", (
        "transload_hub.network",)),
    Page("text", "Text", "MLIR's generic form, read and written.", ("transload.text",)),
    Page("declarations", "Declarations of ops", "How a dialect says what its ops are. See [Add an op](../../add-op.md).", (
        "transload.ir.declare",)),
    Page("rewriting", "Rewriting and passes", "Tables of rewrites, conversions, pipelines.", (
        "transload.rewrite", "transload.trace", "transload.conversion", "transload.passes.manager", "transload.findings")),
    Page("journey", "The journey", "What a conversion runs, planned and run. See [Architecture](../../architecture.md).", (
        "transload.journey", "transload.dump", "transload.options")),
    Page("plugins", "What plugins register", "See [Plugins and hooks](../../plugins.md).", (
        "transload.hookspecs", "transload.plugin", "transload.facts", "transload.plugin_host", "transload.context")),
    Page("runtimes", "Runtimes of artifacts", "Running what was written. See [Add a runtime](../../add-runtime.md).", (
        "transload.interface", "transload.worker")),
    Page("frontends", "Layers and operators of your own", "What readers take beside what a framework has. See "
         "[Keras](../../keras.md), [Caffe](../../caffe.md).", (
             "transload_converters.tensorflow.keras.layer", "transload_converters.caffe.python")),
    Page("view", "Looking at a model", "The page of `transload view`. See [View](../../view.md).", ("transload_plugins.view",)),
    Page("analysis", "Analyses", "What passes and plugins can ask of a module, and the facts behind it.", (
        "transload.analysis.movement", "transload.analysis.intervals", "transload.analysis.dataflow",
        "transload.verification.bounds", "transload_hub.layout.options", "transload_hub.analysis.integer_width_rules")),
    Page("tosa", "Building TOSA", "What rewrites to TOSA build its ops with.", ("transload_plugins.tosa.build",)),
    Page("memory", "Memory", "Offsets for buffers whose lifetimes are known. See [Memory](../../memory.md).", (
        "transload.memory.planning", "transload.memory.buffers", "transload.memory.profile", "transload.memory.checking",
        "transload.memory.lifetimes", "transload.memory.picture")),
    Page("tensor-processor", "Tensor processors", "See [Tensor processors](../../tensor-processor.md).", tuple(
        f"transload_targets.tensor_processor.{module}" for module in (
            "chip", "chip.description", "arithmetic", "codegen", "instructions", "simulator", "simulator.moves",
            "cycles.timeline", "cycles.tables", "cycles.trace", "explore.sweep", "explore.picture"))),
    Page("scale", "Many models", "Conversions side by side. See [Many models](../../scale.md).", (
        "transload.scale.conversions", "transload.scale.crew", "transload.scale.cache", "transload.scale.zoo")),
    Page("errors", "Errors", "See [Errors and exit codes](../../errors.md).", ("transload.errors",)),
    Page("testing", "Testing a plugin", "Checks for the tests of readers and other plugins.", ("transload.testing",)),
)


def write_library(folder: Path) -> None:
    """Write `library.md`, which lists what `import transload` gives, and `library/PAGE.md` for every subject."""
    pages = folder / "library"
    pages.mkdir(exist_ok=True)
    for page in PAGES:
        parts = [f"# {page.title}\n", f"{page.about}\n"]
        for module in page.modules:
            parts += section(module)
        (pages / f"{page.name}.md").write_text("\n".join(parts), encoding="utf-8")
    rows = [row(name) for name in transload.__all__ if not name.startswith("__")]
    subjects = "\n".join(f"- [{page.title}](library/{page.name}.md): {page.about.partition(' See')[0]}" for page in PAGES)
    subjects = subjects.replace("](../../", "](../")
    (folder / "library.md").write_text(
        f"# Library\n\n{subjects}\n\n`import transload` gives:\n\n{table(['name', ''], rows)}", encoding="utf-8")


def section(module: str) -> list[str]:
    """What a module makes public: a directive for each class and function, a table of the rest."""
    found = importlib.import_module(module)
    named = [(name, getattr(found, name)) for name in found.__all__ if not inspect.ismodule(getattr(found, name))]
    written = [thing for _, thing in named if is_written(thing)]
    others = [[f"`{name}`", f"`{shown(thing)}`"] for name, thing in named if not is_written(thing)]
    parts = [f"## `{module}`\n"] if named else []
    parts += [f"::: {home(thing)}\n" for thing in written]
    if others:
        parts.append(table(["name", ""], others))
    return parts


def is_written(thing: object) -> bool:
    """Whether something is a class or function of ours, which has a docstring and a place; what a function made has none."""
    return (inspect.isclass(thing) or inspect.isfunction(thing)) and thing.__module__.startswith("transload") and (
        "<locals>" not in home(thing))


def shown(thing: object) -> str:
    """What a table says of something else: its `repr`, or, of what would tell where it lies in memory, its class."""
    return f"a {type(thing).__name__}" if re.search(" at 0x[0-9a-fA-F]+", repr(thing)) else reprlib.repr(thing)


def home(thing: Any) -> str:
    """The full name of a class or function where it is written."""
    thing = inspect.unwrap(thing)
    return f"{thing.__module__}.{thing.__qualname__}"


def summary(thing: object) -> str:
    """The first paragraph of what is said of a class or function."""
    return (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ") if is_written(thing) else ""


def row(name: str) -> list[str]:
    """A public name of `transload`, for the table of them all."""
    thing = getattr(transload, name)
    return [f"[`transload.{name}`][{home(thing)}]" if is_written(thing) else f"`transload.{name}`", summary(thing)]
