"""Every call into a plugin is guarded: what it raises names the plugin, its distribution and the place."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import typer

import transload
from transload.cli import run as command
from transload.context import Context, current
from transload.conversion import apply_conversion
from transload.errors import ConversionError, Finding, PluginError, PluginFailure, ReadError, TargetError, TransloadError
from transload.guard import Guarded, PluginInfo, said
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
    Score,
    Target,
    Writer,
    resolve,
)
from transload.plugin_host import Host, host
from transload.rewrite import Rewriter, RewriteTable, apply_greedily

from tests.support.plugins import acme, point, raising, registering

pytestmark = pytest.mark.plugin_fails

VECTOR = TensorType((2,), F32)


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

    def emit(self, *given: Any) -> Any:
        raise AssertionError("nothing is to be written")


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
    ("scores", lambda f: Score("acme", f), "score 'acme' (measure)", lambda there: there.scores["acme"].measure({}, None, None)),
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


class Leaves:
    """Ends the process where an object of it is made."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        leave()


@pytest.mark.parametrize("member", [
    "options", "available", "check", "emit", "run", "runs_here", "cannot_run", "takes", "leaves", "summary", "near_enough",
    "by_hub", "rounds_alone"])
def test_a_class_in_place_of_a_method_is_guarded_as_one(member: str) -> None:
    """Calling it makes an object of it, which is the plugin's code; other classes that a target holds are as they are."""
    made = Bad("check")
    setattr(made, member, Leaves)
    made.Chip = Leaves  # type: ignore[attr-defined]
    found: Any = acme(targets=[made]).targets["bad"]
    with pytest.raises(PluginFailure) as caught:
        getattr(found, member)(None, {})
    check_blame(caught.value, f"target 'bad'.{member}()", SystemExit)
    assert found.Chip is Leaves


