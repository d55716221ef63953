"""What a terminal shows while a command works."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..telling import told_to
from .session import session
from .show import error_console

if TYPE_CHECKING:
    from ..samples.samples import Samples

__all__ = ["Clock", "going_through", "progress"]

PARTS = 100
"""Of a bar that shows a share."""


@dataclass
class Clock:
    """How long something took."""

    seconds: float = 0.0


@contextmanager
def progress(silent: bool) -> Iterator[Callable[[str, float | None], None] | None]:
    """Tells on a terminal which stage runs, and how many of all are done; says nothing where the output goes to a file."""
    if silent or not sys.stderr.isatty():
        yield None
        return
    with error_console().status("…") as status:
        yield lambda stage, share: status.update(f"{stage} …" if share is None else f"{share:4.0%} {stage} …")


@contextmanager
def going_through(samples: Samples | None) -> Iterator[Clock]:
    """Shows on a terminal a bar of the samples that were gone through, pass by pass, or of what is said of the work beside them
    (`transload.telling`), and measures how long it took."""
    clock, start = Clock(), time.perf_counter()
    if samples is None or session().quiet or not sys.stderr.isatty():
        yield clock
        clock.seconds = time.perf_counter() - start
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=error_console(),
        transient=True,
    ) as bar:
        task = bar.add_task("samples", total=samples.known_length)
        samples.watch = lambda number: bar.update(
            task, description="samples", total=samples.known_length, completed=number)
        with told_to(lambda stage, share: bar.update(
                task, description=stage, total=None if share is None else PARTS, completed=round(PARTS * (share or 0.0)),
                refresh=True)):
            yield clock
        samples.watch = None
    clock.seconds = time.perf_counter() - start
