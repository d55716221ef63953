"""TensorFlow's models, graphs, SavedModels and Keras files, against TensorFlow: our engine, TOSA in Arm's model of it, XLA.

    python benchmarks/tensorflow_models.py ../shared/models [--only NAME] [--json results.json] [--no-accuracy]
    python benchmarks/tensorflow_models.py ../shared/models --tensorflow PYTHON [--record]

For each model, the worst output (cosine and greatest difference against TensorFlow) of the file's own graph in the reference
engine, of TOSA in `tosa_reference_model`, and of StableHLO in XLA; what has no TOSA says why. What TensorFlow computes is
recorded in `tensorflow_models.npz` beside this script; with `--tensorflow`, the Python of an environment that has tensorflow
computes it anew, and `--record` keeps it. Accuracies are those of TOSA in our engine, on the folder's digits and images.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

RECORDED = Path(__file__).with_suffix(".npz")
NEAR = 0.99999
"""The least cosine of floats that is right; integers are the same."""

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """A model: its file, what it is given, which tensors are asked for in place of its outputs, and options of its conversion."""

    file: str
    inputs: Callable[[Path], Arrays]
    outputs: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("../shared/models"))
    parser.add_argument("--only", default="", help="models with this in their name")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--no-accuracy", action="store_true", help="leave the accuracies out")
    parser.add_argument("--tensorflow", metavar="PYTHON", help="the Python of an environment with tensorflow: compute anew")
    parser.add_argument("--record", action="store_true", help="keep what tensorflow computed")
    parser.add_argument("--compute", nargs=2, type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    names = [name for name in CASES if asked.only in name and (asked.folder / CASES[name].file).exists()]
    if asked.compute:
        given, out = asked.compute
        np.savez_compressed(out, **_computed(names, asked.folder, dict(np.load(given))))
        return
    if asked.tensorflow:
        wanted = _by_tensorflow(asked.tensorflow, names, asked.folder, asked.only)
        if asked.record:
            np.savez_compressed(RECORDED, **wanted)
    else:
        wanted = dict(np.load(RECORDED))
    result: dict[str, Any] = {"models": [row for name in names for row in [measure(name, asked.folder, wanted)] if _tell(row)]}
    if not asked.no_accuracy:
        result["accuracy"] = {name: _accuracy(name, asked.folder) for name in ACCURACIES if asked.only in name}
        for name, (right, total) in result["accuracy"].items():
            print(f"{name}: {right} of {total}, as recorded: {ACCURACIES[name].recorded}")
    if asked.json:
        asked.json.write_text(json.dumps(result, indent=1))


def _tell(row: dict[str, Any]) -> bool:
    places = (f"{key} {row[key][0]:.7f} {row[key][1]:.1e}" for key in ("engine", "tosa", "xla") if key in row)
    print(f"{row['model']:24} {'; '.join(places)}{'; ' * ('why' in row)}{row.get('why', '')}", flush=True)
    return True


# --- what models are given


def _noise(name: str, *shape: int, low: float = 0, high: float = 1) -> Callable[[Path], Arrays]:
    return lambda folder: {name: np.random.default_rng(7).uniform(low, high, shape).astype(np.float32)}


def _with_scalars(inputs: Callable[[Path], Arrays], **scalars: float) -> Callable[[Path], Arrays]:
    return lambda folder: {**inputs(folder), **{name: np.float32(value)[()] for name, value in scalars.items()}}


def _faces(folder: Path) -> Arrays:
    """What a detector of faces is given: a photograph, blue first, the least face, thresholds, and the step of its pyramid."""
    from PIL import Image

    image = Image.open(folder / "data" / "coral_images" / "grace_hopper.bmp").convert("RGB").resize((128, 150))
    return {"input": np.asarray(image, np.float32)[..., ::-1].copy(), "min_size": np.float32(40)[()],
            "thresholds": np.array([0.6, 0.7, 0.7], np.float32), "factor": np.float32(0.709)[()]}


_MTCNN = "tf_graphdef/mtcnn_while_loop/mtcnn.pb"
CASES = {
    "arm_simple_mnist": Case("tf_graphdef/arm_simple_mnist/simple_mnist_tf.pb", _noise("Placeholder", 3, 784)),
    "faced_face_corrector": Case("tf_graphdef/faced_face_corrector/face_corrector.pb", _noise("img", 1, 50, 50, 3)),
    "hey_snips_3": Case("tf_graphdef/hey_snips_3/hey_snips_3.pb", _noise("inputs", 180, 40, low=-1)),
    "tf2onnx_fc_layers": Case("tf_graphdef/tf2onnx_fc_layers/frozen.pb", _noise("X", 3, 784)),
    "tf2onnx_lstm": Case(
        "tf_graphdef/tf2onnx_lstm/frozen.pb", _with_scalars(_noise("X", 3, 784), keep_prob=1), options={"random": "drawn"}),
    "mtcnn_while_loop": Case(_MTCNN, _faces),
    "mtcnn_pnet": Case(_MTCNN, _noise("pnet/while/ResizeBilinear", 1, 48, 40, 3, low=-1),
                       ("pnet/while/prob1", "pnet/while/conv4-2/BiasAdd")),
    "mtcnn_rnet": Case(_MTCNN, _noise("rnet/cond/CropAndResize", 5, 24, 24, 3, low=-1),
                       ("rnet/cond/prob1", "rnet/cond/conv5-2/BiasAdd")),
    "mtcnn_onet": Case(_MTCNN, _noise("onet/cond/CropAndResize", 5, 48, 48, 3, low=-1),
                       ("onet/cond/prob1", "onet/cond/conv6-2/BiasAdd", "onet/cond/conv6-3/BiasAdd")),
    "derived_tiny_xception": Case("tf_savedmodel/derived_tiny_xception", _noise("input_1", 2, 64, 64, 1)),
    "dtln_norm_500h": Case("tf_savedmodel/dtln_norm_500h", _noise("input_1", 1, 512, low=-1)),
    "half_plus_two_cpu": Case("tf_savedmodel/half_plus_two_cpu", _noise("x", 4, 1, low=-9, high=9)),
    "mlperf_kws": Case("tf_savedmodel/mlperf_kws", _noise("input_1", 2, 49, 10, 1, low=-60, high=60)),
    "tf2onnx_regression": Case("tf_savedmodel/tf2onnx_regression", _noise("X", 5)),
    "keras_mlperf_resnet8": Case("keras/mlperf_resnet8/pretrainedResnet.h5", _noise("input_1", 2, 32, 32, 3, high=255)),
    "keras_mlperf_ad01": Case("keras/mlperf_ad01/ad01.h5", _noise("input_1", 2, 640, low=-30, high=5)),
    "keras_fer2013": Case("keras/fer2013_mini_xception/fer2013_mini_XCEPTION.102-0.66.hdf5", _noise("input_1", 2, 64, 64, 1)),
    "keras_kdef": Case("keras/tiny_xception_kdef/tiny_XCEPTION_KDEF.hdf5", _noise("input_1", 2, 64, 64, 1)),
    "keras_resnet8_v3": Case(
        "keras/derived_resnet8_cifar10_f32_keras3/model.keras", _noise("input_1", 2, 32, 32, 3, high=255)),
}


# --- our results


def measure(name: str, folder: Path, wanted: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Load, convert and run one model; `why` says where a step fails. Pairs are the least cosine and the greatest difference."""
    import transload
    from transload.errors import TransloadError

    case, row = CASES[name], {"model": name}
    inputs = case.inputs(folder)
    expected = [array for key, array in wanted.items() if key.startswith(f"{name}:")]
    try:
        module = transload.load(
            folder / case.file, inputs={key: np.shape(array) for key, array in inputs.items()}, outputs=case.outputs)
        row["engine"] = _distance(expected, transload.run(module, _for(module, inputs), engine="reference").values())
        tosa = transload.lower(module, "tosa", **case.options)
        row["tosa"] = _distance(expected, _judged(tosa, _for(tosa, inputs)))
        hlo = transload.lower(module, "stablehlo", **case.options)
        row["xla"] = _distance(expected, transload.run(hlo, _for(hlo, inputs), engine="xla").values())
    except TransloadError as error:
        row["why"] = " ".join(str(error).split("→")[0].split())
    return row


