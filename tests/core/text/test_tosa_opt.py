"""MLIR itself reads what we print, and prints what we read."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from transload.ir import F32, I8, I32, Dense, FusedLocation, Op, QuantType, TensorType, new_module, set_results
from transload.ir.compare import difference
from transload.text import parse_module, print_module

TOSA_OPT = shutil.which("tosa-opt") or shutil.which("tosa-opt", path=str(Path(sys.executable).parent))
pytestmark = pytest.mark.skipif(TOSA_OPT is None, reason="no tosa-opt: install tosa-tools")


def tosa_opt(text: str) -> str:
    """The text as MLIR prints it."""
    done = subprocess.run(
        [str(TOSA_OPT), "--allow-unregistered-dialect", "--mlir-print-op-generic", "--mlir-print-debuginfo"],
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[:2000]
    return done.stdout


def sample():
    """A function with TOSA ops, constants large and small, names, a quantized value and nested regions."""
    rng = np.random.default_rng(0)
    module = new_module()
    module.attributes["transload.note"] = [1, 2.5, "x", {"k": None}]
    module.location = "model"
    x = TensorType((1, 8, 8, 4), F32)
    main = module.add_function("main", [x, TensorType((), Dense(np.bool_(True)).type.element)], ["input", "flag"], "main")
    body = main.regions[0].block

    def const(array, name):
        dense = Dense(array)
        return body.append(Op("tosa.const", (), [dense.type], {"values": dense}, (), name)).result

    weight = const(rng.standard_normal((6, 3, 3, 4)).astype(np.float32), "conv/weight")
    bias = const(np.arange(6, dtype=np.float32) / 3, "conv/bias")
    zero = const(np.zeros(1, np.float32), "zero")
    conv = body.append(
        Op(
            "tosa.conv2d",
            [body.arguments[0], weight, bias, zero, zero],
            [TensorType((1, 8, 8, 6), F32)],
            {"pad": (1, 1, 1, 1), "stride": (1, 1), "dilation": (1, 1), "acc_type": F32},
            (),
            FusedLocation(("conv",), "part"),
        )
    )
    quantized = TensorType((1, 8, 8, 6), QuantType(I8, F32, tuple(float(v) for v in np.arange(1, 7) / 7), (0, 1, 2, 3, 4, 5), 3))
    body.append(
        Op(
            "test.quantize",
            [conv.result],
            [quantized],
            {"round": 1.5e-7, "table": Dense(np.arange(300, dtype=np.int32))},
            (),
            "q",
        )
    )
    choice = Op("tosa.cond_if", [body.arguments[1]], [x], location="choice")
    for name in ("then", "else"):
        block = choice.add_region().add_block()
        made = block.append(Op("test.make", (), [x], {"which": name}, (), name))
        block.append(Op("tosa.yield", [made.result], location="yield"))
    body.append(choice)
    body.append(
        Op("test.sub_byte", (), (), {"v": Dense(rng.integers(-8, 8, 200).astype(np.int8), TensorType((200,), I8))}, (), "s")
    )
    set_results(main, [conv.result, choice.result], ["y", "z"]).location = "return"
    return module


@pytest.mark.parametrize("constants", ["inline", "resource", "elided"])
def test_mlir_reads_what_we_print_and_gives_it_back(constants):
    module = parse_module(print_module(sample(), constants=constants))
    again = parse_module(tosa_opt(print_module(module, constants=constants)))
    # MLIR names places in its input where an op says none, and sorts attributes; all else must be the same.
    assert difference(module, again) is None


ATTRIBUTES = """"builtin.module"() ({
  "test.x"() {a = 1 : i64, b = true, c = 0x7F800000 : f32, d = "q\\22\\\\\\0A\\E4", e = [1, 2.5, "x"], f = array<i1: true, false>,
    g = array<f32: 1.0, 2.5>, h = array<i64>, i = {k = 1, "odd key" = 2}, j, l = @foo::@"b ar", n = i32,
    m = affine_map<(d0) -> (d0)>,
    o = (i32) -> (i32, f32), p = dense<1> : tensor<2x2xi8>, q = dense<[[1,2],[3,-4]]> : tensor<2x2xi8>, x = -1 : index,
    r = dense<(1.0,2.0)> : tensor<2xcomplex<f32>>, s = dense<[true,false]> : tensor<2xi1>, u = dense<> : tensor<0x3xf32>,
    t = dense<"0x0103050709"> : tensor<5xi4>, v = #tosa.nan_mode<PROPAGATE>, w = 255 : i8, y = 0x7FC00001 : f32,
    z = dense<[0x7FC0, 1.0]> : tensor<2xbf16>, aa = dense<[1.0,2.0]> : tensor<2xf4E2M1FN>, bb = dense<-8388607> : tensor<2xi48>,
    cc = !quant.uniform<u8<1:254>:f32:1, {0.1:2,0.2}>, dd = tensor<2xf32, "x">, ee = tuple<i1, complex<f32>>} : () -> () loc("x")
  %0:2 = "test.y"() ({
  ^bb0(%1: i32 loc("one"), %2: i8 loc("other")):
    "test.z"(%1) : (i32) -> () loc("two"("f":1:2))
  }) : () -> (i1, i8) loc(callsite("a" at fused["b", "c"]))
}) : () -> () loc("m")
"""


def test_attributes_mean_the_same_to_mlir():
    module = parse_module(ATTRIBUTES)
    assert difference(module, parse_module(tosa_opt(ATTRIBUTES))) is None
    assert difference(module, parse_module(tosa_opt(print_module(module)))) is None


def test_wide_integers_in_hexadecimal():
    values = np.arange(-75, 75) * 1_000_000_000_000 // 2
    module = new_module()
    module.location = "m"
    for element, array in ((I32, values.astype(np.int32)), (TensorType((), F32).element, values.astype(np.float32))):
        module.body.append(Op("test.x", (), (), {"v": Dense(array, TensorType((150,), element))}, (), "x"))
    assert difference(module, parse_module(tosa_opt(print_module(module)))) is None
