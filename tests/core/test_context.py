"""The context: two hosts side by side, conversions in threads, folding, and what `use_host` leaves behind."""

from __future__ import annotations

import subprocess
import sys
import threading
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.context import Context, current, new_run, pinned
from transload.conversion import apply_conversion
from transload.errors import InternalError
from transload.hookspecs import hookimpl
from transload.ir import F32, Module, Op, TensorType, new_module, registry, set_results, verify
from transload.ir.build import Builder
from transload.ir.declare import Dialect, operand, result
from transload.plugin import Conversion, DialectSpec, KernelTable
from transload.plugin_host import Host, host, use_host
from transload.rewrite import Rewriter, RewriteTable
from transload.text import print_module

VECTOR = TensorType((2,), F32)


def dialect_of(name: str, *ops: str) -> Dialect:
    """A dialect of ops with one operand and one result of its type."""
    dialect = Dialect(name)

    class OneToOne:
        x = operand()
        y = result()

        def infer(op: Any) -> Any:
            return op.x.type

    for op in ops:
        dialect.op(op)(OneToOne)
    return dialect


def host_with(name: str, dialects: dict[str, Dialect], becomes: str, factor: float) -> Host:
    """A host with these dialects, and a conversion "shared" of `common.op` to the op `becomes`, whose kernel multiplies."""
    table, kernels = RewriteTable(), KernelTable()

    @table("common.op")
    def convert(op: Op, rw: Rewriter) -> Any:
        return rw.emit(becomes, op.operands[0])

    @kernels(becomes)
    def kernel(op: Op, x: np.ndarray) -> np.ndarray:
        return x * np.float32(factor)

    @hookimpl
    def register_dialects(register: Callable[[Any], None]) -> None:
        for each, dialect in dialects.items():
            register(DialectSpec(each, dialect, kernels if becomes.startswith(each + ".") else None))

    @hookimpl
    def register_conversions(register: Callable[[Any], None]) -> None:
        register(Conversion("shared", "common", becomes.partition(".")[0], table=table))

    module = types.ModuleType(f"made_for_test_context_{name}")
    module.register_dialects, module.register_conversions = register_dialects, register_conversions  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    return Host([EntryPoint(name, module.__name__, "transload")], only="")


@pytest.fixture
def two_hosts() -> tuple[Host, Host]:
    """Two hosts with a dialect each that the other lacks, and a conversion of the same name with other rules."""
    common = dialect_of("common", "op")
    return (
        host_with("one", {"common": common, "left": dialect_of("left", "op")}, "left.op", 2.0),
        host_with("two", {"common": common, "right": dialect_of("right", "op")}, "right.op", 3.0))


@pytest.fixture
def process_host() -> Iterator[Host]:
    """The host of the process, which is put back after the test."""
    before = host()
    yield before
    use_host(before)


def module_of(op: str) -> Module:
    """`main` with one op."""
    module = new_module()
    function = module.add_function("main", [VECTOR], ["x"])
    block = function.regions[0].block
    set_results(function, [Builder(block).create(op, block.arguments, [VECTOR]).result], ["y"])
    return module


def seen_by(there: Host, start: threading.Barrier) -> dict[str, Any]:
    """What a thread sees that works with a host: dialects, declarations, rules, kernels, the verifier and results."""
    with Context(there).bind():
        start.wait()
        module = module_of("common.op")
        seen: list[Any] = []
        for _ in range(50):
            assert host() is there
            copy = module.clone()
            apply_conversion(there.conversions["shared"], copy)
            verify(copy)
            x = np.array([1, 2], np.float32)
            seen = [op.name for op in copy.body_of_main]
            out = transload.run(copy, {"x": x}, engine="reference")["y"]
            declared = [name for name in ("left", "right") if registry.lookup(f"{name}.op") is not None]
        return {"ops": seen, "out": out.tolist(), "declared": declared, "dialects": registry.dialect_names()}


