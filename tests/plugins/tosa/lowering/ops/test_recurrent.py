"""Recurrent layers, unrolled: all directions, layouts and options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transload.ir import TensorType, element_type_of

T, N, I, H = 3, 2, 3, 4
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("name", list(GATES))
@pytest.mark.parametrize("full", ["bare", "states", "lengths"])
def test_layers(same: Callable[..., Any], normal: Any, name: str, direction: str, batch_first: bool, full: str) -> None:
    gates, directions = GATES[name], 2 if direction == "bidirectional" else 1
    weights = [normal(directions, gates * H, I), normal(directions, gates * H, H)]
    state = (N, directions, H) if batch_first else (directions, N, H)
    more: list[np.ndarray] = []
    options: dict[str, Any] = {}
    if full != "bare":
        more = [normal(directions, 2 * gates * H), normal(*state)]
        if name == "LSTM":
            more += [normal(*state), normal(directions, 3 * H)]
    if full == "lengths":
        more.append(np.array([3, 2], np.int32))
        options = {"clip": 0.7} | ({"linear_before_reset": True} if name == "GRU" else {})
        options |= {"input_forget": True} if name == "LSTM" else {}
    x = normal(N, T, I) if batch_first else normal(T, N, I)
    constants = weights if full != "states" else []
    given = [x, *(weights if full == "states" else []), *more]

    def layer(builder: Any, first: Any, *rest: Any) -> Any:
        held = [builder.constant(array) for array in constants]
        return builder.emit(
            f"top.{name}", first, *held, *rest, hidden_size=H, direction=direction, batch_first=batch_first, **options)

    same(layer, *given, types=[TensorType(a.shape, element_type_of(a.dtype)) for a in given], tolerance=2e-5)


@pytest.mark.parametrize("activations", [
    ["HardSigmoid", "ScaledTanh", "Affine"], ["Relu", "LeakyRelu", "Softsign"], ["Sigmoid", "Elu", "ThresholdedRelu"],
])
def test_other_activations(same_op: Callable[..., Any], normal: Any, activations: list[str]) -> None:
    same_op(
        "LSTM", normal(T, N, I), normal(1, 4 * H, I), normal(1, 4 * H, H), constants=[1, 2], hidden_size=H,
        activations=activations, activation_alpha=(0.3, 1.2, 0.5), activation_beta=(0.4, 0.9, 0.1), tolerance=3e-5)
