"""Valid files to start from: the test suite's own models of one operator, ONNX's, programs of StableHLO, and small real models.

They are made once, into a folder, so that a case's number means the same in every process.
"""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

__all__ = ["FORMATS", "seed_files"]

_LARGEST = 400_000
"""Bytes: each case reads the whole file."""
_DONE = "complete"


def seed_files(folder: Path, most: int | None = None, formats: Collection[str] = ()) -> dict[str, list[Path]]:
    """The files by format, of some `formats` or of all, made where they are not there yet; `most` of each format."""
    wanted = {name: make for name, make in FORMATS.items() if not formats or name in formats}
    for name, make in wanted.items():
        place = folder / name
        if (place / _DONE).exists():
            continue
        place.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number, content in enumerate(islice(make(folder), most)):
                (place / f"{number:05}").write_bytes(content)
        (place / _DONE).touch()
    return {name: sorted(file for file in (folder / name).iterdir() if file.name != _DONE) for name in wanted}


def _models(*suffixes: str) -> Iterator[bytes]:
    """Small files below the folder of TRANSLOAD_MODELS."""
    folder = os.environ.get("TRANSLOAD_MODELS")
    for path in sorted(Path(folder).rglob("*")) if folder else []:
        if path.suffix in suffixes and path.stat().st_size <= _LARGEST:
            yield path.read_bytes()


def _tflite(folder: Path) -> Iterator[bytes]:
    from tests.support.tflite_ops.build import build
    from tests.support.tflite_ops.measure import all_cases

    for case in all_cases():
        with suppress(Exception):  # a case whose results are only known when it runs
            content = build(case).content
            if len(content) <= _LARGEST:
                yield content
    yield from _models(".tflite")


def _onnx(folder: Path) -> Iterator[bytes]:
    from onnx.backend.test.loader import load_model_tests

    from tests.converters.onnx.test_fuzz import samples
    from tests.converters.onnx.test_operators import CASES
    from tests.support.onnx_models import make_model

    for model in samples():
        yield model.SerializeToString()
    for _, node, inputs, constants, opset in CASES:
        nodes = node if isinstance(node, list) else [node]
        yield make_model(nodes, inputs, nodes[-1].output, constants, opset).SerializeToString()
    for test in load_model_tests(kind="node"):
        for content in (test.model.SerializeToString(), _with_constants(test)):
            if content and len(content) <= _LARGEST:
                yield content
    yield from _models(".onnx")


def _with_constants(test: object) -> bytes:
    """The model of a test with its data, but for the first input's, as constants."""
    import onnx
    from onnx import numpy_helper

    model = onnx.ModelProto()
    model.CopyFrom(test.model)  # type: ignore[attr-defined]
    data = test.data_sets[0][0] if test.data_sets else []  # type: ignore[attr-defined]
    given = list(model.graph.input)
    if len(given) < 2 or len(data) < len(given):
        return b""
    for place, (value, array) in enumerate(zip(given, data, strict=False)):
        if place and hasattr(array, "dtype") and array.dtype.kind in "fiub":
            model.graph.initializer.append(numpy_helper.from_array(array, value.name))
            model.graph.input.remove(value)
    content: bytes = model.SerializeToString()
    return content


def _modules(folder: Path, to: str, count: int) -> Iterator[object]:
    """Modules in a dialect that models of one operator become."""
    from transload.api import load, lower
    from transload.errors import TransloadError

    for format in ("tflite", "onnx"):
        files = sorted((folder / format).iterdir())
        random.Random(format).shuffle(files)
        made = 0
        for file in files:
            with suppress(TransloadError):
                yield lower(load(text=file.read_bytes(), format=format), to)
                made += 1
            if made >= count:
                break


def _text(folder: Path) -> Iterator[bytes]:
    from transload.text import print_module

    from tests.converters.stablehlo.programs import PROGRAMS

    for to, count in (("top", 250), ("tosa", 120), ("stablehlo", 120)):
        for module in _modules(folder, to, count):
            content = print_module(module).encode()  # type: ignore[arg-type]
            if len(content) <= _LARGEST // 4:
                yield content
    for text in PROGRAMS.values():
        yield text.encode()


