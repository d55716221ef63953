"""Cases of the benchmark of quantizers from any float model: no row to be reached, but what a stranger comes with.

A case is made of a file that any reader of ours takes. Peers get it as ONNX, and as TFLite where it can be said so: the authors'
own file where it is of that kind, else what our writers make of the floats, by which our own result is judged, too. Samples are
photographs, handwritten digits, small pictures, sound and words where inputs look like them, else random numbers
(`model_samples`), one seed to calibrate and another to judge. Agreement counts where the first output scores classes: two to a
few thousand numbers in a row; such a network is judged before its softmax. Inputs that take several samples at a time get that
many fewer.
"""

from __future__ import annotations

from pathlib import Path

import onnx
from model_samples import load, samples_for
from quantizer_cases import BUILT, Case, Sample
from quantizer_models import without_softmax

__all__ = ["file_case"]

CALIBRATION, EVALUATION = 32, 96
OPSET = 13
"""The first version of ONNX with scales by channel."""


def file_case(path: Path, calibration: int = CALIBRATION, evaluation: int = EVALUATION) -> Case:
    """The case of one file, or of the folder of a model that is one. Raises `TransloadError` where it is not taken."""
    import transload
    from transload.errors import TransloadError

    module = load(path)
    hub = transload.lower(module, "top", **({"hybrid": "float"} if module.source_format == "tflite" else {}))
    BUILT.mkdir(parents=True, exist_ok=True)
    files = {ending: BUILT / f"{path.parent.name}_{path.stem}{ending}" for ending in (".onnx", ".tflite")}
    if _is_taken(path):
        files[".onnx"] = path
    else:
        transload.save(transload.lower(hub, "onnx"), files[".onnx"])
    try:
        transload.save(transload.lower(hub, "tfl"), files[".tflite"])
    except TransloadError:
        del files[".tflite"]
    inputs = list(hub.inputs)
    names = {ending: _inputs(file) for ending, file in files.items()}

    def samples(count: int, seed: int) -> dict[str, list[Sample]]:
        made = samples_for(path, hub, count, seed)
        return {ending: [dict(zip(names[ending], (sample[name] for name in inputs), strict=True)) for sample in made]
                for ending in files}

    first = next(iter(hub.outputs.values())).static_shape
    classes = len(first) == 2 and 1 < first[-1] <= 4096
    if classes and len(hub.outputs) == 1:
        files = {ending: without_softmax(file) for ending, file in files.items()}
    many = max(1, next(iter(hub.inputs.values())).static_shape[0]) if hub.inputs else 1
    return Case(files, samples(-(-calibration // many), 1), samples(-(-evaluation // many), 2), classes=classes)


def _is_taken(path: Path) -> bool:
    """Whether a file is ONNX as the peers take it: sizes that are said, in a version that has scales by channel."""
    if path.suffix != ".onnx":
        return False
    model = onnx.load(path)
    sizes = [size for each in _given(model.graph) for size in each.type.tensor_type.shape.dim]
    return all(size.HasField("dim_value") and size.dim_value > 0 for size in sizes) and \
        max(each.version for each in model.opset_import if not each.domain) >= OPSET


def _given(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    """The inputs that no initializer is for."""
    constants = {each.name for each in graph.initializer}
    return [each for each in graph.input if each.name not in constants]


def _inputs(file: Path) -> list[str]:
    """The names of a file's inputs, as its own runtime has them."""
    if file.suffix == ".onnx":
        return [each.name for each in _given(onnx.load(file).graph)]
    from ai_edge_litert.interpreter import Interpreter

    return [detail["name"] for detail in Interpreter(str(file)).get_input_details()]
