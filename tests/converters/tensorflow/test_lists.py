"""TensorArrays and TensorLists: in loops, as one tensor at the hub, and as they are in the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import RunError

from tests.support.tensorflow_graphs import T, const, graph, node, placeholder, read_graph
from tests.support.tensorflow_text import generic

F, I, B = T("float32"), T("int32"), T("bool")


def squares(element_shape: Any) -> Any:
    """`for i < 3: array[i] = x * i`, all of it stacked, and joined."""
    return graph(
        placeholder("x", (2,)), const("zero", np.int32(0)), const("n", np.int32(3)),
        node("ta", "TensorArrayV3", "n", dtype=F, element_shape=element_shape),
        node("handle", "Enter", "ta:0", T=T("resource"), frame_name="f", is_constant=True),
        node("x1", "Enter", "x", T=F, frame_name="f", is_constant=True),
        node("n1", "Enter", "n", T=I, frame_name="f", is_constant=True),
        node("i1", "Enter", "zero", T=I, frame_name="f"), node("flow1", "Enter", "ta:1", T=F, frame_name="f"),
        node("mi", "Merge", "i1", "ni", T=I, N=2), node("mf", "Merge", "flow1", "nf", T=F, N=2),
        node("less", "Less", "mi", "n1", T=I), node("cond", "LoopCond", "less"),
        node("si", "Switch", "mi", "cond", T=I), node("sf", "Switch", "mf", "cond", T=F),
        node("i", "Identity", "si:1", T=I), const("one", np.int32(1), "^i"),
        node("as_float", "Cast", "i", SrcT=I, DstT=F), node("item", "Mul", "x1", "as_float", T=F),
        node("write", "TensorArrayWriteV3", "handle", "i", "item", "sf:1", T=F),
        node("i_next", "AddV2", "i", "one", T=I),
        node("ni", "NextIteration", "i_next", T=I), node("nf", "NextIteration", "write", T=F),
        node("flow", "Exit", "sf:0", T=F), const("all", np.arange(3, dtype=np.int32)),
        node("stacked", "TensorArrayGatherV3", "ta:0", "all", "flow", dtype=F, element_shape=element_shape),
        node("joined", "TensorArrayConcatV3", "ta:0", "flow", dtype=F), node("y", "Neg", "joined", T=F))


@pytest.mark.parametrize("element_shape", [(2,), None], ids=["known", "unknown"])
def test_an_array_that_a_loop_fills(element_shape: Any) -> None:
    module, x = read_graph(squares(element_shape)), np.array([1, 5], np.float32)
    expected = x * np.arange(3, dtype=np.float32)[:, None]
    for form in (module, transload.legalize(module)):
        outputs = transload.run(form, {"x": x})
        np.testing.assert_array_equal(outputs["stacked"], expected)
        np.testing.assert_array_equal(outputs["y"], -expected.reshape(-1))
    loops = [op.name for op in transload.legalize(module).walk() if op.name == "top.While"]
    assert bool(loops) == (element_shape is not None)  # where the elements' shape comes with the first, the loop is written out


def test_elements_of_several_shapes_run_in_the_engine_alone() -> None:
    parts = graph(
        const("n", np.int32(2)), node("ta", "TensorArrayV3", "n", dtype=F, element_shape=None), placeholder("x", (2,)),
        const("zero", np.int32(0)), const("one", np.int32(1)), const("more", np.ones(3, np.float32)),
        node("a", "TensorArrayWriteV3", "ta:0", "zero", "x", "ta:1", T=F),
        node("b", "TensorArrayWriteV3", "ta:0", "one", "more", "a", T=F),
        node("y", "TensorArrayConcatV3", "ta:0", "b", dtype=F))
    module = read_graph(parts)
    np.testing.assert_array_equal(transload.run(module, {"x": np.zeros(2, np.float32)})["y"], [0, 0, 1, 1, 1])
    with pytest.raises(transload.TransloadError, match="several shapes is no tensor"):
        transload.legalize(module)


def test_an_element_that_nobody_wrote() -> None:
    module = read_graph(graph(
        const("n", np.int32(2)), node("ta", "TensorArrayV3", "n", dtype=F, element_shape=None), const("i", np.int32(1)),
        node("y", "TensorArrayReadV3", "ta:0", "i", "ta:1", dtype=F)))
    with pytest.raises(RunError, match="reads element 1, which nobody wrote"):
        transload.run(module, {})


LISTS = """
func.func @main(%x: tensor<3x2xf32>, %n: tensor<i32>) -> (tensor<*xf32>, tensor<*xi32>) {
  %shape = "tf.Const"() {value = dense<[2]> : tensor<1xi32>} : () -> tensor<1xi32>
  %size = "tf.Const"() {value = dense<3> : tensor<i32>} : () -> tensor<i32>
  %zero = "tf.Const"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %in = "tf.TensorListFromTensor"(%x, %shape) : (tensor<3x2xf32>, tensor<1xi32>) -> tensor<*x!tf_type.variant>
  %out = "tf.TensorListReserve"(%shape, %size) {element_dtype = f32} : (tensor<1xi32>, tensor<i32>) -> tensor<*x!tf_type.variant>
  %i, %all = "tf.While"(%zero, %out, %in, %n) {cond = @cond, body = @body, is_stateless = true}
      : (tensor<i32>, tensor<*x!tf_type.variant>, tensor<*x!tf_type.variant>, tensor<i32>)
      -> (tensor<*xi32>, tensor<*x!tf_type.variant>, tensor<*x!tf_type.variant>, tensor<*xi32>)
  %y = "tf.TensorListStack"(%all, %shape) : (tensor<*x!tf_type.variant>, tensor<1xi32>) -> tensor<*xf32>
  %length = "tf.TensorListLength"(%all) : (tensor<*x!tf_type.variant>) -> tensor<*xi32>
  return %y, %length : tensor<*xf32>, tensor<*xi32>
}
func.func private @cond(%i: tensor<*xi32>, %o: tensor<*x!tf_type.variant>, %in: tensor<*x!tf_type.variant>, %n: tensor<*xi32>) -> tensor<*xi1> {
  %y = "tf.Less"(%i, %n) : (tensor<*xi32>, tensor<*xi32>) -> tensor<*xi1>
  return %y : tensor<*xi1>
}
func.func private @body(%i: tensor<*xi32>, %o: tensor<*x!tf_type.variant>, %in: tensor<*x!tf_type.variant>, %n: tensor<*xi32>) -> (tensor<*xi32>, tensor<*x!tf_type.variant>, tensor<*x!tf_type.variant>, tensor<*xi32>) {
  %shape = "tf.Const"() {value = dense<[2]> : tensor<1xi32>} : () -> tensor<1xi32>
  %one = "tf.Const"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  %item = "tf.TensorListGetItem"(%in, %i, %shape) : (tensor<*x!tf_type.variant>, tensor<*xi32>, tensor<1xi32>) -> tensor<*xf32>
  %neg = "tf.Neg"(%item) : (tensor<*xf32>) -> tensor<*xf32>
  %new = "tf.TensorListSetItem"(%o, %i, %neg) : (tensor<*x!tf_type.variant>, tensor<*xi32>, tensor<*xf32>) -> tensor<*x!tf_type.variant>
  %next = "tf.AddV2"(%i, %one) : (tensor<*xi32>, tensor<i32>) -> tensor<*xi32>
  return %next, %new, %in, %n : tensor<*xi32>, tensor<*x!tf_type.variant>, tensor<*x!tf_type.variant>, tensor<*xi32>
}
"""  # noqa: E501


def test_lists_that_a_loop_reads_and_fills() -> None:
    text = LISTS.replace("%i, %all =", "%loop:4 =").replace("(%all", "(%loop#1")
    module = transload.load(text=generic(text), format="mlir")
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    expected = np.concatenate([-x[:2], np.zeros((1, 2), np.float32)])
    for form in (module, transload.legalize(module)):
        y, length = transload.run(form, {"arg0": x, "arg1": np.int32(2)}).values()
        np.testing.assert_array_equal(y, expected)
        assert int(length) == 3


def test_lists_that_shrink_grow_are_split_scattered_and_joined() -> None:
    parts = graph(
        placeholder("x", (4, 2)), const("shape", np.array([2], np.int32)), const("lengths", np.array([2, 2], np.int64)),
        node("list", "TensorListFromTensor", "x", "shape", element_dtype=F, shape_type=I),
        node("popped", "TensorListPopBack", "list", "shape", element_dtype=F), const("five", np.int32(5)),
        node("resized", "TensorListResize", "popped:0", "five"),
        node("longer", "TensorListStack", "resized", "shape", element_dtype=F, num_elements=-1), const("two", np.int32(2)),
        node("cut", "TensorListResize", "popped:0", "two"),
        node("shorter", "TensorListStack", "cut", "shape", element_dtype=F, num_elements=-1),
        const("parted_shape", np.array([-1, 2], np.int32)),
        node("split", "TensorListSplit", "x", "parted_shape", "lengths", element_dtype=F, shape_type=I),
        node("second", "TensorListGetItem", "split", "one", "parted_shape", element_dtype=F), const("one", np.int32(1)),
        node("twice", "TensorListConcatLists", "split", "split", element_dtype=F),
        node("joined", "TensorListConcatV2", "twice", "parted_shape", "none", element_dtype=F, shape_type=I),
        const("none", np.zeros(0, np.int64)), const("places", np.array([3, 1, 0, 2], np.int32)), const("all", np.int32(-1)),
        node("scattered", "TensorListScatterV2", "x", "places", "shape", "all", element_dtype=F, shape_type=I),
        node("moved", "TensorListStack", "scattered", "shape", element_dtype=F, num_elements=-1),
        node("back", "TensorListScatterIntoExistingList", "scattered", "x", "order", element_dtype=F),
        const("order", np.arange(4, dtype=np.int32)),
        node("same", "TensorListStack", "back", "shape", element_dtype=F, num_elements=-1),
        *(node(f"y{i}", "Identity", name, T=F) for i, name in enumerate(
            ("popped:1", "longer", "shorter", "second", "joined", "moved", "same"))))
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    moved = np.empty_like(x)
    moved[[3, 1, 0, 2]] = x
    wanted = [x[3], np.concatenate([x[:3], np.zeros((2, 2))]), x[:2], x[2:], np.concatenate([x, x]), moved, x]
    found = transload.run(transload.legalize(read_graph(parts)), {"x": x})
    for number, expected in enumerate(wanted):
        np.testing.assert_array_equal(found[f"y{number}"], expected)


def test_an_array_grows_where_it_is_written_behind_its_end() -> None:
    parts = graph(
        placeholder("x", (2,)), const("zero", np.int32(0)), const("two", np.int32(2)), const("all", np.arange(3, dtype=np.int32)),
        node("ta", "TensorArrayV3", "zero", dtype=F, element_shape=(2,), dynamic_size=True),
        node("first", "TensorArrayWriteV3", "ta:0", "zero", "x", "ta:1", T=F),
        node("last", "TensorArrayWriteV3", "ta:0", "two", "x", "first", T=F),
        node("y", "TensorArrayGatherV3", "ta:0", "all", "last", dtype=F, element_shape=(2,)))
    x = np.array([3, 4], np.float32)
    found = transload.run(transload.legalize(read_graph(parts)), {"x": x})
    np.testing.assert_array_equal(found["y"], [x, 0 * x, x])


def listed(place: int, **attributes: Any) -> Any:
    """A list of the four rows of `x`, of which the one at a place is made 7."""
    return graph(
        placeholder("x", (4, 3)), const("shape", np.array([3], np.int32)), const("item", np.full(3, 7, np.float32)),
        const("place", np.int32(place)), node("list", "TensorListFromTensor", "x", "shape", element_dtype=F, shape_type=I),
        node("set", "TensorListSetItem", "list", "place", "item", element_dtype=F, **attributes),
        node("y", "TensorListStack", "set", "shape", element_dtype=F, num_elements=-1))


def test_a_list_grows_where_it_says_so_in_the_engine_too() -> None:
    """The engine lowered it with a place that is not known, which is written into a list of the size that is there."""
    module, x = read_graph(listed(6, resize_if_index_out_of_bounds=True)), np.arange(12, dtype=np.float32).reshape(4, 3)
    expected = np.concatenate([x, np.zeros((2, 3), np.float32), np.full((1, 3), 7, np.float32)])
    for form in (module, transload.legalize(module)):
        np.testing.assert_array_equal(transload.run(form, {"x": x}, engine="reference")["y"], expected)
    with pytest.raises(RunError, match="6 is outside"):
        transload.run(read_graph(listed(6)), {"x": x}, engine="reference")


@pytest.mark.parametrize(("place", "attributes"), [(6, {}), (-1, {}), (-1, {"resize_if_index_out_of_bounds": True})])
def test_a_place_outside_of_a_list_that_does_not_grow_is_refused(place: int, attributes: dict[str, bool]) -> None:
    module = read_graph(listed(place, **attributes))
    with pytest.raises(transload.TransloadError, match=f"writes element {place} of a list of 4 elements"):
        transload.legalize(module)
