"""The networks that are kept, and what is the same in all tests of PyTorch's programs."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

KEPT = Path(__file__).parent / "kept"
LIVE = importlib.util.find_spec("torch") is not None


def arrays(name: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The kept inputs and outputs of a network."""
    with np.load(KEPT / f"{name}.npz") as held:
        return tuple([held[f"{side}{i}"] for i in range(sum(key.startswith(side) for key in held))]  # type: ignore[return-value]
                     for side in ("in", "out"))


@pytest.fixture
def cnn() -> Path:
    """An archive."""
    return KEPT / "cnn.pt2"