def _bytecode(folder: Path) -> Iterator[bytes]:
    from tests.converters.stablehlo.programs import PROGRAMS

    try:
        from tests.converters.stablehlo.jaxlib_oracle import forms
    except ImportError:
        return
    for text in PROGRAMS.values():
        for _, content in forms(text, ("1.0.0", None), range(0, 7, 3)):
            yield content
    yield from _models(".mlirbc")


def _tosa(folder: Path) -> Iterator[bytes]:
    from tempfile import TemporaryDirectory

    from transload.api import save
    from transload.errors import TransloadError

    with TemporaryDirectory() as place:
        for module in _modules(folder, "tosa", 250):
            with suppress(TransloadError):
                yield save(module, Path(place) / "seed.tosa").read_bytes()  # type: ignore[arg-type]


def _keras(folder: Path) -> Iterator[bytes]:
    """Recorded layers, one after the other of each class, and small models."""
    import gzip
    import json

    from tests.support.keras_layers.models import archive
    from tests.support.keras_layers.recorded import RECORDED

    if find_spec("h5py") is None:
        return
    cases = json.loads(gzip.decompress(RECORDED.read_bytes()))
    random.Random("keras").shuffle(cases)
    for case in cases:
        yield archive(case["config"], case["variables"])
    yield from _models(".keras", ".h5", ".hdf5")


def _caffe(folder: Path) -> Iterator[bytes]:
    from tests.support.caffe_layers.cases import all_cases
    from tests.support.caffe_layers.harness import content_of

    for case in all_cases()[::3]:
        yield content_of(case)
    yield from _models(".prototxt")


def _pytorch(folder: Path) -> Iterator[bytes]:
    """The networks that are kept."""
    for file in sorted((Path(__file__).parents[1] / "converters" / "pytorch" / "kept").glob("*.pt2")):
        yield file.read_bytes()


def _tensorflow(folder: Path) -> Iterator[bytes]:
    """Graphs of one op, random control flow of TensorFlow 1, loops and lists of tensors, and small real graphs."""
    from tests.converters.tensorflow.test_executor import cond, loop, nested_loops
    from tests.converters.tensorflow.test_lists import squares
    from tests.converters.tensorflow.test_savedmodel import second_kind
    from tests.support.tensorflow_flows import random_graph
    from tests.support.tensorflow_graphs import graph
    from tests.support.tf_ops.all_cases import all_cases

    for made in (cond(), graph(*loop()), nested_loops(), squares(None), second_kind().graph_def, *map(random_graph, range(15))):
        yield made.SerializeToString()
    cases = all_cases()
    random.Random("tensorflow").shuffle(cases)
    for case in cases:
        if len(case.graph) <= _LARGEST:
            yield case.graph
    for content in _models(".pb"):
        if content[:1] == b"\x0a":  # a graph, and no SavedModel
            yield content


def _savedmodel(folder: Path) -> Iterator[bytes]:
    """SavedModels of both kinds, and small real ones, as archives."""
    from tempfile import TemporaryDirectory

    from tests.converters.tensorflow.test_savedmodel import TENSORS, first_kind, second_kind, write_model
    from tests.fuzz.archives import packed

    def folder_of(model: Path) -> bytes:
        files = [file for file in sorted(model.rglob("*")) if file.is_file()]
        return packed({file.relative_to(model).as_posix(): file.read_bytes() for file in files})

    with TemporaryDirectory() as place:
        for number, meta in enumerate((first_kind(), second_kind())):
            yield folder_of(write_model(Path(place) / f"{number}", meta, tensors=TENSORS))
    models = os.environ.get("TRANSLOAD_MODELS")
    for file in sorted(Path(models).rglob("saved_model.pb")) if models else []:
        content = folder_of(file.parent)
        if len(content) <= 3 * _LARGEST:
            yield content


FORMATS: dict[str, Callable[[Path], Iterator[bytes]]] = {
    "tflite": _tflite, "onnx": _onnx, "mlir": _text, "bytecode": _bytecode, "tosa": _tosa, "keras": _keras,
    "caffe": _caffe, "pytorch": _pytorch, "tensorflow": _tensorflow, "savedmodel": _savedmodel}
"""What makes the files of a format; those further down may use those of formats before them."""
