"""The reader: types, names, constants, shapes, subgraphs; and files that are wrong."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import transload
from transload.api import legalize
from transload.budget import allowed
from transload.errors import ReadError, TransloadError, UsageError
from transload.input_shapes import sizes_given
from transload.ir import NONE, Module, Packed4Data, QuantType, TensorType, input_names, output_names
from transload.ir.verify import check
from transload.plugin import Source
from transload_converters.tflite.dialect import TFL
from transload_converters.tflite.reader import detect, read
from transload_converters.tflite.writer import ModelWriter, Quantization

F = "float32"


def ops(module: Module, name: str) -> list[Any]:
    return [op for op in module.ops() if op.name == name]


def test_names_types_and_attributes(load: Callable[..., Module], write: Callable[..., bytes]) -> None:
    content = write(
        "CONV_2D",
        [((1, 5, 5, 2), F), ((3, 3, 3, 2), F, np.zeros((3, 3, 3, 2))), None],
        [((1, 5, 5, 3), F)],
        {"padding": "SAME", "stride_h": 1, "stride_w": 2, "fused_activation_function": "RELU6"},
    )
    module = load(content)
    [conv] = ops(module, "tfl.conv_2d")
    assert (conv.padding, conv.stride_h, conv.stride_w, conv.fused_activation_function) == ("SAME", 1, 2, "RELU6")
    assert conv.bias is None and str(conv.operands[2].type) == "none"
    assert conv.filter.name == "in1" and conv.location == "out0"
    assert str(conv.result.type) == "tensor<1x5x5x3xf32>"
    assert input_names(module.main) == ["in0"] and output_names(module.main) == ["out0"]


def test_constants_are_views_of_the_file(tmp_path: Path) -> None:
    model = ModelWriter()
    x, w, y = model.add_tensor("x", (2,), F), model.add_tensor("w", (2,), F, [1.5, 2.5]), model.add_tensor("y", (2,), F)
    model.add_operator("ADD", [x, w], [y])
    model.inputs, model.outputs = [x], [y]
    path = tmp_path / "m.tflite"
    path.write_bytes(model.finish())
    module = read(Source(path))
    [constant] = ops(module, "tfl.pseudo_const")
    array = constant.value.numpy()
    assert array.tolist() == [1.5, 2.5] and not array.flags.owndata and not array.flags.writeable
    assert module.source == path and module.source_format == "tflite"


@pytest.mark.parametrize(
    ("dtype", "text"),
    [
        ("float16", "f16"),
        ("bfloat16", "bf16"),
        ("float64", "f64"),
        ("int8", "i8"),
        ("uint8", "ui8"),
        ("int16", "i16"),
        ("uint16", "ui16"),
        ("int64", "i64"),
        ("uint32", "ui32"),
        ("uint64", "ui64"),
        ("bool", "i1"),
        ("complex64", "complex<f32>"),
        ("string", "!tf_type.string"),
        ("resource", "!tf_type.resource"),
    ],
)
def test_element_types(dtype: str, text: str, load: Callable[..., Module], write: Callable[..., bytes]) -> None:
    module = load(write("ABS", [((2,), dtype)], [((2,), dtype)]))
    assert str(module.main.regions[0].block.arguments[0].type) == f"tensor<2x{text}>"


def test_quantized_types(load: Callable[..., Module], write: Callable[..., bytes]) -> None:
    weights = np.arange(-8, 8).reshape(2, 4, 2) % 7
    content = write(
        "ADD",
        [((2,), "uint8", None, ([0.5], [128])), ((2, 4, 2), "int4", weights.astype(np.int8), Quantization([0.5] * 4, [0], 1))],
        [((2, 4, 2), "int8", None, ([0.25], [-3]))],
    )
    module = load(content)
    assert str(module.main.regions[0].block.arguments[0].type) == "tensor<2x!quant.uniform<u8:f32, 0.5:128>>"
    [constant] = ops(module, "tfl.pseudo_qconst")
    assert isinstance(constant.value.data, Packed4Data) and constant.value.nbytes == 8
    assert constant.value.numpy().dtype == ml_dtypes.int4
    assert np.array_equal(constant.value.numpy().astype(int), weights)
    element = constant.result.element
    assert isinstance(element, QuantType) and (element.axis, len(element.scales), element.zero_points) == (1, 4, (0,) * 4)


def test_a_range_without_scale_is_no_quantization(load: Callable[..., Module], write: Callable[..., bytes]) -> None:
    content = write("ABS", [((2,), "uint8", None, Quantization([], [], 0, [-1.0], [1.0]))], [((2,), "uint8")])
    assert str(load(content).main.regions[0].block.arguments[0].type) == "tensor<2xui8>"


def test_axis_of_a_vector(load: Callable[..., Module], write: Callable[..., bytes]) -> None:
    """Some converters note the filter's dimension for a bias: of a vector only one can be meant."""
    content = write("ABS", [((3,), "int32", [1, 2, 3], Quantization([0.5, 1.0, 2.0], [0, 0, 0], 3))], [((3,), "int32")])
    [constant] = ops(load(content), "tfl.pseudo_qconst")
    assert constant.result.element.axis == 0