def test_an_exception_that_cannot_say_what_it_is() -> None:
    class Speechless(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    assert said(Speechless()) == "Speechless"


def test_a_class_and_a_text_that_cannot_say_what_they_are() -> None:
    class Nameless(type):
        def __getattribute__(cls, name: str) -> Any:
            if name in ("__name__", "__qualname__", "__module__"):
                raise SystemExit(7)
            return type.__getattribute__(cls, name)

    class Unnamed(Exception, metaclass=Nameless):
        pass

    class Formless(str):
        def __format__(self, form: str) -> str:
            raise ValueError("no form")

        __str__ = __repr__ = __format__  # type: ignore[assignment]

    plugin = PluginInfo("acme", "", "", "acme")
    with pytest.raises(PluginFailure, match=r"plugin 'acme' .* failed in f: Unnamed \("):
        Guarded(raising(Unnamed()), plugin, "f")()
    plugin.blame_for("hook", Unnamed())
    assert plugin.error == "hook: Unnamed"
    told = str(TransloadError(Formless("message"), [Finding(Formless("op"), Formless("why"))], Formless("hint")))
    assert told == "message\n  - op: why\n  → hint"


def test_a_target_is_otherwise_as_it_is(tmp_path: Path) -> None:
    class Mine(Target):
        name = "mine"
        accepts = ("tosa",)
        accelerator = "x7"

        def check(self, module: Module, options: Any) -> Any:
            raise TargetError("no", hint="try another")

        def emit(self, *given: Any) -> Any:
            raise AssertionError("nothing is to be written")

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
    said = f"the rule {__name__}:rule of plugin 'acme' (acme-chips 1.2) failed: IndexError: tuple index out of range"
    assert said in what["acme.op"].why
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


@pytest.mark.parametrize(("plans", "why"), [(leave, "SystemExit: 0"), (lambda op, plan: 3, "'int' object is not callable")])
def test_what_a_kernel_plans_wrongly_names_kernel_and_op(plans: Any, why: str) -> None:
    def planning(op: Op, x: Any) -> Any:
        raise AssertionError("what is planned runs in its place")

    planning.plans = plans  # type: ignore[attr-defined]
    table = KernelTable()
    table("acme.op")(planning)
    there = acme(dialects=[DialectSpec("acme", Dialect("acme"), table)])
    with Context(there).bind(), pytest.raises(PluginFailure, match=rf"planning of plugin 'acme'.*{why}") as caught:
        transload.run(module_of("acme.op"), {"x": np.zeros(2, np.float32)}, engine="reference")
    assert caught.value.findings[0].what == "acme.op" and caught.value.findings[0].names == ("here",)


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
    ("readers", Reader("acme", "acme", (".acme",), lambda source, inputs: Mock(spec=transload.Module)),
     lambda: transload.load(text=b"", format="acme"), "gives a Mock, where a Module is wanted"),
    ("targets", type("T", (Target,), {"name": "acme", "accepts": ("tosa",), "emit": lambda self, *a: None})(),
     lambda: transload.convert(module_of("tosa.abs"), "acme", "never", verify=False), "gives None, where an Emitted is wanted"),
    ("targets", type("T", (Target,), {"name": "acme", "accepts": ("tosa",), "check": lambda self, *a: 7, "emit": boom})(),
     lambda: transload.convert(module_of("tosa.abs"), "acme", "never", verify=False), "gives a int, where findings are wanted"),
    ("targets", type("T", (Target,), {"name": "acme", "accepts": ("tosa",), "options": lambda self: {"a": 1}, "emit": boom})(),
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


@pytest.mark.parametrize("raised", [ConnectionRefusedError(111, "refused"), TimeoutError("timed out"), ChildProcessError()])
def test_what_is_no_files_is_the_plugins(raised: OSError) -> None:
    """A licence server that was not there was told as a disk that could not be written."""
    def write(module: Any, path: Any) -> None:
        raise raised

    there = acme(writers=[Writer("acme", "acme", (".acme",), write)])
    with Context(there).bind(), pytest.raises(PluginFailure, match=type(raised).__name__):
        transload.save(new_module(), "model.acme")


def test_ctrl_c_goes_through() -> None:
    def read(source: Any, inputs: Any) -> Any:
        raise KeyboardInterrupt

    with Context(acme(readers=[Reader("acme", "acme", (".acme",), read)])).bind(), pytest.raises(KeyboardInterrupt):
        transload.load(text=b"x", format="acme")


@pytest.mark.parametrize("fails", [False, True])
def test_who_lowers_the_limit_of_recursion_does_so_for_itself(fails: bool) -> None:
    """What runs behind it, the message of its own failure too, is deeper."""
    before, made = sys.getrecursionlimit(), module_of("top.Relu")

    def read(source: Any, inputs: Any) -> Any:
        depth = len(inspect.stack(0))
        sys.setrecursionlimit(depth + 12)
        return boom() if fails else made

    blamed = pytest.raises(PluginFailure, match="reader 'acme'") if fails else nullcontext()
    with Context(acme(readers=[Reader("acme", "acme", (".acme",), read)])).bind(), blamed:
        assert str(transload.load(text=b"x", format="acme"))
    assert sys.getrecursionlimit() == before


def test_a_reader_that_cannot_tell_its_files_leaves_them_to_others(tmp_path: Path) -> None:
    file = tmp_path / "model.bin"
    file.write_bytes(b"MINE")

    def read(source: Any, inputs: Any) -> Module:
        module = new_module()
        function = module.add_function("main", [TensorType((1,), F32)], ["x"])
        set_results(function, function.regions[0].block.arguments, ["y"])
        return module

    mine = Reader("mine", "acme", (), read, lambda head, path: head.startswith(b"MINE"))
    broken = Reader("broken", "acme", (), boom, boom)
    with Context(acme(readers=[broken, mine])).bind():
        assert transload.load(file).source_format == "mine"
    with Context(acme(readers=[broken])).bind(), pytest.raises(PluginFailure, match=r"reader 'broken' \(detect\)"):
        transload.load(file)


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
