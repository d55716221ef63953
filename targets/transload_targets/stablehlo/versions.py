"""Versions of StableHLO, and writing for one of them."""

from __future__ import annotations

import re
from pathlib import Path

from transload.ir import Module
from transload.plugin import resolve
from transload.plugin_host import host

__all__ = ["NEWEST", "is_version", "write_artifact"]

NEWEST = "newest"
"""The version of the tools that write: whoever reads must be as new."""

_version = re.compile(r"\d+\.\d+\.\d+").fullmatch


def is_version(text: str) -> bool:
    return text == NEWEST or _version(text) is not None


def write_artifact(module: Module, path: Path, version: str) -> None:
    """Write a portable artifact for a version. Raises `UsageError` with what the version cannot say."""
    resolve(host().get("writers", "stablehlo").write)(module, path, None if version == NEWEST else version)