def test_repeated_and_empty_names(load: Callable[..., Module]) -> None:
    model = ModelWriter()
    tensors = [model.add_tensor(name, (1,), F) for name in ("", "a", "a", "")]
    for source, target in itertools.pairwise(tensors):
        model.add_operator("ABS", [source], [target])
    model.inputs, model.outputs = tensors[:1], tensors[-1:]
    module = load(model.finish())
    assert input_names(module.main) == ["tensor0"] and output_names(module.main) == ["tensor3"]
    assert [op.location for op in ops(module, "tfl.abs")] == ["a", "a_2", "tensor3"]


def test_a_name_of_many_tensors_is_not_copied_for_each(load: Callable[..., Module]) -> None:
    """A file of 250 KB had gigabytes of names: it holds the name once, and each tensor gets one of its own."""
    model = ModelWriter()
    tensors = [model.add_tensor("n" * 1000, (1,), F) for _ in range(100)]
    for source, target in itertools.pairwise(tensors):
        model.add_operator("ABS", [source], [target])
    model.inputs, model.outputs = tensors[:1], tensors[-1:]
    content = model.finish()
    with allowed(text=1000), pytest.raises(ReadError, match=r"tensor \d+: the names and attributes of its ops have .* together"):
        load(content)
    with allowed(text=200_000):
        assert len(ops(load(content), "tfl.abs")) == 99


def test_constants_behind_the_flatbuffer(load: Callable[..., Module], write: Callable[..., bytes]) -> None:
    """Models over 2 GiB keep their buffers behind the FlatBuffer, by offset and size."""
    schema = pytest.importorskip("ai_edge_litert.schema_py_generated", reason="LiteRT's schema can write such files")
    import flatbuffers

    content = write("ADD", [((2,), F), ((2,), F, [1.5, 2.5])], [((2,), F)])

    def moved(offset: int, size: int) -> bytes:
        model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))
        model.buffers[1].data, model.buffers[1].offset, model.buffers[1].size = None, offset, size
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
        return bytes(builder.Output())

    start = len(moved(1 << 20, 8))
    module = load(moved(start, 8) + np.array([3.5, 4.5], "<f4").tobytes())
    assert ops(module, "tfl.pseudo_const")[0].value.numpy().tolist() == [3.5, 4.5]
    with pytest.raises(ReadError, match="lies outside the file"):
        load(moved(start, 8))


# --- shapes that the user may choose


def dynamic_model() -> bytes:
    model = ModelWriter()
    x = model.add_tensor("x", (1, 4), F, shape_signature=(-1, 4))
    y = model.add_tensor("y", (1, 4), F, shape_signature=(-1, 4))
    z = model.add_tensor("z", (2,), "INT32")
    model.add_operator("ABS", [x], [y])
    model.add_operator("SHAPE", [y], [z], {"out_type": "INT32"})
    model.inputs, model.outputs = [x], [y]
    return model.finish()


def test_dynamic_batch(load: Callable[..., Module]) -> None:
    assert str(load(dynamic_model()).main.regions[0].block.arguments[0].type) == "tensor<1x4xf32>"
    module = load(dynamic_model(), {"x": TensorType((3, 4), NONE)})
    assert str(module.main.regions[0].block.arguments[0].type) == "tensor<3x4xf32>"
    assert str(ops(module, "tfl.abs")[0].result.type) == "tensor<3x4xf32>", "what the file says is stale"
    assert str(ops(legalize(module), "top.Abs")[0].result.type) == "tensor<3x4xf32>"


