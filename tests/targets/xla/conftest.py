"""The tests of the XLA engines need XLA."""

from __future__ import annotations

import pytest

pytest.importorskip("jaxlib")
