"""What a file becomes for LiteRT, which copies what several parts refer to for each of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from transload.budget import allowed
from transload.errors import ReadError, RunError
from transload.flatbuffer import FlatBuilder, FlatFile
from transload.flatbuffer.builder import layout
from transload.plugin import Source
from transload_converters.tflite import runtime
from transload_converters.tflite.expansion import expanded
from transload_converters.tflite.reader import open_model
from transload_converters.tflite.schema import fields, numbers

from tests.support.tflite_models import write_operator


def table(builder: FlatBuilder, kind: str, **values: int) -> int:
    """A table of the schema, of its fields by name: numbers, and places of what was made before."""
    held = [fields(kind)[name] for name in values]
    shape = layout(*((field.number, field.code if field.code and not field.is_vector else "O") for field in held))
    return builder.table(shape, list(values.values()))


def sparse(levels: int, tensors: int, length: int) -> bytes:
    """A model of some tensors that are all one table, whose sparse structure has levels that are all one."""
    builder = FlatBuilder()
    values = table(builder, "Int32Vector", values=builder.ints(range(length)))
    level = table(builder, "DimensionMetadata", array_segments_type=1, array_segments=values, array_indices_type=1,
                  array_indices=values)
    structure = table(builder, "SparsityParameters", dim_metadata=builder.offsets([level] * levels))
    tensor = table(builder, "Tensor", shape=builder.ints([2]), name=builder.string("name"), sparsity=structure)
    graph = table(builder, "SubGraph", tensors=builder.offsets([tensor] * tensors), inputs=builder.ints([0]),
                  outputs=builder.ints([0]))
    model = table(builder, "Model", version=3, subgraphs=builder.offsets([graph]))
    return b"".join(builder.finish(model, b"TFL3"))


def test_each_part_counts_as_often_as_something_refers_to_it() -> None:
    content = sparse(levels=50, tensors=3, length=100)
    assert len(content) < 1500
    list_of_them = 128 + 400
    tensor = 128 + 4 + 4 + (128 + 50 * (128 + 2 * list_of_them))
    assert expanded(FlatFile(content, "m").root()) == 128 + (128 + 3 * tensor + 4 + 4)


def test_counting_takes_a_look_at_each_part() -> None:
    """A hundred million million lists, of a file of two hundred kilobytes."""
    assert expanded(FlatFile(sparse(levels=40_000, tensors=10_000, length=5000), "m").root()) > 1 << 43


def test_what_lies_outside_of_the_file_is_an_error() -> None:
    content = bytearray(sparse(2, 2, 2))
    file = FlatFile(content, "m")
    place = file.root().tables(numbers("Model", "subgraphs")[0])[0].position
    content[place : place + 4] = b"\xff\xff\xff\x7f"
    with pytest.raises(ReadError, match="damaged"):
        expanded(FlatFile(content, "m").root())


def test_litert_is_not_given_what_it_would_copy_without_end(tmp_path: Path) -> None:
    """LiteRT took 12 GB for a file of 400 KB, and ended."""
    pytest.importorskip("ai_edge_litert")
    file = tmp_path / "m.tflite"
    file.write_bytes(sparse(levels=2000, tensors=2, length=1000))
    with allowed(memory=1 << 20), pytest.raises(RunError, match=r"would take 3\d,\d{3},\d{3} bytes for what its parts share"):
        runtime.open_model(file)


def test_what_a_usual_file_has_is_no_more_than_it_is() -> None:
    content = write_operator("ABS", [((2, 3), "float32")], [((2, 3), "float32")])
    _, model = open_model(Source(_data=content, name="m"))
    assert expanded(model) < 4 * len(content)
