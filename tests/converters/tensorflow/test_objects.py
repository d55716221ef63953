"""SavedModels whose saver restores copies of the variables, as of Keras 3: what a variable has is for the objects to say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError, ReadError
from transload_converters.tensorflow import messages_pb2 as messages
from transload_converters.tensorflow.nodes import Problems
from transload_converters.tensorflow.objects import OBJECTS, keys_of

from tests.converters.tensorflow.test_savedmodel import W, second_kind, variable_of, write_model
from tests.support.tensorflow_graphs import node

KEY = "layers/kernel/.ATTRIBUTES/VARIABLE_VALUE"
TENSORS = {"tensor/w": W + 1, "tensor/v": W + 2, KEY: W}


def model_of_copies() -> tuple[Any, Any]:
    """A meta graph, and the objects of its checkpoint, which are numbered otherwise; the objects of either hold each other."""
    meta = second_kind()
    nodes = {each.name: each for each in meta.graph_def.node}
    copy = meta.graph_def.node.add()
    copy.CopyFrom(nodes["w"])
    copy.name = nodes["saver"].input[1] = "copy"
    for held in ({"layers": 1}, {"kernel": 2, "model": 0, "not saved": 9}, {}):
        meta.object_graph_def.nodes.add(children=[{"local_name": name, "node_id": number} for name, number in held.items()])
    meta.object_graph_def.concrete_functions["call"].bound_inputs.append(2)
    saved = messages.TrackableObjectGraph()
    saved.nodes.add().children.add(local_name="layers", node_id=2)
    saved.nodes.add().attributes.add(name="VARIABLE_VALUE", checkpoint_key=KEY)
    saved.nodes.add(children=[{"local_name": "kernel", "node_id": 1}, {"local_name": "model", "node_id": 0}])
    return meta, saved


def written(folder: Path, meta: Any, saved: Any, tensors: dict[str, Any] | None = None) -> Path:
    """Write a SavedModel; `saved` are the objects of its checkpoint, or what is in their place; None: nothing is."""
    held: dict[str, Any] = dict(TENSORS if tensors is None else tensors)
    if saved is not None:
        held[OBJECTS] = saved if isinstance(saved, bytes) else saved.SerializeToString()
    return write_model(folder, meta, tensors=held)


def test_what_no_saver_reaches_the_objects_say(tmp_path: Path) -> None:
    """Once such variables had no value: 'the checkpoint does not have it'."""
    folder = written(tmp_path / "m", *model_of_copies())
    module = transload.load(folder)
    np.testing.assert_array_equal(variable_of(module), W)
    assert [path.name for path in module.beside] == ["variables.index", "variables.data-00000-of-00001"]
    x = np.ones((1, 2), np.float32)
    np.testing.assert_allclose(transload.run(transload.legalize(module), {"x": x})["y"], x @ W)


def test_what_the_saver_reaches_it_says(tmp_path: Path) -> None:
    meta, saved = model_of_copies()
    meta.graph_def.node[4].input[1] = "w"
    np.testing.assert_array_equal(variable_of(transload.load(written(tmp_path / "m", meta, saved))), W + 1)


@pytest.mark.parametrize("change", ["bound_to_more_than_is_given", "two_objects", "of_another_shape"])
def test_of_what_the_saver_reaches_no_object_is_asked(tmp_path: Path, change: str) -> None:
    """They may be those of the model before a tool changed its graph."""
    meta, saved = model_of_copies()
    meta.graph_def.node[4].input[1] = "w"
    globals()[change](meta, saved)
    np.testing.assert_array_equal(variable_of(transload.load(written(tmp_path / "m", meta, saved))), W + 1)


def test_objects_without_a_saver(tmp_path: Path) -> None:
    meta, saved = model_of_copies()
    meta.ClearField("saver_def")
    np.testing.assert_array_equal(variable_of(transload.load(written(tmp_path / "m", meta, saved))), W)


def without_objects(meta: Any, saved: Any) -> None:
    saved.Clear()


def under_another_name(meta: Any, saved: Any) -> None:
    saved.nodes[2].children[0].local_name = "bias"


def unbound(meta: Any, saved: Any) -> None:
    meta.object_graph_def.concrete_functions["call"].ClearField("bound_inputs")


def with_another_attribute(meta: Any, saved: Any) -> None:
    saved.nodes[1].attributes[0].name = "SERIALIZED"


@pytest.mark.parametrize("change", [without_objects, under_another_name, unbound, with_another_attribute])
def test_variables_of_which_nothing_says_the_tensor(tmp_path: Path, change: Callable[[Any, Any], None]) -> None:
    meta, saved = model_of_copies()
    change(meta, saved)
    with pytest.raises(ConversionError, match="variables cannot be frozen") as caught:
        transload.legalize(transload.load(written(tmp_path / "m", meta, saved)))
    assert "nothing in the model says which tensor of a checkpoint it has" in str(caught.value.findings[0])


def test_a_checkpoint_without_objects(tmp_path: Path) -> None:
    module = transload.load(written(tmp_path / "m", model_of_copies()[0], None))
    with pytest.raises(ConversionError, match="variables cannot be frozen"):
        transload.legalize(module)


def held_out_of_range(meta: Any, saved: Any) -> None:
    meta.object_graph_def.nodes[0].children[0].node_id = 1 << 30


def saved_out_of_range(meta: Any, saved: Any) -> None:
    saved.nodes[0].children[0].node_id = -1


def bound_out_of_range(meta: Any, saved: Any) -> None:
    meta.object_graph_def.concrete_functions["call"].bound_inputs[0] = -5


def bound_to_more_than_is_given(meta: Any, saved: Any) -> None:
    meta.object_graph_def.concrete_functions["call"].bound_inputs[:] = [2] * 9


def of_another_shape(meta: Any, saved: Any) -> None:
    meta.graph_def.node[2].attr["shape"].shape.dim[0].size = 7


def of_another_rank(meta: Any, saved: Any) -> None:
    meta.graph_def.node[2].attr["shape"].shape.dim.add().size = 1


def of_another_element(meta: Any, saved: Any) -> None:
    meta.graph_def.node[2].attr["dtype"].type = 2


def a_text(meta: Any, saved: Any) -> None:
    saved.nodes[1].attributes[0].checkpoint_key = OBJECTS


def two_objects(meta: Any, saved: Any) -> None:
    meta.graph_def.node.append(node("again", "StatefulPartitionedCall", "serving_x", "w"))
    again = meta.graph_def.node[-1]
    for key, value in meta.graph_def.node[3].attr.items():
        again.attr[key].CopyFrom(value)
    again.attr["f"].func.name = "other"
    other = meta.graph_def.library.function.add()
    other.CopyFrom(meta.graph_def.library.function[0])
    other.signature.name = "other"
    meta.object_graph_def.concrete_functions["other"].bound_inputs.append(1)


@pytest.mark.parametrize("change, said", [
    (held_out_of_range, "holds 'layers', which is object 1073741824 of 3, and in the checkpoint object 2 of 3"),
    (saved_out_of_range, "and in the checkpoint object -1 of 3"),
    (bound_out_of_range, "is object -5 of the SavedModel, which has 3"),
    (bound_to_more_than_is_given, "is given 2 values, but its function is bound to 9 objects"),
    (of_another_shape, "has another type than its value in the checkpoint, tensor<2x3xf32>"),
    (of_another_rank, "has another type than its value"), (of_another_element, "has another type than its value"),
    (a_text, "has another type than its value in the checkpoint, texts"),
    (two_objects, "is object 2 to one function, and object 1 to another")])
def test_objects_that_do_not_fit_are_findings(tmp_path: Path, change: Callable[[Any, Any], None], said: str) -> None:
    meta, saved = model_of_copies()
    change(meta, saved)
    with pytest.raises(ReadError, match="the graph is not valid") as caught:
        transload.load(written(tmp_path / "m", meta, saved))
    assert said in "\n".join(map(str, caught.value.findings))


def test_objects_of_a_damaged_checkpoint(tmp_path: Path) -> None:
    meta, saved = model_of_copies()
    with pytest.raises(ReadError, match="is no graph of objects"):
        transload.load(written(tmp_path / "text", meta, b"\xff\xff no message"))
    with pytest.raises(ReadError, match=f"has no tensor '{KEY}'"):
        transload.load(written(tmp_path / "key", meta, saved, {"tensor/w": W, "tensor/v": W}))
    with pytest.raises(ReadError, match="the checkpoint's index cannot be read"):
        transload.load(write_model(tmp_path / "none", meta))


def test_many_objects_that_are_one_in_the_checkpoint_take_no_product_of_both() -> None:
    """Each of the one was looked up among all that the other holds."""
    size = 20_000
    objects, saved = messages.SavedObjectGraph(), messages.TrackableObjectGraph()
    for number in range(size):
        objects.nodes.add().children.add(local_name="x", node_id=(number + 1) % size)
    first = saved.nodes.add()
    first.children.add(local_name="x", node_id=0)
    for number in range(size):
        first.children.add(local_name=str(number), node_id=0)
    first.attributes.add(name="VARIABLE_VALUE", checkpoint_key="key")
    problems = Problems("m")
    assert keys_of({"w": size - 1}, objects, saved.SerializeToString(), "m", problems) == {"w": "key"} and not problems