@pytest.mark.parametrize("batch", [1, 2])
def test_a_planned_1_that_is_no_batch(batch: int, load: Callable[..., Module]) -> None:
    """Converters write a 1 for every size that they did not find, though it follows from those that are fixed."""
    model = ModelWriter()
    x = model.add_tensor("x", (1, 3, 4), F, shape_signature=(-1, 3, 4))
    y, z = (model.add_tensor(name, (1, 4), F, shape_signature=(-1, 4)) for name in "yz")
    to = model.add_tensor("to", (2,), "int32", np.array([-1, 4], np.int32))
    model.add_operator("RESHAPE", [x, to], [y])
    model.add_operator("ABS", [y], [z])
    model.inputs, model.outputs = [x], [z]
    module = load(model.finish(), {"x": TensorType((batch, 3, 4), NONE)})
    assert module.outputs["z"].shape == (3 * batch, 4)  # type: ignore[union-attr]
    assert [ops(module, name)[0].result.shape for name in ("tfl.reshape", "tfl.abs")] == [(3 * batch, 4)] * 2


def test_sizes_behind_what_nobody_can_compute_stay_open(load: Callable[..., Module]) -> None:
    model = ModelWriter()
    x, y = (model.add_tensor(name, (1, 4), F, shape_signature=(-1, 4)) for name in "xy")
    model.add_custom_operator("Foo", [x], [y], b"")
    model.inputs, model.outputs = [x], [y]
    assert load(model.finish()).outputs["y"].shape == (None, 4)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"X": TensorType((3, 4), NONE)}, "has no input 'X'"),
        ({"x": TensorType((3,), NONE)}, "has 2 dimensions"),
        ({"x": TensorType((3, 8), NONE)}, "dimension 1 of input 'x' cannot be 8: the model fixes it to 4"),
        ({"x": TensorType((None, 4), NONE)}, "not static"),
        ({"x": TensorType((3, 4), TensorType((), NONE))}, "elements of type"),
    ],
)
def test_shapes_that_do_not_fit(wanted: Any, message: str, load: Callable[..., Module]) -> None:
    with pytest.raises(UsageError, match=message):
        load(dynamic_model(), wanted)


def test_sizes_planned_as_one_that_are_no_batch_are_asked_for(load: Callable[..., Module]) -> None:
    """A converter plans an open size as 1: a fully convolutional network would be converted for an image of one pixel."""
    def model(planned: int) -> bytes:
        writer = ModelWriter()
        x = writer.add_tensor("image", (1, planned, planned, 3), F, shape_signature=(-1, -1, -1, 3))
        y = writer.add_tensor("y", (1, planned, planned, 3), F, shape_signature=(-1, -1, -1, 3))
        writer.add_operator("RELU", [x], [y])
        writer.inputs, writer.outputs = [x], [y]
        return writer.finish()

    with pytest.raises(ReadError, match="sizes that only the user knows") as caught:
        load(model(1))
    assert "--shape image:1xSIZExSIZEx3, each SIZE" in str(caught.value)  # no number of which nobody knows whether it fits
    given = load(model(1), {"image": TensorType((1, 8, 6, 3), NONE)})
    assert given.body_of_main.arguments[0].shape == (1, 8, 6, 3)
    assert not given.notes
    planned = load(model(16))
    assert planned.body_of_main.arguments[0].shape == (1, 16, 16, 3)
    assert planned.notes == (
        "the first size of 'image', unknown in the file, was taken for the batch and made 1; --batch SIZE makes it another",
        "the file leaves sizes of 'image' open, ?x?x?x3; those that it was planned with were taken, 1x16x16x3: "
        "--shape makes them others")
    assert not load(model(16), {"image": TensorType((1, 16, 16, 3), NONE)}).notes


def test_the_size_of_the_batch_is_that_which_is_given(load: Callable[..., Module]) -> None:
    with sizes_given(batch=3):
        module = load(dynamic_model())
        with pytest.raises(UsageError, match="batch"):
            load(dynamic_model(), {"x": TensorType((2, 4), NONE)})
    assert module.body_of_main.arguments[0].shape == (3, 4) and "made 3" in module.notes[0]
    assert str(ops(legalize(module), "top.Abs")[0].result.type) == "tensor<3x4xf32>"


# --- subgraphs, variables, signatures, custom operators


