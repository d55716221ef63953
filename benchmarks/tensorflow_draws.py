"""What draws a random function of TensorFlow's, and writes it with what TensorFlow computes of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

v1, nn, raw = tf.compat.v1, tf.nn, tf.raw_ops
FLOATS, INTS = ("float32", "float32", "float32", "float64", "float16"), ("int32", "int64", "int8", "uint8", "int16")


class Draw:
    """Random choices of one function, and its inputs."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.inputs: list[np.ndarray] = []

    def one(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def n(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def shape(self, low: int = 0, high: int = 4, empty: float = 0.03) -> tuple[int, ...]:
        return tuple(0 if self.chance(empty) else self.n(1, 5) for _ in range(self.n(low, high)))

    def axis(self, rank: int) -> int:
        return self.n(-rank, rank - 1)

    def axes(self, rank: int) -> Any:
        if rank == 0 or self.chance(0.15):
            return None
        chosen = self.rng.permutation(rank)[: self.n(1, rank)]
        return [int(a) - (rank if self.chance(0.3) else 0) for a in chosen]

    def broadcast(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that can be broadcast with another."""
        other = tuple(1 if self.chance(0.3) else n for n in shape)
        return other[self.n(0, len(other)) :] if self.chance(0.4) else other

    def array(self, shape: Any, dtype: str = "float32", low: float = -3.0, high: float = 3.0) -> np.ndarray:
        if dtype == "bool":
            return self.rng.random(shape) < 0.5
        if dtype.startswith(("int", "uint")):
            low, high = max(int(low * 8), np.iinfo(dtype).min), int(high * 8)
            return self.rng.integers(max(low, 0) if dtype.startswith("u") else low, max(high, 1), shape).astype(dtype)
        if dtype.startswith("complex"):
            return (self.rng.uniform(low, high, shape) + 1j * self.rng.uniform(low, high, shape)).astype(dtype)
        return np.asarray(self.rng.uniform(low, high, shape)).astype(dtype)

    def put(self, array: np.ndarray) -> Any:
        """An input of the function."""
        shape = (
            None
            if self.chance(0.05)
            else [None if self.chance(0.5) else n for n in array.shape]
            if self.chance(0.3)
            else array.shape
        )
        self.inputs.append(np.asarray(array))
        return v1.placeholder(array.dtype, shape, name=f"x{len(self.inputs) - 1}")

    def x(self, shape: Any, dtype: str = "float32", low: float = -3.0, high: float = 3.0) -> Any:
        return self.put(self.array(shape, dtype, low, high))

    def maybe_const(self, array: np.ndarray, p: float = 0.6) -> Any:
        return tf.constant(array) if self.chance(p) else self.put(array)


TABLE: dict[str, Callable[[Draw], Any]] = {}


def op(name: str) -> Callable[[Callable[[Draw], Any]], Callable[[Draw], Any]]:
    def enter(function: Callable[[Draw], Any]) -> Callable[[Draw], Any]:
        TABLE[name] = function
        return function

    return enter


def write(folder: Path, number: int, table: dict[str, Callable[[Draw], Any]]) -> str:
    """Write a function; why not, where tensorflow refuses it."""
    draw = Draw(number)
    name = draw.one(*table)
    with tf.Graph().as_default() as graph:
        try:
            results = table[name](draw)
        except (ValueError, TypeError, tf.errors.OpError, NotImplementedError) as error:
            return f"{name}: {str(error).splitlines()[0][:100]}"
        flat = results if isinstance(results, list | tuple) else [results]
        outputs = [tf.identity(tf.convert_to_tensor(each), name=f"y{i}") for i, each in enumerate(flat)]
        config = v1.ConfigProto()
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        feeds = {f"x{i}:0": array for i, array in enumerate(draw.inputs)}
        try:
            with v1.Session(graph=graph, config=config) as session:
                wanted = session.run(outputs, feeds)
        except tf.errors.OpError as error:
            return f"{name}: {error.message.splitlines()[0][:100]}"
        definition = graph.as_graph_def()
    (folder / f"{number}.pb").write_bytes(definition.SerializeToString())
    np.savez(
        folder / f"{number}.npz",
        name=name,
        **{f"x{i}": a for i, a in enumerate(draw.inputs)},
        **{
            f"y{i}": np.asarray(a, "float32") if getattr(a, "dtype", None) == tf.bfloat16.as_numpy_dtype else a
            for i, a in enumerate(wanted)
        },
    )
    return ""


def main(arguments: list[str], table: dict[str, Callable[[Draw], Any]]) -> None:
    folder, count, first = Path(arguments[0]), int((arguments[1:2] or [1000])[0]), int((arguments[2:3] or [0])[0])
    folder.mkdir(parents=True, exist_ok=True)
    refused = [why for number in range(first, first + count) if (why := write(folder, number, table))]
    for why in refused[:20]:
        print("  not written:", why)
    print(f"{count - len(refused)} functions of {len(table)} kinds in {folder}; tensorflow refuses {len(refused)}")
