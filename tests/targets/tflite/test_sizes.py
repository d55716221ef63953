"""Files of TFLite written again with inputs of other sizes: the tensors in them have those that LiteRT finds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload_converters.tflite.runtime import available
from transload_converters.tflite.writer import ModelWriter

pytestmark = pytest.mark.skipif(available() is not None, reason="LiteRT is not installed")
F = "float32"


def flattened(path: Path) -> Path:
    """Images, planned for a batch of 1, flattened by a shape that is computed of theirs, and multiplied by weights."""
    model = ModelWriter()
    image = model.add_tensor("image", (1, 4, 6, 3), F, shape_signature=(-1, 4, 6, 3))
    pooled = model.add_tensor("pooled", (1, 2, 3, 3), F, shape_signature=(-1, 2, 3, 3))
    shape, batch, to = (model.add_tensor(name, size, "int32") for name, size in (("shape", (4,)), ("batch", ()), ("to", (2,))))
    flat = model.add_tensor("flat", (1, 18), F, shape_signature=(-1, 18))
    y = model.add_tensor("y", (1, 5), F, shape_signature=(-1, 5))
    zero, one = (model.add_tensor(str(number), (1,), "int32", np.array([number], np.int32)) for number in (0, 1))
    rest = model.add_tensor("all", (), "int32", np.array(18, np.int32))
    weights = model.add_tensor("weights", (5, 18), F, np.linspace(-1, 1, 90, dtype=np.float32).reshape(5, 18))
    window = {"padding": "VALID", "stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2}
    model.add_operator("AVERAGE_POOL_2D", [image], [pooled], window)
    model.add_operator("SHAPE", [pooled], [shape], {"out_type": "INT32"})
    model.add_operator("STRIDED_SLICE", [shape, zero, one, one], [batch], {"shrink_axis_mask": 1})
    model.add_operator("PACK", [batch, rest], [to], {"values_count": 2})
    model.add_operator("RESHAPE", [pooled, to], [flat])
    model.add_operator("FULLY_CONNECTED", [flat, weights, None], [y])
    model.inputs, model.outputs = [image], [y]
    path.write_bytes(model.finish())
    return path


def sizes_in(path: Path, batch: int | None = None) -> dict[str, list[int]]:
    """The sizes of the tensors, as the file has them, or as LiteRT finds them for another batch."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(str(path), experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
    if batch is not None:
        for each in interpreter.get_input_details():
            interpreter.resize_tensor_input(each["index"], [batch, *each["shape"][1:]])
        interpreter.allocate_tensors()
        for each in interpreter.get_input_details():
            interpreter.set_tensor(each["index"], np.zeros([batch, *each["shape"][1:]], each["dtype"]))
        interpreter.invoke()
    else:
        assert not any(-1 in each["shape_signature"] for each in interpreter.get_tensor_details())
    return {each["name"]: each["shape"].tolist() for each in interpreter.get_tensor_details() if each["name"]}


def test_every_tensor_has_the_sizes_of_the_batch_that_is_asked_for(tmp_path: Path) -> None:
    path = flattened(tmp_path / "m.tflite")
    made = transload.convert(path, "tflite", tmp_path / "out", inputs={"image": (4, 4, 6, 3)}, verify="require")
    assert made.module.outputs["y"].shape == (4, 5)  # type: ignore[union-attr]
    written, there = sizes_in(made.files[0]), sizes_in(path, 4)
    named = ["image", "pooled", "flat", "y", "batch", "to"]
    assert {name: written[name] for name in named} == {name: there[name] for name in named}


@pytest.mark.parametrize("batch", [1, 3])
def test_sizes_that_the_file_plans_as_1_and_are_not(tmp_path: Path, batch: int) -> None:
    """As TensorFlow's converter makes Keras's UpSampling2D: sizes that are computed as the model runs are planned as 1."""
    model = ModelWriter()
    x = model.add_tensor("x", (1, 5, 3), F, shape_signature=(-1, 5, 3))
    wide = model.add_tensor("wide", (1, 5, 6), F, shape_signature=(-1, 5, 6))
    y = model.add_tensor("y", (1, 1, 3), F, shape_signature=(-1, -1, 3))
    shape, first, to = (model.add_tensor(name, (size,), "int32") for name, size in (("shape", 3), ("first", 1), ("to", 3)))
    times = model.add_tensor("times", (3,), "int32", np.array([1, 1, 2], np.int32))
    zero, one = (model.add_tensor(str(number), (1,), "int32", np.array([number], np.int32)) for number in (0, 1))
    rest = model.add_tensor("rest", (2,), "int32", np.array([10, 3], np.int32))
    model.add_operator("TILE", [x, times], [wide])
    model.add_operator("SHAPE", [wide], [shape], {"out_type": "INT32"})
    model.add_operator("STRIDED_SLICE", [shape, zero, one, one], [first])
    model.add_operator("CONCATENATION", [first, rest], [to], {"axis": 0})
    model.add_operator("RESHAPE", [wide, to], [y])
    model.inputs, model.outputs = [x], [y]
    path = tmp_path / "m.tflite"
    path.write_bytes(model.finish())
    made = transload.convert(path, "tflite", tmp_path / "out", inputs={"x": (batch, 5, 3)}, verify="require")
    assert made.module.outputs["y"].shape == (batch, 10, 3)  # type: ignore[union-attr]
    assert sizes_in(made.files[0])["y"] == [batch, 10, 3]


def test_an_operator_without_a_way_to_the_hub_leaves_its_own_sizes_open(tmp_path: Path) -> None:
    """All others were left open with it."""
    model = ModelWriter()
    x, size = (model.add_tensor(name, (1, 4), F, shape_signature=(-1, 4)) for name in ("x", "size"))
    large = model.add_tensor("large", (1, 4), "bool", shape_signature=(-1, 4))
    places = model.add_tensor("places", (4, 2), "int64", shape_signature=(-1, 2))
    one = model.add_tensor("one", (), F, np.array(1, np.float32))
    model.add_operator("ABS", [x], [size])
    model.add_operator("GREATER", [size, one], [large])
    model.add_operator("WHERE", [large], [places])
    model.inputs, model.outputs = [x], [size, places]
    path = tmp_path / "m.tflite"
    path.write_bytes(model.finish())
    made = transload.convert(path, "tflite", tmp_path / "out", inputs={"x": (3, 4)}, verify="require")
    shapes = {name: type_.shape for name, type_ in made.module.outputs.items()}  # type: ignore[union-attr]
    assert shapes == {"size": (3, 4), "places": (None, None)}


@pytest.mark.models
@pytest.mark.parametrize("model", ["mlperf_resnet8_int8/pretrainedResnet_quant", "mlperf_ad_dynamic_range/model_ToyCar_quant"])
def test_real_models(models: Path, tmp_path: Path, model: str) -> None:
    path = models / f"tflite/{model}.tflite"
    (name, type_), = transload.load(path).inputs.items()
    made = transload.convert(path, "tflite", tmp_path / "out", inputs={name: (3, *type_.shape[1:])}, verify="require")  # type: ignore[union-attr]
    there, written = sizes_in(path, 3), sizes_in(made.files[0])
    computed = {value.name for op in made.module.body_of_main for value in op.results if not op.name.startswith("tfl.pseudo")}
    assert len(computed) > 5 and {name: there[name] for name in computed} == {name: written[name] for name in computed}
