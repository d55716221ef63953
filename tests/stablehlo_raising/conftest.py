"""Fixtures of the tests of stablehlo-to-top."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # `raising`, which tests share
sys.path.insert(1, str(Path(__file__).parents[1] / "stablehlo"))  # `specification`, and `xla_oracle` with its generators
