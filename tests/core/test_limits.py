"""Types and names beyond what can be computed are refused when a file is read, whatever its format."""

from __future__ import annotations

import time

import pytest
from onnx import TensorProto, helper

import transload
from transload.budget import allowed
from transload.errors import ReadError
from transload.ir import (
    F32,
    I8,
    DialectType,
    FileLocation,
    FusedLocation,
    NamedLocation,
    Op,
    OpaqueAttr,
    QuantType,
    TensorType,
    new_module,
)
from transload.limits import MAX_ELEMENTS, MAX_RANK, beyond, forget_places, text_length

from tests.support.onnx_models import node
from tests.support.tflite_models import write_operator


@pytest.mark.parametrize(("type_", "why"), [
    (TensorType((0, 1 << 62), F32), "limit"),
    (TensorType((1 << 40,), F32), "limit"),
    (TensorType((1 << 20, 1 << 20), F32), "limit"),
    (TensorType((None, 1 << 40), F32), "limit"),
    (TensorType((1,) * (MAX_RANK + 1), F32), "65 dimensions"),
    (TensorType((1,), QuantType(I8, F32, (float("nan"),), (0,))), "not finite"),
    (TensorType((1,), QuantType(I8, F32, (float("inf"),), (0,))), "not finite"),
    (TensorType((1,), QuantType(I8, F32, (0.5,), (0,), storage_max=-8192)), "stores numbers from -128 to -8192"),
    (TensorType((1,), QuantType(I8, F32, (0.5,), (0,), storage_min=4, storage_max=3)), "stores numbers from 4 to 3"),
    (TensorType((1,), QuantType(I8, F32, (0.5,), (0,), storage_max=128)), "i8 has -128 to 127"),
])
def test_types_beyond_the_limits(type_: TensorType, why: str) -> None:
    assert why in beyond(type_)


def test_types_within_the_limits() -> None:
    for type_ in (TensorType((MAX_ELEMENTS,), F32), TensorType(None, F32), TensorType((None, 3), F32), TensorType((0, 5), F32)):
        assert beyond(type_) == ""


def test_every_reader_refuses_them() -> None:
    graph = helper.make_graph(
        [node("Identity", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1 << 30, 1 << 30])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()
    text = """"builtin.module"() ({
      "func.func"() ({
      ^bb0(%x: tensor<0x4611686018427387904xf32>):
        "func.return"(%x) : (tensor<0x4611686018427387904xf32>) -> ()
      }) {function_type = (tensor<0x4611686018427387904xf32>) -> tensor<0x4611686018427387904xf32>, sym_name = "main"} : () -> ()
    }) : () -> ()"""
    lite = write_operator("ABS", [((2**31 - 1, 2**31 - 1), "float32", None, None)], [((1,), "float32", None, None)])
    for content, format in ((model, "onnx"), (text, "mlir"), (lite, "tflite")):
        with pytest.raises(ReadError, match=r"limit"):
            transload.load(text=content, format=format)


def test_names_that_are_long_together_are_refused() -> None:
    """A file holds a location once, that many ops refer to: a megabyte became as many copies as it has ops."""
    chain = "".join(f'%{i + 1} = "stablehlo.negate"(%{i}) : (tensor<f32>) -> tensor<f32> loc(#n)\n' for i in range(100))
    text = f"""#n = loc("{'n' * 1000}")
    module {{ func.func public @main(%arg0: tensor<f32>) -> tensor<f32> {{
    {chain.replace("%0)", "%arg0)")} return %100 : tensor<f32> }} }}"""
    with allowed(text=1000), pytest.raises(ReadError, match="characters together, and") as caught:
        transload.load(text=text, format="mlir")
    assert "TRANSLOAD_BUDGET=text=" in caught.value.hint
    with allowed(text=150_000):
        transload.load(text=text, format="mlir")


def test_scales_are_counted_where_values_share_their_type() -> None:
    scales = QuantType(I8, F32, (0.5,) * 100, (0,) * 100, axis=0)
    op = Op("a.b", (), [TensorType((100,), scales), TensorType((100,), scales)], {"c": [1, 2, {"d": "ef"}]}, (), "name")
    assert text_length(op) == 200 + 4 + 3 + 1 + 2


def test_opaque_attributes_and_places_are_counted() -> None:
    opaque = Op("a.b", (), [DialectType("t.t<abcdef>")], {"c": OpaqueAttr("#d<123>")}, (), FileLocation("model.py", 1, 2))
    assert text_length(opaque) == len("t.t<abcdef>") + len("#d<123>") + len("model.py")


def test_places_in_a_program_are_left_out_where_they_are_what_is_too_long() -> None:
    """JAX gives each op a stack of calls: a program of 40,000 ops had more of that than all names may have, and was refused."""
    stack = "callsite(" * 20 + f'"{"f" * 50}.py":1:2' + ' at "g.py":3:4)' * 20
    chain = "".join(
        f'%{i + 1} = "stablehlo.negate"(%{i}) : (tensor<f32>) -> tensor<f32> loc("op{i}"(#n))\n' for i in range(100))
    text = f"""#n = loc({stack})
    module {{ func.func public @main(%arg0: tensor<f32> loc("x"(#n))) -> tensor<f32> {{
    {chain.replace("%0)", "%arg0)")} return %100 : tensor<f32> loc(#n) }} }}"""
    whole = transload.load(text=text, format="mlir")
    with allowed(text=2_000):
        found = transload.load(text=text, format="mlir")
    assert text_length(whole) > 4 * len(text) > 20 * text_length(found)
    assert [op.origin for op in found.walk()] == [op.origin for op in whole.walk()]
    assert list(found.inputs) == ["x"]
    assert "left out" in found.notes[-1]
    assert not whole.notes


def test_names_that_parts_of_one_op_share_are_gone_through_once() -> None:
    """Each slice that a split of 5,000 results becomes refers to all their names: counting them took a minute."""
    split = FusedLocation(tuple(NamedLocation(f"n{i:04}", FileLocation("m.py", 1, 1)) for i in range(2000)))
    module = new_module()
    for number in range(2000):
        module.regions[0].block.append(Op("a.part", (), [F32], location=FusedLocation((split,), f"{number}")))
    start = time.process_time()
    spelt = text_length(module)
    assert forget_places(module)
    assert time.process_time() - start < 1.0
    assert spelt - text_length(module) == 2000 * 2000 * 4
    parts = [op for op in module.walk() if op.name == "a.part"]
    assert parts[0].location.locations[0] is parts[-1].location.locations[0]
    assert parts[0].origin == "n0000"
    assert not forget_places(module)