def test_two_hosts_in_two_threads_see_each_their_own(two_hosts: tuple[Host, Host]) -> None:
    start = threading.Barrier(2)
    with ThreadPoolExecutor(2) as pool:
        one, two = (pool.submit(seen_by, there, start) for there in two_hosts)
    assert one.result()["ops"] == ["left.op", "func.return"]
    assert two.result()["ops"] == ["right.op", "func.return"]
    assert one.result()["out"] == [2.0, 4.0]
    assert two.result()["out"] == [3.0, 6.0]
    assert one.result()["declared"] == ["left"]
    assert two.result()["declared"] == ["right"]
    assert "right" not in one.result()["dialects"] and "left" in one.result()["dialects"]


def test_threads_start_in_the_context_of_the_process(two_hosts: tuple[Host, Host]) -> None:
    before = host()
    with ThreadPoolExecutor(1) as pool, Context(two_hosts[0]).bind():
        assert pool.submit(host).result() is before
        assert pool.submit(copy_context().run, host).result() is two_hosts[0]
    assert host() is before


def test_a_bound_context_ends_with_its_block(two_hosts: tuple[Host, Host]) -> None:
    before = current()
    with Context(two_hosts[0]).bind():
        assert registry.lookup("left.op") is not None
        with Context(two_hosts[1]).bind():
            assert registry.lookup("left.op") is None
        with pytest.raises(KeyError), Context(two_hosts[1]).bind():
            raise KeyError
        assert registry.lookup("left.op") is not None
    assert current() is before
    assert registry.lookup("left.op") is None


def test_a_copy_of_a_context_outlives_its_block(two_hosts: tuple[Host, Host]) -> None:
    with Context(two_hosts[0]).bind():
        kept = copy_context()
    assert registry.lookup("left.op") is None
    assert kept.run(registry.lookup, "left.op") is not None


def test_use_host_leaves_nothing_of_the_old_host(two_hosts: tuple[Host, Host], process_host: Host) -> None:
    use_host(two_hosts[0])
    assert registry.lookup("left.op") is not None and registry.lookup("top.Relu") is not None
    value = module_of("left.op").body_of_main.first
    assert value is not None and value.declaration is not None
    use_host(two_hosts[1])
    assert host() is two_hosts[1]
    assert registry.lookup("left.op") is None and registry.dialect("left") is None
    assert "left" not in registry.dialect_names()
    assert value.declaration is None
    assert registry.lookup("right.op") is not None
    assert current().fold.__self__.host is two_hosts[1]  # type: ignore[attr-defined]


def test_use_host_leaves_bound_contexts_and_begun_runs_alone(two_hosts: tuple[Host, Host], process_host: Host) -> None:
    use_host(two_hosts[0])
    with pinned():
        use_host(two_hosts[1])
        assert host() is two_hosts[0] and registry.lookup("left.op") is not None
    assert host() is two_hosts[1]


def test_dialects_of_the_program_outlast_the_host(two_hosts: tuple[Host, Host], process_host: Host) -> None:
    registry.declare_dialect("mine", lambda: dialect_of("mine", "op"))
    use_host(two_hosts[0])
    assert registry.lookup("mine.op") is not None
    registry.declare_dialect("mine", lambda: Dialect("mine"))
    assert registry.lookup("mine.op") is None


def test_dialects_declared_in_a_context_stay_there(two_hosts: tuple[Host, Host]) -> None:
    with Context(two_hosts[0]).bind():
        registry.declare_dialect("local", lambda: dialect_of("local", "op"))
        assert registry.lookup("local.op") is not None
    assert registry.lookup("local.op") is None


class Count:
    """What a run of the tests notes down."""

    def __init__(self) -> None:
        self.n = 0


