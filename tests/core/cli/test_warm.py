"""What takes time to start is started while a command is imported."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from transload import plugin_host
from transload.cli.app import app
from transload.plugin import Reader


@pytest.mark.parametrize(("name", "expected"), [("net.slow", 1), ("net.other", 0), ("missing.slow", 0)])
def test_reader_of_the_model_is_told_before_the_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, expected: int,
) -> None:
    started: list[str] = []
    readers = {
        "slow": Reader("slow", "slow", (".slow",), print, warm=lambda: started.append("slow")),
        "other": Reader("other", "other", (".other",), print)}
    monkeypatch.setattr(plugin_host, "host", lambda: SimpleNamespace(readers=readers))
    for file in ("net.slow", "net.other"):
        (tmp_path / file).touch()
    command = app.commands["inspect"]
    context = command.make_context("inspect", [str(tmp_path / name)])
    assert isinstance(context, click.Context)
    assert len(started) == expected
