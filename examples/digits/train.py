"""Train the digits network and write all files of this folder; see README.md.

The run is deterministic: the data come with scikit-learn, every random number comes from a fixed seed, and
the training computes in float64, so that the different rounding of other machines and BLAS libraries hardly
ever shows in the float32 files.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from export_onnx import onnx_model
from export_tflite import float_model, int8_model
from measure import LARGEST_PIXEL, classify
from network import Arrays, forward, gradients, initial_parameters
from quantization import quantize_network

FOLDER = Path(__file__).parent
SEED = 2024
TEST_IMAGES = 360
EPOCHS = 40
BATCH = 32
LEARNING_RATE = 3e-3


def main() -> None:
    """Train, export and measure; write the files beside this module and print a table of the results."""
    train_images, train_labels, test_images, test_labels = load_and_split()
    pixels = to_pixels(train_images)
    parameters = train(pixels, train_labels)

    files = {
        "digits_float.onnx": onnx_model(parameters),
        "digits_float.tflite": float_model(parameters),
        "digits_int8.tflite": int8_model(*quantize_network(parameters, pixels)),
    }
    np.savez_compressed(FOLDER / "test_images.npz", images=test_images, labels=test_labels)
    results = {}
    for name, content in files.items():
        path = FOLDER / name
        path.write_bytes(content)
        correct = int(np.sum(classify(path, test_images) == test_labels))
        results[name] = {
            "runtime": "onnxruntime, CPU" if path.suffix == ".onnx" else "LiteRT, BUILTIN_REF",
            "correct": correct,
            "accuracy": round(correct / TEST_IMAGES, 4),
            "bytes": len(content),
        }
        print(f"| `{name}` | {correct} of {TEST_IMAGES} | {correct / TEST_IMAGES:.4f} | {len(content):,} |")
    report = {"test_images": TEST_IMAGES, "files": results}
    (FOLDER / "accuracy.json").write_text(json.dumps(report, indent=2) + "\n")


def load_and_split() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the training images and labels, then the held-out ones.

    Images are uint8 counts 0 to 16, [N, 8, 8]; labels are uint8, [N].
    """
    digits = load_digits()
    order = np.random.default_rng(SEED).permutation(len(digits.target))
    images = digits.images[order].astype(np.uint8)
    labels = digits.target[order].astype(np.uint8)
    return images[TEST_IMAGES:], labels[TEST_IMAGES:], images[:TEST_IMAGES], labels[:TEST_IMAGES]


def to_pixels(images: np.ndarray) -> np.ndarray:
    """Turn counts 0 to 16, [N, 8, 8], into the network's pixels 0 to 1, [N, 8, 8, 1]."""
    return images[:, :, :, None] / LARGEST_PIXEL


def train(images: np.ndarray, labels: np.ndarray) -> Arrays:
    """Return trained parameters, rounded to float32 so that all files hold the same network.

    The optimizer is Adam (Kingma and Ba, 2015) with its usual constants and a learning rate that falls along
    half a cosine.

    Args:
        images: pixels 0 to 1, [N, 8, 8, 1].
        labels: integers [N].
    """
    random = np.random.default_rng(SEED)
    parameters = initial_parameters(random)
    means = {name: np.zeros_like(values) for name, values in parameters.items()}
    squares = {name: np.zeros_like(values) for name, values in parameters.items()}
    steps_per_epoch = len(images) // BATCH
    steps = EPOCHS * steps_per_epoch
    for step in range(steps):
        if step % steps_per_epoch == 0:
            order = random.permutation(len(images))
        start = step % steps_per_epoch * BATCH
        chosen = order[start : start + BATCH]
        gradient = gradients(parameters, forward(parameters, images[chosen]), labels[chosen])

        rate = LEARNING_RATE * 0.5 * (1.0 + np.cos(np.pi * step / steps))
        for name, slope in gradient.items():
            means[name] = 0.9 * means[name] + 0.1 * slope
            squares[name] = 0.999 * squares[name] + 0.001 * slope**2
            # Both averages start from zero; dividing undoes that.
            mean = means[name] / (1.0 - 0.9 ** (step + 1))
            square = squares[name] / (1.0 - 0.999 ** (step + 1))
            parameters[name] -= rate * mean / (np.sqrt(square) + 1e-8)
    return {name: values.astype(np.float32).astype(np.float64) for name, values in parameters.items()}


if __name__ == "__main__":
    main()