def test_scratch_belongs_to_one_run() -> None:
    with new_run({"k": 1}) as outer:
        outer.scratch(Count).n += 1
        assert current().scratch(Count).n == 1 and current().options == {"k": 1}
        with pinned() as same:
            assert same is outer
        with new_run() as inner:
            assert inner.scratch(Count).n == 0 and not inner.options
        assert current().scratch(Count).n == 1
    with new_run() as later:
        assert later.scratch(Count).n == 0


def test_scratch_outside_of_a_run_is_refused() -> None:
    with pytest.raises(InternalError, match="Count is noted down outside of a run"):
        current().scratch(Count)


FRESH = """
import sys
import numpy as np
from transload.ir import Block
from transload.ir.build import Builder, is_constant
builder = Builder(Block(), fold=True)
print(is_constant(builder.emit("top.Add", builder.constant(np.float32([1, 2])), builder.constant(np.float32([3, 4])))))
"""


def test_a_builder_folds_in_a_fresh_process() -> None:
    done = subprocess.run([sys.executable, "-c", FRESH], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["True"]


def test_a_builder_folds_by_the_kernels_of_its_context(two_hosts: tuple[Host, Host]) -> None:
    for there, op, factor in ((two_hosts[0], "left.op", 2), (two_hosts[1], "right.op", 3)):
        with Context(there).bind():
            module = module_of("common.op")
            held = Builder(module.body_of_main, module.body_of_main.first).constant(np.float32([1, 2]))
            folded = current().fold(Op(op, [held], [VECTOR]))
            assert folded is not None and folded[0].tolist() == [factor, 2 * factor]


LIGHT = """
import sys
import transload
from transload.context import current
from transload.plugin_host import host
print("numpy" in sys.modules)
host().conversions, host().dialects, host().passes
print("numpy" in sys.modules)
"""


def test_asking_for_plugins_imports_no_numpy() -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False"]


def test_one_host_is_made_by_threads_that_ask_at_once() -> None:
    code = """
import threading
from transload.plugin_host import host
barrier, found = threading.Barrier(8), []
def ask():
    barrier.wait()
    there = host()
    found.append((there, there.targets, there.kernel("top.Add")))
threads = [threading.Thread(target=ask) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(len({id(h) for h, _, _ in found}), len({id(t) for _, t, _ in found}), sum(k is None for *_, k in found))
names = [name for info in found[0][0].plugins for name in info.registered.get("targets", ())]
print(len(names) == len(set(names)))
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["1", "1", "0", "True"]


def test_what_is_known_of_one_host_only_is_looked_up_without_asking_for_the_context() -> None:
    code = """
from transload import context
from transload.context import Context, new_run
from transload.ir import registry
from transload.plugin_host import Host
registry.lookup("top.Add")
with new_run():
    assert context._sole is context.current().declarations
with Context(Host(only="tosa")).bind():
    assert context._sole is None
    assert registry.lookup("tfl.add") is None
assert registry.lookup("tfl.add") is not None
"""
    subprocess.run([sys.executable, "-c", code], check=True)


SMALL = (
    "tflite/arm_kws_dnn_s_int8", "tflite/arm_kws_ds_cnn_s_int8", "tflite/arm_kws_basic_lstm_s_int8", "onnx/mnist_8",
    "onnx/derived_mobilenet_v1_0.25_224_int8_qdq", "onnx/yunet_n_320", "stablehlo/derived_ad01_autoencoder_f32",
    "stablehlo/iree_unidirectional_lstm")


def converted(path: Path) -> str:
    return print_module(transload.lower(transload.load(path), "tosa"), constants="resource")


@pytest.mark.models
def test_eight_models_at_once_become_what_they_become_one_by_one(models: Path) -> None:
    suffixes = (".tflite", ".onnx", ".mlir", ".mlirbc", ".bc", ".stablehlo")
    paths = [next(f for f in sorted((models / name).iterdir()) if f.name.endswith(suffixes)) for name in SMALL]
    with ThreadPoolExecutor(len(paths)) as pool:
        together = list(pool.map(converted, paths))
    assert together == [converted(path) for path in paths]