def test_subgraphs_signatures_and_custom_operators(load: Callable[..., Module]) -> None:
    model = ModelWriter("a description")
    c, x, y = model.add_tensor("c", (), "bool"), model.add_tensor("x", (2,), F), model.add_tensor("y", (2,), F)
    for name in ("side", "side"):
        graph = model.add_subgraph(name)
        a, b = graph.add_tensor("a", (2,), F), graph.add_tensor("b", (2,), F)
        graph.add_custom_operator("Foo", [a], [b], b"\xab\xcd")
        graph.inputs, graph.outputs = [a], [b]
    model.add_operator("IF", [c, x], [y], {"then_subgraph_index": 1, "else_subgraph_index": 2})
    model.add_signature("serving_default", {"condition": c, "value": x}, {"result": y})
    model.inputs, model.outputs = [c, x], [y]
    module = load(model.finish())
    assert list(module.functions) == ["main", "side", "side_2"]
    [branch] = ops(module, "tfl.if")
    assert (branch.then_branch, branch.else_branch) == ("side", "side_2")
    custom = ops(module, "tfl.custom")[0]
    assert (custom.custom_code, str(custom.custom_option)) == ("Foo", '#tfl<const_bytes : "0xABCD">')
    assert module.main.attributes["tfl.signatures"] == [
        {"key": "serving_default", "inputs": {"condition": "c", "value": "x"}, "outputs": {"result": "y"}}
    ]
    assert module.attributes["tfl.description"] == "a description"


def test_variable_starts_with_real_zeros(load: Callable[..., Module], write: Callable[..., bytes]) -> None:
    module = load(write("ABS", [((2,), "int8", None, ([0.5], [7]), "variable")], [((2,), "int8")]))
    [constant] = ops(module, "tfl.pseudo_qconst")
    assert constant.is_variable and constant.value.numpy().tolist() == [7, 7]


def test_a_variable_with_numbers_is_refused(load: Callable[..., Module], write: Callable[..., bytes]) -> None:
    """LiteRT refuses it; it was read as zeros."""
    numbers = np.ones(2, np.float32)
    content = write("ADD", [((2,), "float32"), ((2,), "float32", numbers, None, "variable")], [((2,), "float32")])
    with pytest.raises(ReadError, match="a variable with numbers in the file"):
        load(content)


def test_every_operator_is_declared_and_can_be_read(load: Callable[..., Module], write: Callable[..., bytes]) -> None:
    """Each op reads its options table into attributes that its declaration accepts."""
    from transload_converters.tflite.schema import operators

    for name in operators().values():
        if name in ("CUSTOM", "STABLEHLO_CASE"):
            continue
        declaration = TFL.ops[f"tfl.{name.lower()}"]
        assert declaration.doc
        counts = [
            [slot for slot in slots if not slot.variadic and not slot.optional]
            for slots in (declaration.operands, declaration.results)
        ]
        tensor = ((2,), F)
        try:
            module = load(write(name, [tensor] * len(counts[0]), [tensor] * len(counts[1])))
        except ReadError as error:
            assert "runs subgraph" in str(error), "an operator whose default subgraph takes itself"
            continue
        assert ops(module, declaration.name), name


@pytest.mark.parametrize(("dtype", "numbers"), [("float32", 3), ("int8", 5), ("int4", 5), ("int64", 1)])
def test_what_a_buffer_has_beyond_its_constant_is_not_looked_at(
    dtype: str, numbers: int, load: Callable[..., Module],
) -> None:
    def read_beside(more: bytes) -> np.ndarray:
        model = ModelWriter()
        data = b"\x10\x32\x04" if dtype == "int4" else np.arange(numbers).astype(dtype).tobytes()
        quantization = ([0.5], [0]) if dtype.startswith("int") else None
        model.inputs = [model.add_tensor("x", (numbers,), dtype, quantization=quantization)]
        held = model.add_tensor("c", (numbers,), dtype, data + more, quantization)
        model.outputs = [model.add_tensor("y", (numbers,), dtype, quantization=quantization)]
        model.add_operator("ADD", [model.inputs[0], held], model.outputs)
        (constant,) = (op for op in load(model.finish()).ops() if "value" in op.attributes)
        return np.asarray(constant.attributes["value"].data.numpy())

    np.testing.assert_array_equal(read_beside(b"\x77" * 9), read_beside(b""))


# --- what is wrong with a file


