"""Fixtures of the tests of the XLA engines."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # `xla_programs`, which tests share

pytest.importorskip("jaxlib")
