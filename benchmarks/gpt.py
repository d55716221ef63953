"""A language model in the manner of GPT-2, small enough to be trained here: its training by JAX, and its ONNX file.

    python benchmarks/gpt.py model.onnx [--steps 400]

It reads characters: `ids` i64 [1, T] gives `logits` f32 [1, T, V], of each place what comes behind it. Blocks are as in GPT-2:
layer normalization in front, attention that sees what is before it alone, a GELU between two matrices; positions are learned,
and the last matrix is one of its own. The text is this project's documentation, so that nothing has to be fetched.

Source: A. Radford et al., "Language models are unsupervised multitask learners", 2019.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

DOCS = Path(__file__).resolve().parents[1] / "docs"
FIRST, LAST = 31, 126
"""Characters that are told apart, as numbers of ASCII; every other is the first."""
APART = 10
"""Of so many pieces of the text one is not learned, and judges."""
PIECE = 2048
Weights = dict[str, Any]


@dataclass(frozen=True)
class Size:
    """What a network is like."""

    layers: int = 3
    width: int = 128
    heads: int = 4
    context: int = 64
    vocabulary: int = LAST - FIRST + 1


def text() -> np.ndarray:
    """All pages of the documentation, as numbers from 0."""
    pages = "\n".join(path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md")))
    codes = np.frombuffer(pages.encode("ascii", "replace"), np.uint8).astype(np.int64)
    return np.where((codes > FIRST) & (codes <= LAST), codes - FIRST, 0)


def divided() -> tuple[np.ndarray, np.ndarray]:
    """What is learned, and what judges."""
    whole = text()
    pieces = np.split(whole, range(PIECE, len(whole), PIECE))
    return (np.concatenate([piece for number, piece in enumerate(pieces) if number % APART]),
            np.concatenate(pieces[::APART]))


def windows(numbers: np.ndarray, length: int) -> Iterator[np.ndarray]:
    """Pieces [length + 1], each beginning with the last number of the one before."""
    for start in range(0, len(numbers) - length, length):
        yield numbers[start:start + length + 1]


# --- weights


def shapes(size: Size) -> dict[str, tuple[int, ...]]:
    """Of each weight, by name."""
    found: dict[str, tuple[int, ...]] = {"tokens": (size.vocabulary, size.width), "places": (size.context, size.width)}
    for layer in range(size.layers):
        for name, shape in (
            ("first.scale", (size.width,)), ("first.bias", (size.width,)), ("qkv", (size.width, 3 * size.width)),
            ("out", (size.width, size.width)), ("second.scale", (size.width,)), ("second.bias", (size.width,)),
            ("up", (size.width, 4 * size.width)), ("up.bias", (4 * size.width,)), ("down", (4 * size.width, size.width)),
            ("down.bias", (size.width,)),
        ):
            found[f"{layer}.{name}"] = shape
    return {**found, "last.scale": (size.width,), "last.bias": (size.width,), "head": (size.width, size.vocabulary)}


def begun(size: Size, seed: int = 0) -> dict[str, np.ndarray]:
    """Weights before any training."""
    rng = np.random.default_rng(seed)
    return {
        name: np.ones(shape, np.float32) if name.endswith("scale")
        else np.zeros(shape, np.float32) if name.endswith("bias")
        else (rng.standard_normal(shape) * 0.5 / shape[0] ** 0.5).astype(np.float32)
        for name, shape in shapes(size).items()}


def trained(size: Size, steps: int, batch: int = 16, rate: float = 2e-3, seed: int = 0) -> dict[str, np.ndarray]:
    """Weights that have learned the text by Adam (D. Kingma and J. Ba, 2015), the rate falling to nothing."""
    import jax
    import jax.numpy as jnp

    learned, _ = divided()
    rng = np.random.default_rng(seed)

    def loss(weights: Weights, given: Any, wanted: Any) -> Any:
        scores = jax.vmap(lambda ids: forward(size, weights, ids))(given)
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(scores), wanted[..., None], -1))

    def step(number: Any, weights: Weights, means: Weights, squares: Weights, given: Any, wanted: Any) -> Any:
        slopes = jax.grad(loss)(weights, given, wanted)
        now = rate * (1.0 - number / steps)
        means = {name: 0.9 * means[name] + 0.1 * slope for name, slope in slopes.items()}
        squares = {name: 0.99 * squares[name] + 0.01 * slope ** 2 for name, slope in slopes.items()}
        weights = {
            name: weight - now * (means[name] / (1 - 0.9 ** (number + 1)))
            / (jnp.sqrt(squares[name] / (1 - 0.99 ** (number + 1))) + 1e-8)
            for name, weight in weights.items()}
        return weights, means, squares

    run = jax.jit(step)
    weights: Weights = dict(begun(size, seed))
    means = {name: np.zeros_like(weight) for name, weight in weights.items()}
    squares = dict(means)
    for number in range(steps):
        starts = rng.integers(0, len(learned) - size.context, batch)
        some = np.stack([learned[start:start + size.context + 1] for start in starts]).astype(np.int32)
        weights, means, squares = run(np.float32(number), weights, means, squares, some[:, :-1], some[:, 1:])
    return {name: np.asarray(weight) for name, weight in weights.items()}


def forward(size: Size, weights: Weights, ids: Any) -> Any:
    """The scores [T, V] of numbers [T], as `onnx_model` has them."""
    import jax
    import jax.numpy as jnp

    def normalized(x: Any, name: str) -> Any:
        x = x - x.mean(-1, keepdims=True)
        return x / jnp.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-5) * weights[f"{name}.scale"] + weights[f"{name}.bias"]

    def heads(x: Any) -> Any:
        return x.reshape(len(ids), size.heads, -1).transpose(1, 0, 2)

    x = weights["tokens"][ids] + weights["places"][:len(ids)]
    for layer in range(size.layers):
        q, k, v = map(heads, jnp.split(normalized(x, f"{layer}.first") @ weights[f"{layer}.qkv"], 3, -1))
        scores = q @ k.transpose(0, 2, 1) * (size.width // size.heads) ** -0.5
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[1:], bool)), scores, -1e9)
        x = x + (jax.nn.softmax(scores) @ v).transpose(1, 0, 2).reshape(x.shape) @ weights[f"{layer}.out"]
        inner = normalized(x, f"{layer}.second") @ weights[f"{layer}.up"] + weights[f"{layer}.up.bias"]
        x = x + jax.nn.gelu(inner, approximate=False) @ weights[f"{layer}.down"] + weights[f"{layer}.down.bias"]
    return normalized(x, "last") @ weights["head"]


# --- the file


def onnx_model(size: Size, weights: Mapping[str, np.ndarray]) -> Any:
    """An `onnx.ModelProto` of opset 20, of sequences as long as the context."""
    from onnx import TensorProto, helper, numpy_helper

    length, inner = size.context, size.width // size.heads
    constants = {
        "split": np.array([1, length, 3, size.heads, inner], np.int64), "joined": np.array([1, length, size.width], np.int64),
        "scale": np.array(inner ** -0.5, np.float32), "one": np.array(0, np.int64), "two": np.array(1, np.int64),
        "three": np.array(2, np.int64), "mask": np.triu(np.full((length, length), -1e9, np.float32), 1)}
    nodes: list[Any] = []

    def node(kind: str, *inputs: str, to: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(kind, list(inputs), [to], name=to, **attributes))
        return to

    def normalized(x: str, name: str) -> str:
        return node("LayerNormalization", x, f"{name}.scale", f"{name}.bias", to=name, axis=-1, epsilon=1e-5)

    def attended(x: str, layer: int) -> str:
        at = f"{layer}.attention"
        qkv = node("MatMul", normalized(x, f"{layer}.first"), f"{layer}.qkv", to=f"{at}.qkv")
        parts = node("Transpose", node("Reshape", qkv, "split", to=f"{at}.split"), to=f"{at}.parts", perm=[2, 0, 3, 1, 4])
        q, k, v = (node("Gather", parts, number, to=f"{at}.{name}", axis=0)
                   for name, number in zip("qkv", ("one", "two", "three"), strict=True))
        turned = node("Transpose", k, to=f"{at}.turned", perm=[0, 1, 3, 2])
        scores = node("Mul", node("MatMul", q, turned, to=f"{at}.products"), "scale", to=f"{at}.scores")
        shares = node("Softmax", node("Add", scores, "mask", to=f"{at}.masked"), to=f"{at}.shares", axis=-1)
        mixed = node("Transpose", node("MatMul", shares, v, to=f"{at}.heads"), to=f"{at}.mixed", perm=[0, 2, 1, 3])
        out = node("MatMul", node("Reshape", mixed, "joined", to=f"{at}.joined"), f"{layer}.out", to=f"{at}.out")
        return node("Add", x, out, to=f"{layer}.middle")

    def widened(x: str, layer: int) -> str:
        at = f"{layer}.mlp"
        up = node("MatMul", normalized(x, f"{layer}.second"), f"{layer}.up", to=f"{at}.up")
        gelu = node("Gelu", node("Add", up, f"{layer}.up.bias", to=f"{at}.sums"), to=f"{at}.gelu")
        down = node("MatMul", gelu, f"{layer}.down", to=f"{at}.down")
        return node("Add", x, node("Add", down, f"{layer}.down.bias", to=f"{at}.out"), to=f"{layer}.end")

    x = node("Add", node("Gather", "tokens", "ids", to="embedded", axis=0), "places", to="placed")
    for layer in range(size.layers):
        x = widened(attended(x, layer), layer)
    node("MatMul", normalized(x, "last"), "head", to="logits")
    graph = helper.make_graph(
        nodes, "gpt", [helper.make_tensor_value_info("ids", TensorProto.INT64, [1, length])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, length, size.vocabulary])],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in {**constants, **weights}.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--steps", type=int, default=400)
    arguments = parser.parse_args()
    size = Size()
    arguments.file.write_bytes(onnx_model(size, trained(size, arguments.steps)).SerializeToString())


if __name__ == "__main__":
    main()