def _for(module: Any, inputs: Arrays) -> Arrays:
    """What a module takes: states are as in the first run."""
    given = {**inputs, **{state.input: state.initial.numpy() for state in module.states}}
    return {key: given[key] for key in module.inputs}


def _distance(wanted: list[np.ndarray], got: Any) -> tuple[float, float]:
    """The least cosine and the greatest difference of outputs in order; integers that differ have a cosine of 0."""
    from transload.metrics import cosine

    cos, most = 1.0, 0.0
    for a, b in zip(wanted, got, strict=False):  # states come behind the model's outputs
        x, y = np.asarray(a, np.float64), np.asarray(b, np.float64).reshape(np.shape(a))
        cos = min(cos, float(cosine(x, y)) if a.dtype.kind == "f" else float(np.array_equal(x, y)))
        most = max(most, float(np.abs(x - y).max(initial=0.0)))
    return cos, most


def _judged(tosa: Any, inputs: Arrays) -> Iterator[np.ndarray]:
    """The outputs that Arm's reference model computes."""
    from onnx_vs_runtime import reference_model

    found = reference_model(tosa, inputs)
    if found is None:
        raise SystemExit("tosa_reference_model is not installed, or refuses the file: pip install tosa-tools")
    return iter(found.values())


# --- tensorflow's results


