"""Where what Keras computed is kept: JSON of a list of cases, compressed; `record` writes it."""

from pathlib import Path

__all__ = ["RECORDED"]

RECORDED = Path(__file__).with_name("recorded.json.gz")
