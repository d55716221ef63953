"""cuDNN's layers, which run on GPUs only: by what their documentation says that they compute, step by step."""

from __future__ import annotations

import numpy as np
import pytest

from transload.api import legalize, lower, run

from tests.support.tensorflow_graphs import T, const, graph, node, placeholder, read_graph

STEPS, BATCH, INPUTS, HIDDEN = 4, 2, 3, 5
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def step(
    mode: str, x: np.ndarray, h: np.ndarray, c: np.ndarray, weights: tuple[np.ndarray, ...],
) -> tuple[np.ndarray, np.ndarray]:
    """One step of one direction: gates i f c o of an LSTM, r z h of a GRU, in cuDNN's order."""
    w, r, b_w, b_r = weights
    of_x, of_h = (np.split(part, GATES[mode], axis=1) for part in (x @ w.T + b_w, h @ r.T + b_r))
    if mode == "lstm":
        i, f, g, o = (a + b for a, b in zip(of_x, of_h, strict=True))
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c
    if mode == "gru":
        reset, update = (sigmoid(of_x[k] + of_h[k]) for k in (0, 1))
        return update * h + (1 - update) * np.tanh(of_x[2] + reset * of_h[2]), c
    total = of_x[0] + of_h[0]
    return (np.tanh(total) if mode == "rnn_tanh" else np.maximum(total, 0)), c


@pytest.mark.parametrize("mode", GATES)
@pytest.mark.parametrize(("directions", "layers"), [(1, 1), (2, 1), (1, 2), (2, 2)])
def test_layers_over_each_other_in_one_or_two_directions(mode: str, directions: int, layers: int) -> None:
    random = np.random.default_rng(7)
    x = random.uniform(-1, 1, (STEPS, BATCH, INPUTS)).astype(np.float32)
    states = [random.uniform(-1, 1, (layers * directions, BATCH, HIDDEN)).astype(np.float32) for _ in range(2)]
    rows = GATES[mode] * HIDDEN
    widths = [INPUTS if layer == 0 else HIDDEN * directions for layer in range(layers) for _ in range(directions)]
    matrices = [(random.uniform(-1, 1, (rows, width)), random.uniform(-1, 1, (rows, HIDDEN))) for width in widths]
    biases = [(random.uniform(-1, 1, rows), random.uniform(-1, 1, rows)) for _ in widths]
    params = np.concatenate([part.reshape(-1) for pair in (*matrices, *biases) for part in pair]).astype(np.float32)
    value, last_h, last_c = x.astype(np.float64), [], []
    for layer in range(layers):
        outputs = []
        for direction in range(directions):
            number = layer * directions + direction
            h, c = (state[number].astype(np.float64) for state in states)
            order = range(STEPS) if direction == 0 else range(STEPS - 1, -1, -1)
            made = np.zeros((STEPS, BATCH, HIDDEN))
            for at in order:
                h, c = step(mode, value[at], h, c, (*matrices[number], *biases[number]))
                made[at] = h
            outputs.append(made)
            last_h.append(h)
            last_c.append(c)
        value = np.concatenate(outputs, axis=2)
    wanted = [value, np.stack(last_h), *([np.stack(last_c)] if mode == "lstm" else [])]
    rnn = node("rnn", "CudnnRNNV3", "x", "h", "c", "params", "lengths", T=T("float32"), rnn_mode=mode, is_training=False,
               direction="bidirectional" if directions == 2 else "unidirectional")
    module = read_graph(graph(
        placeholder("x", x.shape), const("h", states[0]), const("c", states[1] if mode == "lstm" else np.zeros(0, np.float32)),
        const("params", params), const("lengths", np.full(BATCH, STEPS, np.int32)), rnn,
        *(node(f"y{i}", "Identity", f"rnn:{i}" if i else "rnn", T=T("float32")) for i in range(len(wanted)))))
    for where in (legalize(module), lower(module, "tosa")):
        for mine, theirs in zip(run(where, {"x": x}).values(), wanted, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)
