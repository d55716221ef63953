"""Random programs in TensorFlow's Python interfaces: conditionals, loops, cases, calls and arrays of tensors in each other.

    python benchmarks/tensorflow_programs.py FOLDER [COUNT] [FIRST]        (where tensorflow is installed)

writes them as `tensorflow_functions.py` does. Half of them have control flow of TensorFlow 1, half that of TensorFlow 2.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow_draws import Draw, main, v1

SHAPE = (2, 3)
Env = list[Any]


class Program:
    """Statements on tensors of one shape; `left` is how many there may be yet."""

    def __init__(self, d: Draw) -> None:
        self.d, self.left = d, 14

    def expression(self, env: Env) -> Any:
        a, b = self.d.one(*env), self.d.one(*env)
        return self.d.one(
            lambda: a + b,
            lambda: a - b,
            lambda: tf.maximum(a, b),
            lambda: tf.tanh(a),
            lambda: a * 0.5,
            lambda: tf.reverse(a, [1]),
            lambda: tf.where(a > b, a, b * 0.25),
            lambda: a - tf.reduce_mean(a),
            lambda: tf.nn.relu(a),
            lambda: tf.matmul(a, b, transpose_b=True) @ b * 0.1,
        )()

    def predicate(self, env: Env) -> Any:
        return self.d.one(
            lambda: tf.reduce_sum(self.d.one(*env)) > self.d.one(*env)[0, 0], lambda: self.d.one(*env)[1, 2] < 0.5
        )()

    def block(self, env: Env, depth: int) -> Env:
        env = list(env)
        for _ in range(self.d.n(1, 3)):
            self.left -= 1
            simple: tuple[Callable[[Env, int], Any], ...] = (lambda e, _: self.expression(e),)
            nested = (self.cond, self.loop, self.case, self.call, self.array, self.mapped, self.several)
            kind = self.d.one(*(simple * 3 + nested if depth < 3 and self.left > 0 else simple))
            env[self.d.n(0, len(env) - 1)] = kind(env, depth + 1)
        return env

    def cond(self, env: Env, depth: int) -> Any:
        place = self.d.n(0, len(env) - 1)
        return tf.cond(self.predicate(env), lambda: self.block(env, depth)[place], lambda: self.block(env, depth)[place])

    def several(self, env: Env, depth: int) -> Any:
        """A conditional with several results, one of them an integer."""
        value, count = tf.cond(self.predicate(env), lambda: (self.block(env, depth)[0], 1), lambda: (self.expression(env), 2))
        return value * tf.cast(count, tf.float32)

    def case(self, env: Env, depth: int) -> Any:
        index = tf.cast(tf.reduce_sum(self.d.one(*env)), tf.int32)
        return tf.switch_case(index, [lambda: self.block(env, depth)[0] for _ in range(self.d.n(1, 3))])

    def call(self, env: Env, depth: int) -> Any:
        return tf.function(lambda *given: self.block(list(given), depth)[0])(*env)

    def loop(self, env: Env, depth: int) -> Any:
        most, limit = self.d.n(0, 4), float(self.d.n(1, 6))
        goes_on = self.d.one(lambda i, *given: i < most, lambda i, *given: (i < most) & (tf.reduce_max(given[0]) < limit))

        def body(i: Any, *given: Any) -> tuple[Any, ...]:
            return i + 1, *(tf.clip_by_value(each, -9.0, 9.0) for each in self.block(list(given), depth))

        options = {"maximum_iterations": self.d.n(1, 3)} if self.d.chance(0.3) else {}
        return tf.while_loop(goes_on, body, (tf.constant(0), *env), **options)[1 + self.d.n(0, len(env) - 1)]

    def array(self, env: Env, depth: int) -> Any:
        count, start = self.d.n(1, 4), self.d.one(*env)
        array = tf.TensorArray(
            tf.float32, size=0 if self.d.chance(0.3) else count, dynamic_size=True, element_shape=SHAPE, clear_after_read=False
        )

        def body(i: Any, held: Any, value: Any) -> tuple[Any, ...]:
            value = tf.clip_by_value(self.block([value, *env[1:]], depth)[0], -9.0, 9.0)
            return i + 1, held.write(i, value), value

        _, array, value = tf.while_loop(lambda i, *_: i < count, body, (0, array, start))
        return self.d.one(
            lambda: tf.reduce_sum(array.stack(), 0),
            lambda: array.read(count - 1),
            lambda: array.gather([0])[0] + value,
            lambda: tf.reshape(array.concat(), (count, *SHAPE))[0],
        )()

    def mapped(self, env: Env, depth: int) -> Any:
        rows = tf.stack(env)
        return self.d.one(
            lambda: tf.map_fn(lambda row: tf.tanh(row) + row[0], rows)[0],
            lambda: tf.scan(lambda a, b: a * 0.5 + b, rows)[-1],
            lambda: tf.foldl(lambda a, b: tf.maximum(a, b), rows),
            lambda: tf.vectorized_map(lambda row: row * 2.0, rows)[0],
        )()


def program(d: Draw) -> Any:
    """Inputs of one shape, a block of statements, and all that is there at its end."""
    newer = d.chance(0.5)
    (v1.enable_control_flow_v2 if newer else v1.disable_control_flow_v2)()
    env = [d.put(d.array(SHAPE)) for _ in range(d.n(1, 3))]
    env.append(tf.constant(np.ones(SHAPE, np.float32)))
    for value in env:
        value.set_shape(SHAPE)
    return Program(d).block(env, 0)


if __name__ == "__main__":
    main(sys.argv[1:], {"program": program})