def break_model(change: Callable[[ModelWriter, list[int]], None]) -> bytes:
    model = ModelWriter()
    tensors = [model.add_tensor(name, (2,), F) for name in "xyz"]
    model.inputs, model.outputs = tensors[:1], tensors[1:2]
    change(model, tensors)
    return model.finish()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m, t: m.add_operator("ABS", [t[2]], [t[1]]), "used before anything computes it"),
        (lambda m, t: m.add_operator("ABS", [77], [t[1]]), "tensor 77 does not exist"),
        (lambda m, t: m.add_operator("ABS", [-5], [t[1]]), "tensor -5 does not exist"),
        (lambda m, t: m.add_operator("ABS", [t[0]], [t[0]]), "already has a value"),
        (lambda m, t: m.add_operator("SPLIT", [t[0], t[0]], [t[1], t[1]]), "twice"),
        (lambda m, t: m.add_operator("ABS", [t[0], t[0]], [t[1]]), "has 2 operands, not 1"),
        (lambda m, t: m.add_operator("IF", [t[0]], [t[1]], {"then_subgraph_index": 9}), "runs subgraph 9"),
        (
            lambda m, t: m.add_operator("CONCATENATION", [t[0]], [t[1]], {"fused_activation_function": 55}),
            "is 55, which is none of",
        ),
        (
            lambda m, t: m.add_operator("ADD", [t[0], m.add_tensor("w", (3,), F, b"1234")], [t[1]]),
            "takes 12 bytes; its buffer has 4",
        ),
        (lambda m, t: m.add_operator("ADD", [t[0], m.add_tensor("w", (-3,), F, b"1234")], [t[1]]), "negative dimension"),
        (lambda m, t: m.add_operator("ADD", [t[0], m.add_tensor("w", (1,), "string", ["s"])], [t[1]]), "holds no numbers"),
        (
            lambda m, t: m.add_operator("ADD", [t[0], m.add_tensor("q", (2,), "int8", [1, 2], ([1.0] * 3, [0] * 3))], [t[1]]),
            "does not fit",
        ),
        (
            lambda m, t: m.add_operator("ADD", [t[0], m.add_tensor("q", (2,), "int8", [1, 2], ([np.nan], [0]))], [t[1]]),
            "not a number",
        ),
        (
            lambda m, t: m.add_operator("ADD", [t[0], m.add_tensor("q", (2,), "int8", [1, 2], ([1.0], [300]))], [t[1]]),
            "outside the range",
        ),
        (
            lambda m, t: m.add_operator("TRANSPOSE", [t[0], m.add_tensor("p", (2,), "int32", [0, 0])], [t[1]]),
            "every dimension of the input once: it is .0, 0., for 1 dim",
        ),
        (
            lambda m, t: m.add_operator(
                "REVERSE_SEQUENCE", [t[0], m.add_tensor("l", (1,), "int32", [9])], [t[1]], {"seq_dim": 0}),
            "from 0 to the size of `seq_dim`: they are from 9 to 9",
        ),
        (lambda m, t: m.inputs.append(t[0]), "an input twice"),
        (lambda m, t: m.outputs.append(44), "tensor 44 does not exist"),
    ],
)
def test_broken_models(change: Any, message: str, load: Callable[..., Module]) -> None:
    with pytest.raises(ReadError, match=message) as caught:
        load(break_model(change))
    assert "<test>" in str(caught.value) and caught.value.findings


@pytest.mark.parametrize("content", [b"", b"TFL3", b"\x1c\0\0\0TFL3", b"\xff" * 40, b"\x10\0\0\0TFL3" + b"\xff" * 40])
def test_files_that_are_no_models(content: bytes) -> None:
    with pytest.raises(ReadError):
        read(Source(_data=content, name="x"))


def test_all_unreadable_constants_are_reported(load: Callable[..., Module]) -> None:
    model = ModelWriter()
    x, y = model.add_tensor("x", (1,), F), model.add_tensor("y", (1,), F)
    texts = [model.add_tensor(name, (1,), "string", [name]) for name in ("s", "t")]
    model.add_operator("ADD_N", [x, *texts], [y])
    model.inputs, model.outputs = [x], [y]
    with pytest.raises(ReadError) as caught:
        load(model.finish())
    assert [finding.names for finding in caught.value.findings] == [("s",), ("t",)]


def test_overlapping_vectors_do_not_keep_the_reader_busy() -> None:
    """A small file whose every operator refers to one long list of operands."""
    from transload.flatbuffer import FlatFile

    file = FlatFile(bytes(100), "x")
    with pytest.raises(ReadError, match="lie over each other"):
        for _ in range(1000):
            file.spend(1 << 16)


def test_detect() -> None:
    assert detect(b"\x1c\0\0\0TFL3....") and not detect(b"PK\x03\x04")


# --- real models


