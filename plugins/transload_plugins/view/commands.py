"""The command `transload view`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from transload.cli import options

__all__ = ["view"]


@click.command(cls=options.OwnCommand, context_settings={"show_default": True, "help_option_names": ["-h", "--help"]})
@options.models("A model, or what convert wrote; a second one is put beside it.")
@click.option("--html", metavar="FILE", type=options.OUT, help="Write the page to this file, and start nothing.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on this machine; 0 takes one that is free.")
@click.option("--no-browser", is_flag=True, help="Print the address, and open nothing.")
@click.option(
    "--target", "-t", shell_complete=options.names_of("targets"),
    help="Go on to this target, and show what it reports: cycles, memory.")
@click.option("--option", metavar="KEY=VALUE", multiple=True, help="An option of the target or of a conversion. Repeatable.")
@click.option("--passes", "-p", metavar="PIPELINE", default="", show_default=False, help="Passes to run in the hub dialect.")
@options.shapes()
@options.inputs()
@options.format()
@options.function()
@options.weights()
@options.outputs()
@options.quantizing("--quantize", "Show the model quantized by this, too, beside the float one.")
@options.samples()
@options.images()
def view(
    models: tuple[Path, ...], html: Path | None, port: int, no_browser: bool, page: Path | None, **given: Any,
) -> int:
    """Look at a model in the browser, at every stage.

    The graph as it was read, at the hub, quantized, and as the target takes it; what became of each op and why; constants,
    errors, cycles. On this machine alone, until Ctrl-C.
    """
    from .serving import hand_over, looked_at, need_served, tell_refusals, write_page

    if html is not None:
        need_served(port, no_browser)
    looking, title = looked_at(models, page, given)
    tell_refusals(looking)
    if html is not None:
        write_page(looking, title, html)
    else:
        hand_over(looking, title, port, not no_browser)
    return 0
