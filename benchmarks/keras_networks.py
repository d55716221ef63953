"""Whole networks of `keras.applications`, with random weights: saved by Keras in both its formats, read, and compared with Keras.

    python benchmarks/keras_networks.py --make FOLDER      # where keras and tensorflow are installed: files, inputs, results
    python benchmarks/keras_networks.py FOLDER [--engine xla] [--to tosa] [--json results.json]

The first makes of each network `NAME.keras`, `NAME.h5` and `NAME.npz`. The second reads both files, brings them to the hub, or
`--to` a dialect behind it, runs them, and prints how near the outputs are and how long reading took. Batch normalizations have
random statistics, and the last layer gives logits: a softmax of nothing learnt would be the same everywhere.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

NETWORKS = {
    "MobileNet": 96, "MobileNetV2": 96, "MobileNetV3Small": 96, "MobileNetV3Large": 96, "ResNet50": 96, "ResNet50V2": 96,
    "DenseNet121": 96, "EfficientNetB0": 96, "EfficientNetV2B0": 96, "InceptionV3": 96, "InceptionResNetV2": 96, "Xception": 96,
    "NASNetMobile": 96, "ConvNeXtTiny": 96, "VGG16": 48}
"""By name in `keras.applications`, with the size of the images."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--make", action="store_true", help="make the files, with Keras")
    parser.add_argument("--only", default="", help="names of networks, separated by commas")
    parser.add_argument("--engine", default="reference")
    parser.add_argument("--to", default="top", help="the dialect that is run")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    asked = parser.parse_args()
    names = [name for name in NETWORKS if not asked.only or name in asked.only.split(",")]
    if asked.make:
        for name in names:
            make(name, asked.folder)
        return
    rows = [row for name in names for row in measure(name, asked.folder, asked.engine, asked.to)]
    if asked.json:
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        asked.json.write_text(json.dumps(rows, indent=2))


def make(name: str, folder: Path) -> None:
    """Save a network with random weights, what it is given, and what Keras makes of it."""
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    import keras

    folder.mkdir(parents=True, exist_ok=True)
    keras.utils.clear_session()
    keras.utils.set_random_seed(1)
    size = NETWORKS[name]
    model = getattr(keras.applications, name)(
        weights=None, input_shape=(size, size, 3), classifier_activation=None, classes=100)
    rng = np.random.default_rng(1)
    for layer in model.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            for variable in layer.weights:
                positive = variable.name in ("gamma", "moving_variance")
                variable.assign(rng.uniform(0.5, 1.5, variable.shape) - (0.0 if positive else 1.0))
    x = rng.uniform(0, 255, (1, size, size, 3)).astype(np.float32)
    np.savez(folder / f"{name}.npz", x=x, y=np.asarray(model(x, training=False)))
    model.save(folder / f"{name}.keras")
    model.save(folder / f"{name}.h5")
    print(name, flush=True)


def measure(name: str, folder: Path, engine: str, to: str) -> list[dict[str, Any]]:
    """A row for each file of a network."""
    import transload
    from transload.contents import constant_bytes

    rows = []
    data = np.load(folder / f"{name}.npz")
    for file in (folder / f"{name}.keras", folder / f"{name}.h5"):
        start = time.perf_counter()
        try:
            module = transload.load(file)
            read = time.perf_counter() - start
            lowered = transload.lower(module, to) if to != "top" else transload.legalize(module)
            (y,) = transload.run(lowered, {next(iter(lowered.inputs)): data["x"]}, engine=engine).values()
        except transload.TransloadError as error:
            print(f"{file.name:26} {error.message[:150]} {'; '.join(map(str, error.findings[:3]))[:200]}", flush=True)
            rows.append({"file": file.name, "error": error.message})
            continue
        a, b = (each.astype(np.float64).ravel() for each in (y, data["y"]))
        row = {"file": file.name, "ops": sum(1 for _ in module.ops()), "weights": constant_bytes(module), "read": round(read, 3),
               "cos": float(a @ b / np.sqrt((a @ a) * (b @ b))), "off": float(np.abs(a - b).max() / np.abs(b).max())}
        print(f"{row['file']:26} {row['ops']:6} ops {row['weights'] / 1e6:7.1f} MB  read {row['read']:6.2f} s  "
              f"cos {row['cos']:.9f}  off {row['off']:.1e}", flush=True)
        rows.append(row)
    return rows


if __name__ == "__main__":
    main()
