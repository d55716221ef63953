"""A plugin that registers one of everything, each function of which does on order what no plugin should."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

import click
import numpy as np

from transload import hookimpl
from transload.errors import Finding
from transload.facts import Facts
from transload.ir import F32, Module, Op, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.ir.declare import INT, Dialect, attribute, constraint, operand, result
from transload.plugin import (
    Calibrator,
    Conversion,
    DialectSpec,
    Emitted,
    Engine,
    ForeignFormat,
    KernelTable,
    Metric,
    Pass,
    Quantizer,
    Reader,
    Runtime,
    Score,
    Source,
    Target,
    Writer,
)
from transload.rewrite import RewriteTable

__all__ = ["ORDER", "VECTOR", "OddPlugin", "Order", "module_of_twice"]

Misbehaviour = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
VECTOR = TensorType((4,), F32)


@dataclass
class Order:
    """Which function misbehaves, and how; and those that were called."""

    place: str = ""
    how: Misbehaviour | None = None
    called: set[str] = field(default_factory=set)


ORDER = Order()


def slip(place: str, good: Callable[..., Any]) -> Callable[..., Any]:
    """The function, unless it is ordered to do something else."""

    @wraps(good)
    def act(*arguments: Any, **named: Any) -> Any:
        ORDER.called.add(place)
        if ORDER.place == place and ORDER.how is not None:
            return ORDER.how(good, arguments, named)
        return good(*arguments, **named)

    return act


def module_of_twice() -> Module:
    """A function of two ops of the plugin's."""
    module = new_module()
    function = module.add_function("main", [VECTOR], ["x"])
    block = function.regions[0].block
    twice = Builder(block, location="t").create("odd.Twice", block.arguments, [VECTOR], {"times": 2}).result
    set_results(function, [Builder(block, location="y").create("odd.Twice", [twice], [VECTOR], {"times": 3}).result], ["y"])
    return module


def _dialect() -> Dialect:
    odd = Dialect("odd", "An op.")

    @odd.op("Twice")
    class Twice:
        """The tensor, twice."""

        input = operand("the tensor")
        output = result("of its shape")
        times = attribute(INT, "how often", default=2)

        @constraint
        def often(op: Any) -> bool:
            """it is at least once"""
            return bool(slip("dialect.constraint", lambda op: op.times > 0)(op))

        infer = slip("dialect.infer", lambda op: op.input.type)

    return odd


def _read(source: Source, inputs: Mapping[str, TensorType]) -> Module:
    assert bytes(source.data[:3]) == b"odd"
    return module_of_twice()


def _write(module: Module, path: Path) -> None:
    path.write_text(f"{len(list(module.ops()))}\n")


def _executed(module: Module, function: str = "main") -> Callable[..., dict[str, np.ndarray]]:
    from transload.execution import run

    own = module.clone()
    return slip("engine.execute", lambda inputs, keep=False: run(own, dict(inputs), engine="reference"))


def _twice(inputs: Mapping[str, np.ndarray], keep: bool = False) -> dict[str, np.ndarray]:
    return {"y": inputs["x"] * 6}


class _Cal:
    def save(self, path: Path) -> None:
        path.write_text("{}\n")


