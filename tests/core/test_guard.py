"""Every call into a plugin is guarded: what it raises names the plugin, its distribution and the place."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

import transload
from transload import hookspecs
from transload.cli import run as command
from transload.context import Context, current
from transload.conversion import apply_conversion
from transload.errors import ConversionError, PluginError, PluginFailure, ReadError, TargetError, TransloadError, UsageError
from transload.hookspecs import hookimpl
from transload.ir import F32, Module, Op, TensorType, new_module, registry, set_results
from transload.ir.build import Builder
from transload.ir.declare import Dialect, operand, result
from transload.passes.manager import Pipeline
from transload.plugin import (
    Calibrator,
    Conversion,
    DialectSpec,
    Engine,
    KernelTable,
    Metric,
    Pass,
    Quantizer,
    Reader,
    Runtime,
    Target,
    Writer,
    resolve,
)
from transload.plugin_host import Host, PluginInfo, host
from transload.rewrite import Rewriter, RewriteTable, apply_greedily

pytestmark = pytest.mark.plugin_fails

VECTOR = TensorType((2,), F32)


class Distribution:
    """What `importlib.metadata` says of a distribution, as far as the host asks."""

    def __init__(self, name: str, version: str) -> None:
        self.name = name
        self.version = version


def point(name: str, distribution: str = "acme-chips", version: str = "1.2", **members: Any) -> EntryPoint:
    """An entry point of a distribution, to a module made of members."""
    module = types.ModuleType(f"made_for_test_guard_{distribution}_{name}".replace("-", "_"))
    for key, value in members.items():
        setattr(module, key, value)
    sys.modules[module.__name__] = module
    made = EntryPoint(name, module.__name__, "transload")
    vars(made).update(dist=Distribution(distribution, version))
    return made


def registering(**items: Any) -> dict[str, Any]:
    """Hooks that register these: `registering(passes=[Pass(...)])`."""

    def hook(kind: str, wanted: Any) -> Any:
        def register_them(register: Callable[[Any], None]) -> None:
            for item in wanted:
                register(item)

        register_them.__name__ = f"register_{kind}"
        return hookimpl(register_them)

    return {f"register_{kind}": hook(kind, wanted) for kind, wanted in items.items()}


def boom(*arguments: Any, **named: Any) -> Any:
    raise KeyError("boom")


def leave(*arguments: Any, **named: Any) -> Any:
    raise SystemExit(0)


def module_of(op: str) -> Module:
    module = new_module()
    function = module.add_function("main", [VECTOR], ["x"])
    block = function.regions[0].block
    set_results(function, [Builder(block, location="here").create(op, block.arguments, [VECTOR]).result], ["y"])
    return module


def info_of(there: Host, name: str) -> PluginInfo:
    (info,) = [info for info in there.plugins if info.name == name]
    return info


def check_blame(error: PluginFailure, place: str, cause: type[BaseException] = KeyError) -> None:
    """The error names plugin, distribution, version, place, what was raised and where."""
    for part in ("plugin 'acme' (acme-chips 1.2)", place, cause.__name__, "test_guard.py:"):
        assert part in error.message, f"{part!r} is not in {error.message!r}"
    assert isinstance(error.__cause__, cause)
    assert "TRANSLOAD_DEBUG=1 shows the traceback" in error.hint and "TRANSLOAD_PLUGINS=-acme" in error.hint


class Bad(Target):
    """A target of which one method fails."""

    name = "bad"
    accepts = ("tosa",)

    def __init__(self, member: str) -> None:
        setattr(self, member, boom)


def acme(**items: Any) -> Host:
    return Host([point("acme", **registering(**items))], only="")


@pytest.mark.parametrize("failing", [boom, leave])
@pytest.mark.parametrize(("kind", "item", "place", "call"), [
    ("readers", lambda f: Reader("acme", "acme", (".acme",), f), "reader 'acme' (read)",
     lambda there: transload.load(text=b"x", format="acme")),
    ("writers", lambda f: Writer("acme", "acme", (".acme",), f), "writer 'acme' (write)",
     lambda there: transload.save(new_module(), "x.acme")),
    ("passes", lambda f: Pass("acme", f), "pass 'acme' (run)", lambda there: Pipeline.parse("acme").run(module_of("acme.op"))),
    ("conversions", lambda f: Conversion("acme", "acme", "top", RewriteTable(), unfit=f), "conversion 'acme' (unfit)",
     lambda there: transload.lower(module_of("acme.op"), "top")),
    ("engines", lambda f: Engine("acme", f), "engine 'acme' (prepare)",
     lambda there: transload.run(module_of("top.Relu"), {"x": np.zeros(2, np.float32)}, engine="acme")),
    ("engines", lambda f: Engine("acme", lambda module, function: f), "engine 'acme' (prepare)",
     lambda there: transload.run(module_of("top.Relu"), {"x": np.zeros(2, np.float32)}, engine="acme")),
    ("engines", lambda f: Engine("acme", boom, available=f), "engine 'acme' (available)",
     lambda there: transload.run(module_of("top.Relu"), {"x": np.zeros(2, np.float32)}, engine="acme")),
    ("runtimes", lambda f: Runtime("acme", "acme", f, lambda: None), "runtime 'acme' (open)",
     lambda there: resolve(there.runtimes["acme"].open)("file")),
    ("runtimes", lambda f: Runtime("acme", "acme", lambda path: f, lambda: None), "runtime 'acme' (open)",
     lambda there: resolve(there.runtimes["acme"].open)("file")({})),
    ("quantizers", lambda f: Quantizer("acme", f), "quantizer 'acme' (run)",
     lambda there: there.quantizers["acme"].run(None, None)),
    ("calibrators", lambda f: Calibrator("acme", f), "calibrator 'acme' (run)",
     lambda there: there.calibrators["acme"].run(None, (), "acme")),
    ("metrics", lambda f: Metric("acme", f), "metric 'acme' (measure)", lambda there: there.metrics["acme"].measure(1, 2)),
])
def test_what_a_registered_function_raises_names_the_plugin(
    kind: str, item: Any, place: str, call: Any, failing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    items: dict[str, Any] = {kind: [item(failing)]}
    items.setdefault("dialects", [DialectSpec("acme", Dialect("acme"))])
    there = acme(**items)
    with Context(there).bind(), pytest.raises(PluginFailure) as caught:
        call(there)
    check_blame(caught.value, place, KeyError if failing is boom else SystemExit)


@pytest.mark.parametrize("member", ["options", "available", "check", "emit"])
def test_what_a_target_raises_names_the_plugin(member: str, tmp_path: Path) -> None:
    with Context(acme(targets=[Bad(member)])).bind(), pytest.raises(PluginFailure) as caught:
        transload.convert(module_of("tosa.abs"), "bad", tmp_path / "out", verify=False)
    check_blame(caught.value, f"target 'bad'.{member}()")
    assert [file.name for file in tmp_path.rglob("*.*")] == (["report.json"] if member in ("check", "emit") else [])


def test_a_target_is_otherwise_as_it_is(tmp_path: Path) -> None:
    class Mine(Target):
        name = "mine"
        accepts = ("tosa",)
        accelerator = "x7"

        def check(self, module: Module, options: Any) -> Any:
            raise TargetError("no", hint="try another")

    mine = Mine()
    there = acme(targets=[mine])
    found = there.targets["mine"]
    assert isinstance(found, Target) and found.accelerator == "x7" and found.accepts == ("tosa",)  # type: ignore[attr-defined]
    assert found.run is None
    with Context(there).bind(), pytest.raises(TargetError, match="no") as caught:
        transload.convert(module_of("tosa.abs"), "mine", tmp_path, verify=False)
    assert caught.value.hint == "try another"


def rule(op: Op, rw: Rewriter) -> Any:
    rw.emit("top.Relu", op.operands[0])
    raise IndexError("tuple index out of range")


def test_a_rule_that_raises_is_a_finding_among_the_others() -> None:
    table = RewriteTable()
    table("acme.op")(rule)
    dialect = Dialect("acme")
    there = acme(dialects=[DialectSpec("acme", dialect)], conversions=[Conversion("acme", "acme", "top", table=table)])
    module = module_of("acme.op")
    block = module.body_of_main
    Builder(block, block.last, "there").create("acme.other", block.arguments, [VECTOR])
    with Context(there).bind(), pytest.raises(ConversionError) as caught:
        apply_conversion(there.conversions["acme"], module)
    what = {finding.what: finding for finding in caught.value.findings}
    assert set(what) == {"acme.op", "acme.other"} and caught.value.exit_code == 3
    assert f"the rule {__name__}:rule failed: IndexError: tuple index out of range" in what["acme.op"].why
    assert what["acme.op"].names == ("here",)
    assert isinstance(caught.value.__cause__, PluginFailure) and isinstance(caught.value.__cause__.__cause__, IndexError)
    assert [op.name for op in block] == ["acme.op", "acme.other", "func.return"], "what the rule had made is gone"


def test_a_simplification_that_raises_names_rule_and_op() -> None:
    table = RewriteTable()
    table("top.Relu")(rule)
    with pytest.raises(PluginFailure, match=r"the rule .*:rule of top\.Relu: IndexError") as caught:
        apply_greedily(module_of("top.Relu"), table)
    assert caught.value.findings[0].names == ("here",)


def one_op(name: str) -> Dialect:
    dialect = Dialect(name)

    @dialect.op("op")
    class OneToOne:
        x = operand()
        y = result()

        def infer(op: Any) -> Any:
            return op.x.type

    return dialect


def failing_kernel(op: Op, x: np.ndarray) -> np.ndarray:
    raise ZeroDivisionError("integer division")


def with_kernel() -> Host:
    kernels = KernelTable()
    kernels("acme.op")(failing_kernel)
    return acme(dialects=[DialectSpec("acme", one_op("acme"), kernels)])


def test_a_kernel_that_raises_names_kernel_and_op() -> None:
    with Context(with_kernel()).bind(), pytest.raises(PluginFailure, match=rf"the kernel {__name__}:failing_kernel") as caught:
        transload.run(module_of("acme.op"), {"x": np.zeros(2, np.float32)}, engine="reference")
    assert caught.value.findings[0].what == "acme.op" and caught.value.findings[0].names == ("here",)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_kernel_that_raises_while_folding_names_kernel_and_op() -> None:
    with Context(with_kernel()).bind():
        builder = Builder(module_of("acme.op").body_of_main, fold=True)
        held = Builder(builder.block, builder.block.first).constant(np.zeros(2, np.float32))
        with pytest.raises(PluginFailure, match=rf"the kernel {__name__}:failing_kernel"):
            builder.emit("acme.op", held)


def test_rules_and_kernels_of_our_own_are_found_by_their_modules() -> None:
    kernel = host().kernel("top.Relu")
    assert kernel is not None
    for function, name in ((kernel[0], "hub"), (host().table("onnx-to-top").get("onnx.Relu")[0], "onnx"), (boom, None)):
        found = host().plugin_of(function)
        assert (found.name if found is not None else None) == name


# --- text that names code


@pytest.mark.parametrize(("text", "cause"), [
    ("made_for_test_nowhere.module:read", ModuleNotFoundError), ("json:no_such_function", AttributeError)])
def test_text_that_names_nothing_is_blamed_on_the_plugin(text: str, cause: type[BaseException]) -> None:
    there = acme(
        readers=[Reader("acme", "acme", (".acme",), text)], dialects=[DialectSpec("acme", text, text, canonicalize=text)],
        conversions=[Conversion("acme", "acme", "top", table=text)])
    with Context(there).bind():
        for ask in (
            lambda: transload.load(text=b"x", format="acme"), lambda: registry.lookup("acme.op"),
            lambda: there.kernel("acme.op"), lambda: there.fact("canonicalization", "acme.op"), lambda: there.table("acme"),
        ):
            with pytest.raises(PluginFailure) as caught:
                ask()
            assert text in caught.value.message and "plugin 'acme' (acme-chips 1.2)" in caught.value.message
            assert isinstance(caught.value.__cause__, cause)


def test_text_that_names_another_thing_is_blamed_on_the_plugin() -> None:
    there = acme(
        dialects=[DialectSpec("acme", "json:dumps", "json:decoder", canonicalize="json:decoder")],
        conversions=[Conversion("acme", "acme", "top", table="json:decoder")])
    with pytest.raises(PluginFailure, match="gives a module, where a RewriteTable is wanted"):
        there.table("acme")
    with pytest.raises(PluginError, match=r"plugin acme \(acme-chips 1.2\) gives are no table: module"):
        there.kernel("acme.op")
    with pytest.raises(PluginFailure, match=r"dialect 'acme' \(load\)"):
        there.dialect("acme")


@pytest.mark.parametrize(("kind", "item", "ask", "why"), [
    ("readers", Reader("acme", "acme", (".acme",), lambda source, inputs: None), lambda: transload.load(text=b"", format="acme"),
     "gives None, where a Module is wanted"),
    ("targets", type("T", (Target,), {"name": "acme", "accepts": ("tosa",), "emit": lambda self, *a: None})(),
     lambda: transload.convert(module_of("tosa.abs"), "acme", "never", verify=False), "gives None, where an Emitted is wanted"),
    ("targets", type("T", (Target,), {"name": "acme", "accepts": ("tosa",), "check": lambda self, *a: 7})(),
     lambda: transload.convert(module_of("tosa.abs"), "acme", "never", verify=False), "gives a int, where findings are wanted"),
    ("targets", type("T", (Target,), {"name": "acme", "accepts": ("tosa",), "options": lambda self: {"a": 1}})(),
     lambda: transload.convert(module_of("tosa.abs"), "acme", "never", verify=False), r"option 'a' must be \(type, default"),
])
def test_what_a_function_must_not_return_is_blamed_on_the_plugin(
    kind: str, item: Any, ask: Any, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with Context(acme(**{kind: [item]})).bind(), pytest.raises(PluginFailure, match=why):
        ask()


# --- what goes through


def test_errors_that_a_plugin_means_go_through_as_they_are() -> None:
    def read(source: Any, inputs: Any) -> Any:
        raise ReadError("the file is damaged", hint="get it anew")

    with Context(acme(readers=[Reader("acme", "acme", (".acme",), read)])).bind(), pytest.raises(ReadError) as caught:
        transload.load(text=b"x", format="acme")
    assert type(caught.value) is ReadError and caught.value.message == "the file is damaged"


@pytest.mark.parametrize(("raised", "said"), [(OSError(28, "No space left"), "No space left"), (MemoryError(), "memory")])
def test_what_a_disk_does_is_no_defect_of_the_plugin(raised: BaseException, said: str) -> None:
    def read(source: Any, inputs: Any) -> Any:
        raise raised

    with Context(acme(readers=[Reader("acme", "acme", (".acme",), read)])).bind(), pytest.raises(ReadError, match=said):
        transload.load(text=b"x", format="acme")


def test_what_a_disk_does_to_a_writer_is_no_defect_of_the_plugin() -> None:
    def write(module: Any, path: Any) -> None:
        raise OSError(28, "No space left")

    there = acme(writers=[Writer("acme", "acme", (".acme",), write)])
    with Context(there).bind(), pytest.raises(TransloadError, match=r"cannot write model\.acme: No space left") as caught:
        transload.save(new_module(), "model.acme")
    assert type(caught.value) is TransloadError


def test_ctrl_c_goes_through() -> None:
    def read(source: Any, inputs: Any) -> Any:
        raise KeyboardInterrupt

    with Context(acme(readers=[Reader("acme", "acme", (".acme",), read)])).bind(), pytest.raises(KeyboardInterrupt):
        transload.load(text=b"x", format="acme")


def test_a_reader_that_cannot_tell_its_files_leaves_them_to_others(tmp_path: Path) -> None:
    file = tmp_path / "model.bin"
    file.write_bytes(b"MINE")
    mine = Reader("mine", "acme", (), lambda source, inputs: new_module(), lambda head, path: head.startswith(b"MINE"))
    broken = Reader("broken", "acme", (), boom, boom)
    with Context(acme(readers=[broken, mine])).bind():
        assert transload.load(file).source_format == "mine"
    with Context(acme(readers=[broken])).bind(), pytest.raises(PluginFailure, match=r"reader 'broken' \(detect\)"):
        transload.load(file)


# --- registration


@pytest.mark.parametrize(("kind", "item", "why"), [
    ("metrics", "cos", "gives a str, where a Metric is wanted"),
    ("metrics", Metric("", abs), "name must be letters"),
    ("metrics", Metric("two words", abs), "name must be letters"),
    ("metrics", Metric(3, abs), "name must be letters"),  # type: ignore[arg-type]
    ("metrics", Metric("m", 3), "measure must be a function"),
    ("metrics", Metric("m", "module.without_name"), 'measure must be "package.module:name"'),
    ("metrics", Metric("m", abs, better="more"), "better must be 'lower' or 'higher'"),
    ("readers", Reader("r", "d", ".one", abs), "suffixes must be a tuple of texts"),  # type: ignore[arg-type]
    ("readers", Reader("r", "d", ("one",), abs), "that start with '.'"),
    ("readers", Reader("r", "d", (".one",), abs, 5), "detect must be a function"),
    ("writers", Writer("w", "a b", (".one",), abs), "dialect must be letters"),
    ("dialects", DialectSpec("d", None), "load must be a object"),
    ("dialects", DialectSpec("d", Dialect("d"), 5), "kernels must be a KernelTable"),
    ("conversions", Conversion("c", "a", "b"), "neither a table nor passes"),
    ("conversions", Conversion("c", "a", "b", extends="d"), "has no table"),
    ("conversions", Conversion("c", "a", "b", table="a.b:C", cost=float("nan")), "cost must be a number"),
    ("conversions", Conversion("c", "a", "b", table="a.b:C", options={"o": 5}), r"option 'o' must be \(type"),  # type: ignore[dict-item]
    ("passes", Pass("p", abs, requires="top"), "requires must be a tuple"),  # type: ignore[arg-type]
    ("engines", Engine("e", None), "prepare must be a function"),
    ("runtimes", Runtime("r", "f", abs, None), "available must be a function"),
    ("quantizers", Quantizer("q", None), "run must be a function"),
    ("calibrators", Calibrator("c", None), "run must be a function"),
    ("targets", Target, "gives the class Target"),
    ("targets", object(), "is no Target: it has no name"),
    ("targets", type("T", (Target,), {"name": "t", "accepts": "tosa"})(), "accepts must be a tuple"),
    ("targets", type("T", (Target,), {"name": "t", "accepts": ()})(), "accepts must name at least one"),
    ("targets", type("T", (Target,), {"name": "t", "accepts": ("a",), "run": 5})(), "run must be a method, or None"),
    ("commands", "hello", r"where \(name, click.Command\) is wanted"),
    ("commands", ("hello", boom), "must be a click.Command"),
])
def test_what_cannot_be_registered_is_told_at_once(kind: str, item: Any, why: str) -> None:
    there = acme(**{kind: [item]})
    getattr(there, kind)
    info = info_of(there, "acme")
    assert re.search(why, str(info.error)), info.error
    assert f"register_{kind}" in str(info.error) and not info.registered


def test_all_that_is_wrong_is_told_and_the_rest_registers() -> None:
    there = acme(metrics=[Metric("", abs), Metric("good", abs), Metric("good", abs), Metric("cos", abs), 5])
    assert "good" in there.metrics
    error = str(info_of(there, "acme").error)
    assert "name must be" in error and "gives a int" in error
    assert "'good' is registered twice" in error
    assert "'cos' is registered twice by plugin 'core' (transload), too" in error
    assert info_of(there, "acme").registered == {"metrics": ["good"]}


def test_system_exit_at_import_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made_for_test_leaves.py").write_text("import sys\nsys.exit(3)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    other = point("zacme", **registering(passes=[Pass("p", abs)]))
    there = Host([EntryPoint("leaves", "made_for_test_leaves", "transload"), other], only="")
    assert "p" in there.passes
    assert "SystemExit: 3" in str(info_of(there, "leaves").error)
    assert "sys.exit(3)" in info_of(there, "leaves").trace


def test_system_exit_in_a_hook_is_reported() -> None:
    there = Host([point("acme", register_passes=hookimpl(lambda register: sys.exit(1)))], only="")
    assert "canonicalize" in there.passes
    assert "register_passes: SystemExit: 1" in str(info_of(there, "acme").error)


def test_a_second_distribution_with_the_same_entry_point_is_reported() -> None:
    first = point("acme", "acme-chips", **registering(passes=[Pass("first", abs)]))
    second = point("acme", "other-chips", **registering(passes=[Pass("second", abs)]))
    same = EntryPoint("acme", first.value, "transload")
    vars(same).update(dist=Distribution("third-chips", "3"))
    for points in ([first, second, same], [same, second, first]):
        there = Host(points, only="")
        assert "first" in there.passes and "second" not in there.passes
        infos = {info.distribution: info for info in there.plugins if info.name == "acme"}
        assert infos["acme-chips"].error is None
        for other in ("other-chips", "third-chips"):
            assert "plugin 'acme' (acme-chips 1.2) has this name already" in str(infos[other].error)


def test_nobody_takes_the_place_of_one_of_ours() -> None:
    ours = point("tflite", "transload", **registering(passes=[Pass("ours", abs)]))
    theirs = point("tflite", "a-first", **registering(passes=[Pass("theirs", abs)]))
    assert "ours" in Host([theirs, ours], only="").passes


def test_the_same_distribution_found_twice_is_one_plugin() -> None:
    once = point("acme", **registering(passes=[Pass("p", abs)]))
    there = Host([once, once], only="")
    assert len([info for info in there.plugins if info.name == "acme"]) == 1 and "p" in there.passes


def test_a_plugin_without_hooks_and_one_that_registers_nothing_are_reported() -> None:
    there = Host([point("bare"), point("silent", **registering(passes=[]))], only="")
    there.everything()
    assert "has no hooks" in str(info_of(there, "bare").error)
    assert info_of(there, "silent").error == "it registers nothing"


@pytest.mark.parametrize(("asked", "why"), [
    (hookspecs.API_VERSION, None), ("0.9", "a newer version of the plugin is needed"), ("99.0", "a newer Transload is needed"),
    ("1.999", "a newer Transload is needed"), (1, "must be text"), ("one", "must be text")])
def test_the_version_that_a_plugin_asks_for_is_checked(asked: Any, why: str | None) -> None:
    there = Host([point("acme", transload_api=asked, **registering(passes=[Pass("p", abs)]))], only="")
    assert ("p" in there.passes) == (why is None)
    assert (why in str(info_of(there, "acme").error)) if why else info_of(there, "acme").error is None


def test_a_name_that_nobody_has_is_answered_with_the_plugins_that_failed() -> None:
    broken = EntryPoint("broken", "transload_no_such_module", "transload")
    there = Host([broken, point("left", **registering(passes=[]))], only="-left")
    with pytest.raises(UsageError) as caught:
        there.get("targets", "acme-x7")
    assert "plugin 'broken' (no distribution): ModuleNotFoundError: No module named" in caught.value.hint
    assert "left out by TRANSLOAD_PLUGINS: left" in caught.value.hint
    with Context(there).bind(), pytest.raises(UsageError, match="broken"):
        transload.save(new_module(), "model.acme")


# --- without packaging


class Mine:
    """A plugin that is an object."""

    @hookimpl
    def register_passes(self, register: Callable[[Any], None]) -> None:
        register(Pass("mine", lambda module: False))

    @hookimpl
    def register_dialects(self, register: Callable[[Any], None]) -> None:
        kernels = KernelTable()
        kernels("mine.op")(lambda op, x: x + 1)
        register(DialectSpec("mine", one_op("mine"), kernels))

    @hookimpl
    def register_conversions(self, register: Callable[[Any], None]) -> None:
        table = RewriteTable()
        table("mine.op")(lambda op, rw: rw.emit("top.Relu", op.operands[0]))
        register(Conversion("mine-to-top", "mine", "top", table=table))


def test_a_plugin_is_registered_without_packaging() -> None:
    there = Host([], only="")
    with Context(there).bind():
        assert registry.lookup("mine.op") is None and there.kernel("mine.op") is None and "mine" not in there.passes
        assert there.plugins[-1].name != "Mine"
        info = there.register(Mine())
        assert (info.name, info.registered["passes"]) == ("Mine", ["mine"]) and there.plugins[-1] is info
        assert registry.lookup("mine.op") is not None
        out = transload.run(module_of("mine.op"), {"x": np.zeros(2, np.float32)}, engine="reference")
        assert out["y"].tolist() == [1, 1]
        assert "top.Relu" in str(list(transload.lower(module_of("mine.op"), "top").body_of_main))
        assert Pipeline.parse("mine").run(new_module())[0].modified is False


def test_a_plugin_that_is_wrong_is_refused_whole() -> None:
    there = Host([], only="")
    class Half:
        register_passes = staticmethod(registering(passes=[Pass("half", abs)])["register_passes"])
        register_metrics = staticmethod(registering(metrics=[Metric("", abs), Metric("cos", abs)])["register_metrics"])

    with pytest.raises(PluginError) as caught:
        there.register(Half(), "half")
    assert len(caught.value.findings) == 2 and "twice" in str(caught.value)
    assert "half" not in there.passes and all(info.name != "half" for info in there.plugins)
    with pytest.raises(PluginError, match="has no hooks"):
        there.register(object(), "nothing")
    there.register(Mine(), "half")
    with pytest.raises(PluginError, match="a plugin is called 'half' already"):
        there.register(Mine(), "half")


# --- the command line


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., tuple[int, str, str]]]:
    def run(there: Host, *arguments: str) -> tuple[int, str, str]:
        with Context(there).bind():
            code = command(list(arguments))
        out, err = capsys.readouterr()
        return code, out, err

    yield run


def commands() -> typer.Typer:
    app = typer.Typer()

    @app.command()
    def fails() -> None:
        boom()

    @app.command()
    def leaves() -> None:
        raise typer.Exit(5)

    @app.command()
    def refuses() -> None:
        raise typer.BadParameter("not so")

    return app


def test_a_command_that_raises_names_the_plugin(shown: Any) -> None:
    there = acme(commands=[("acme", commands())])
    code, _, err = shown(there, "acme", "fails")
    assert code == 3 and "plugin 'acme' (acme-chips 1.2) failed in command 'acme': KeyError: 'boom'" in err
    assert "Traceback" not in err
    assert shown(there, "acme", "leaves")[0] == 5
    code, _, err = shown(there, "acme", "refuses")
    assert code == 2 and "not so" in err


def test_plugins_lists_what_is_wrong(shown: Any) -> None:
    there = Host([
        EntryPoint("broken", "transload_no_such_module", "transload"), point("silent", **registering(passes=[])),
        point("future", transload_api="9.0", **registering(passes=[]))], only="")
    code, out, _ = shown(there, "plugins", "--json")
    listed = {row["name"]: row["error"] for row in json.loads(out)}
    assert code == 0 and listed["core"] is None
    assert "No module named" in listed["broken"] and listed["silent"] == "it registers nothing" and "9.0" in listed["future"]


DEBUGGED = """
import sys
from transload import Context, Host, Pass, hookimpl
from transload.cli import main
class Mine:
    @hookimpl
    def register_passes(self, register):
        register(Pass("mine", lambda module: {}["boom"]))
host = Host([], only="")
host.register(Mine())
with Context(host).bind():
    main(sys.argv[1:])
"""


@pytest.mark.parametrize("where", ["first", "last", "nowhere"])
def test_debug_shows_the_traceback(where: str, tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text('"builtin.module"() ({\n}) : () -> ()\n')
    asked = ["opt", str(tmp_path / "m.mlir"), "--passes", "mine"]
    asked = ["--debug", *asked] if where == "first" else [*asked, "--debug"] if where == "last" else asked
    done = subprocess.run([sys.executable, "-c", DEBUGGED, *asked], capture_output=True, text=True)
    assert done.returncode != 0 and "plugin 'Mine' (no distribution) failed in pass 'mine' (run): KeyError: 'boom'" in done.stderr
    assert ("Traceback" in done.stderr) == (where != "nowhere")


def test_a_failure_leaves_the_context_as_it_was() -> None:
    before = current()
    with pytest.raises(PluginFailure), Context(acme(metrics=[Metric("m", boom)])).bind():
        host().metrics["m"].measure(1, 2)
    assert current() is before