@pytest.mark.models
def test_real_models_are_read(models: Path) -> None:
    paths = sorted(models.glob("tflite/*/*.tflite"))
    assert paths
    for path in paths:
        module = read(Source(path))
        assert not check(module), path.parent.name


def mutations(content: bytes, count: int) -> Any:
    """Damaged copies: cut off, with bytes flipped, with words replaced by great numbers; the same in every run."""
    generator = np.random.default_rng(0)
    for number in range(count):
        damaged = bytearray(content)
        kind = number % 4
        if kind == 0:
            yield bytes(damaged[: generator.integers(0, len(damaged))])
            continue
        for _ in range(int(generator.integers(1, 6))):
            place = int(generator.integers(0, len(damaged) - 4))
            if kind == 1:
                damaged[place] ^= 1 << int(generator.integers(0, 8))
            elif kind == 2:
                damaged[place] = int(generator.integers(0, 256))
            else:
                damaged[place : place + 4] = (
                    generator.choice([0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, len(damaged), 0, 1]).item().to_bytes(4, "little")
                )
        yield bytes(damaged)


@pytest.mark.parametrize("which", ["small", "branches", "real"])
def test_damaged_files(
    which: str, request: pytest.FixtureRequest, load: Callable[..., Module], write: Callable[..., bytes]
) -> None:
    """2,000 damaged files: each is refused with an error of ours, or gives a module that verifies.

    Such a module, too, can be legalized, or is refused with an error of ours.
    """
    if which == "real":
        content = (request.getfixturevalue("models") / "tflite/tflm_hello_world_int8/hello_world_int8.tflite").read_bytes()
    elif which == "branches":
        model = ModelWriter()
        c, x, y = model.add_tensor("c", (), "bool"), model.add_tensor("x", (2,), F), model.add_tensor("y", (2,), F)
        graph = model.add_subgraph("side")
        a, b = graph.add_tensor("a", (2,), F), graph.add_tensor("b", (2,), F)
        graph.add_custom_operator("Foo", [a], [b], b"\xab\xcd")
        graph.inputs, graph.outputs = [a], [b]
        model.add_operator("IF", [c, x], [y], {"then_subgraph_index": 1, "else_subgraph_index": 1})
        model.add_signature("serving_default", {"condition": c, "value": x}, {"result": y})
        model.inputs, model.outputs = [c, x], [y]
        content = model.finish()
    else:
        quantized = ([0.5, 0.25, 1.0], [0, 0, 0], 0)
        content = write(
            "CONV_2D",
            [
                ((1, 5, 5, 2), "int8", None, ([0.5], [3])),
                ((3, 3, 3, 2), "int8", np.ones((3, 3, 3, 2), np.int8), quantized),
                ((3,), "int32", [1, 2, 3], quantized),
            ],
            [((1, 5, 5, 3), "int8", None, ([0.5], [3]))],
            {"padding": "SAME", "stride_h": 1, "stride_w": 1},
        )
    refused = 0
    for damaged in mutations(content, 667):
        try:
            module = load(damaged)
        except TransloadError:
            refused += 1
            continue
        assert not check(module)
        with contextlib.suppress(TransloadError):
            legalize(module)
    assert refused > 100


def test_an_input_whose_shape_is_left_out_is_asked_for(tmp_path: Path) -> None:
    """It was read as a scalar, and what LiteRT computes of other sizes was refused, or something else."""
    for shape, told in ((None, False), ((), True)):
        model = ModelWriter()
        x, y = model.add_tensor("x", shape, "float32"), model.add_tensor("y", shape, "float32")
        model.add_operator("ABS", [x], [y])
        model.inputs, model.outputs = [x], [y]
        path = tmp_path / f"{told}.tflite"
        path.write_bytes(model.finish())
        if told:
            assert str(transload.load(path).inputs["x"]) == "tensor<f32>"
            continue
        with pytest.raises(ReadError, match="not even a rank") as raised:
            transload.load(path)
        assert "--shape x:SIZEx..., each SIZE" in raised.value.hint
        for given in ((), (2, 3)):
            module = transload.load(path, inputs={"x": given})
            assert module.inputs["x"].static_shape == given
            numbers = np.full(given, -2, np.float32)
            np.testing.assert_array_equal(transload.run(module, {"x": numbers})["y"], np.abs(numbers))
            assert transload.compare(path, transload.lower(module, "tosa"), {"x": numbers}).tensors[0].metrics["max_abs"] == 0