class OddTarget(Target):
    """One that takes all of TOSA, and runs it as NumPy does."""

    name, doc, accepts, keeps = "odd-target", "odd", ("tosa",), False

    def __init__(self, name: str = "odd-target") -> None:
        self.name = name
        for member in ("check", "emit", "available", "run", "runs_here", "cannot_run", "near_enough", "by_hub", "options"):
            setattr(self, member, slip(f"target.{member}", getattr(self, f"_{member}")))

    def _options(self) -> dict[str, Any]:
        return {"level": (int, 1, "how much")}

    def _check(self, module: Module, options: Mapping[str, Any]) -> list[Finding]:
        return []

    def _emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        path = directory / f"{stem}.oddbin"
        path.write_text(str(len(list(module.ops()))))
        return Emitted([path], {"level": options["level"]})

    def _available(self) -> str | None:
        return None

    _runs_here = _available

    def _cannot_run(self, emitted: Emitted) -> str | None:
        return None

    def _near_enough(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        return ("cos=0.9",)

    def _by_hub(self, module: Module) -> bool:
        return False

    def _run(self, emitted: Emitted, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"y": inputs["x"] * 6}


class OddPart(OddTarget):
    """One that leaves what it does not take to the host."""

    def __init__(self, name: str = "odd-part") -> None:
        super().__init__(name)
        self.run = None
        self.takes = slip("target.takes", lambda op, options: op.name != "tosa.add")
        self.summary = slip("target.summary", lambda cut, parts: {"parts": len(parts)})


class OddLeaves(OddTarget):
    """One that says itself what it leaves."""

    def __init__(self, name: str = "odd-leaves") -> None:
        super().__init__(name)
        self.run = None
        self.leaves = slip("target.leaves", lambda module, options: [op for op in module.ops() if op.name == "tosa.add"])


def _quantize(module: Module, samples: Any = None, *, level: int = 1) -> Module:
    for _ in samples or ():
        pass
    return module.clone()


def _to_top(op: Op, rw: Any) -> Any:
    (value,) = op.operands
    return rw.emit("top.Add", value, value) if op.times == 2 else rw.emit("top.Mul", value,
        rw.constant(np.full(4, op.times, np.float32)))


def _change(module: Module) -> bool:
    return False


class OddPlugin:
    """Hooks for everything."""

    @hookimpl
    def register_dialects(self, register: Any) -> None:
        kernels, simplifications = KernelTable(), RewriteTable()
        kernels("odd.Twice")(slip("kernel", lambda op, x: x * op.times))
        simplifications("odd.Twice")(slip("simplification", lambda op, rw: None))
        register(DialectSpec("odd", slip("dialect.load", _dialect), kernels, canonicalize=simplifications))

    @hookimpl
    def register_facts(self, register: Any) -> None:
        for kind, gives in (("steps", lambda op: 4), ("exact", lambda op: True)):
            register(Facts(kind, "odd", {"odd.Twice": slip(f"facts.{kind}", gives)}))

    @hookimpl
    def register_readers(self, register: Any) -> None:
        register(Reader("odd", "odd", (".odd",), slip("reader.read", _read),
            slip("reader.detect", lambda head, path: head[:3] == b"odd"),
                        warm=slip("reader.warm", lambda: None)))

    @hookimpl
    def register_formats(self, register: Any) -> None:
        register(ForeignFormat("odd-foreign", "an odd file", "convert {path}", (), slip(
            "format.detect", lambda head, path: head[:3] == b"ODD")))

    @hookimpl
    def register_writers(self, register: Any) -> None:
        register(Writer("oddout", "builtin", (".oddout",), slip("writer.write", _write)))

    @hookimpl
    def register_conversions(self, register: Any) -> None:
        table = RewriteTable()
        table("odd.Twice")(slip("rule", _to_top))
        register(Conversion("odd-to-top", "odd", "top", table, unfit=slip("conversion.unfit", lambda module: None),
                            entries=slip("conversion.entries", lambda module: list(module.functions.values())),
                            retype=slip("conversion.retype", lambda module: None), options={"way": (int, 1, "which")}))

    @hookimpl
    def register_passes(self, register: Any) -> None:
        register(Pass("odd-pass", slip("pass.run", _change), "nothing", at="hub"))

    @hookimpl
    def register_engines(self, register: Any) -> None:
        register(Engine("odd-engine", slip("engine.prepare", _executed), "odd", slip("engine.available", lambda: None)))

    @hookimpl
    def register_runtimes(self, register: Any) -> None:
        def opened(path: Path) -> Any:
            return slip("runtime.run", _twice)

        register(Runtime("odd-runtime", "odd", slip("runtime.open", opened), slip("runtime.available", lambda: None), "odd",
                         slip("runtime.alternatives", lambda path: {"other": slip("runtime.other", _twice)}),
                         slip("runtime.warm", lambda: None), undefined=slip("runtime.undefined", lambda source, hub, inputs: ""),
                         padded=slip("runtime.padded", lambda source: {}),
                         rounds_alone=slip("runtime.rounds_alone", lambda module: False)))

    @hookimpl
    def register_quantizers(self, register: Any) -> None:
        register(Quantizer("odd-quant", slip("quantizer.run", _quantize)))

    @hookimpl
    def register_calibrators(self, register: Any) -> None:
        register(Calibrator("odd-cal", slip("calibrator.run", lambda module, samples, name: _Cal())))

    @hookimpl
    def register_targets(self, register: Any) -> None:
        for target in (OddTarget(), OddPart(), OddLeaves()):
            register(target)

    @hookimpl
    def register_metrics(self, register: Any) -> None:
        register(Metric("odd-metric", slip("metric.measure", lambda a, b: float(np.abs(a - b).max(initial=0)))))

    @hookimpl
    def register_scores(self, register: Any) -> None:
        register(Score("odd-score",
            slip("score.measure", lambda outputs, label, reference: float(next(iter(outputs.values())).sum())),
                       slip("score.total", lambda rows: float(np.mean(rows))), available=slip("score.available", lambda: None),
                       least=slip("score.least", lambda rows: 0.0), bounds=(-1e9, 1e9)))

    @hookimpl
    def register_commands(self, register: Any) -> None:
        register(("odd-command", click.Command("odd-command", callback=slip("command", lambda: click.echo("done")))))