def _by_tensorflow(python: str, names: list[str], folder: Path, only: str) -> dict[str, np.ndarray]:
    with tempfile.TemporaryDirectory() as place:
        given, out = Path(place) / "given.npz", Path(place) / "found.npz"
        np.savez(given, **{f"{name}:{key}": array for name in names for key, array in CASES[name].inputs(folder).items()})
        subprocess.run([python, __file__, str(folder), "--only", only, "--compute", str(given), str(out)], check=True)
        return dict(np.load(out))


def _computed(names: list[str], folder: Path, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What tensorflow computes: outputs as `NAME:OUTPUT`, in order. Runs where it is installed, and nothing of ours need be."""
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1", TF_ENABLE_ONEDNN_OPTS="0")
    found = {}
    for name in names:
        case, path = CASES[name], folder / CASES[name].file
        inputs = {key.removeprefix(f"{name}:"): array for key, array in given.items() if key.startswith(f"{name}:")}
        outputs = _keras(path, inputs) if case.file.startswith("keras") else (
            _saved(path, inputs) if path.is_dir() else _graph(path, inputs, case.outputs))
        found.update({f"{name}:{key}": np.asarray(array) for key, array in outputs.items()})
        print(f"tensorflow: {name}", file=sys.stderr, flush=True)
    return found


def _keras(path: Path, inputs: Arrays) -> Arrays:
    import keras

    model = keras.models.load_model(path, compile=False)
    return {"y": np.asarray(model(next(iter(inputs.values())), training=False))}


def _saved(path: Path, inputs: Arrays) -> Arrays:
    import tensorflow as tf

    with tf.compat.v1.Session(graph=tf.Graph()) as session:
        meta = tf.compat.v1.saved_model.load(session, ["serve"], str(path))
        signature = meta.signature_def["serving_default"]
        outputs = {name: info.name for name, info in sorted(signature.outputs.items())}
        return dict(zip(outputs, session.run(
            list(outputs.values()), {signature.inputs[name].name: array for name, array in inputs.items()}), strict=True))


def _graph(path: Path, inputs: Arrays, outputs: tuple[str, ...]) -> Arrays:
    import tensorflow as tf

    graph_def = tf.compat.v1.GraphDef.FromString(path.read_bytes())
    if outputs:
        _open(graph_def, set(inputs), outputs)
    used = {name.split(":")[0].lstrip("^") for node in graph_def.node for name in node.input}
    idle = ("NoOp", "Const", "Placeholder")
    names = outputs or [node.name for node in graph_def.node if node.name not in used and node.op not in idle]
    with tf.compat.v1.Session(graph=tf.Graph()) as session:
        tf.import_graph_def(graph_def, name="")
        return dict(zip(names, session.run(
            [f"{name}:0" for name in names], {f"{name}:0": array for name, array in inputs.items()}), strict=True))


def _open(graph_def: Any, given: set[str], outputs: tuple[str, ...]) -> None:
    """Leave what computes some outputs from what is given, the ways into branches and frames as identities."""
    nodes, needed, pending = {node.name: node for node in graph_def.node}, set(), list(outputs)
    while pending:
        node = nodes[pending.pop()]
        if node.name not in needed:
            needed.add(node.name)
            sources = [name.split(":")[0] for name in node.input if not name.startswith("^")]
            if node.op in ("Enter", "Switch"):
                node.op, sources = "Identity", sources[:1]
                for key in set(node.attr) - {"T"}:
                    del node.attr[key]
            del node.input[:]
            if node.name in given:
                node.op, element = "Placeholder", node.attr["T"].type or 1
                node.attr.clear()
                node.attr["dtype"].type = element
                continue
            node.input.extend(sources)
            pending += sources
    kept = [node for node in graph_def.node if node.name in needed]
    del graph_def.node[:]
    graph_def.node.extend(kept)


# --- accuracies


@dataclass(frozen=True)
class Accuracy:
    """Samples and labels by the models' folder, the input's name, its shape for some samples, and what is recorded."""

    samples: Callable[[Path], tuple[np.ndarray, np.ndarray]]
    size: int
    recorded: str


def _digits(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    place = folder / "data" / "mnist_t10k"
    images = np.frombuffer(gzip.decompress((place / "images-idx3-ubyte.gz").read_bytes()), np.uint8)[16:]
    labels = np.frombuffer(gzip.decompress((place / "labels-idx1-ubyte.gz").read_bytes()), np.uint8)[8:]
    return (images.reshape(-1, 784).astype(np.float32) / 255)[:960], labels[:960]


def _pictures(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    from caffe_models import CLASSES
    from PIL import Image

    files = sorted((folder / "data" / "cifar10_test_jpg").glob("*.jpg"))
    pixels = np.stack([np.asarray(Image.open(file).convert("RGB"), np.float32) for file in files])
    return pixels, np.array([CLASSES.index(file.name.split("_")[0]) for file in files])


ACCURACIES = {
    "tf2onnx_lstm": Accuracy(_digits, 96, "939 of 960"),
    "tf2onnx_fc_layers": Accuracy(_digits, 96, "912 of 960"),
    "arm_simple_mnist": Accuracy(_digits, 96, "837 of 960"),
    "keras_mlperf_resnet8": Accuracy(_pictures, 50, "751 of 1000"),
    "keras_resnet8_v3": Accuracy(_pictures, 50, "751 of 1000, of its source"),
}


def _accuracy(name: str, folder: Path) -> tuple[int, int]:
    """How many of how many samples the TOSA of a network gets right."""
    import transload

    case, (samples, labels) = CASES[name], ACCURACIES[name].samples(folder)
    key, *others = case.inputs(folder)
    size, right = ACCURACIES[name].size, 0
    settings = {other: case.inputs(folder)[other] for other in others}
    module = transload.load(folder / case.file, inputs={key: (size, *samples.shape[1:]), **dict.fromkeys(others, ())})
    tosa = transload.lower(module, "tosa", **case.options)
    for start in range(0, len(samples), size):
        (scores,) = transload.run(tosa, _for(tosa, {key: samples[start:start + size], **settings})).values()
        right += int((scores.argmax(axis=1) == labels[start:start + size]).sum())
    return right, len(samples)


if __name__ == "__main__":
    main()
