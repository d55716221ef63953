"""What `transload view` does: look at what it is given, and write the page or hand it to the browser."""

from __future__ import annotations

import signal
import webbrowser
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

from transload.cli.arguments import parse_given, parse_options
from transload.cli.options import need_images, said_of_images, take_data, take_preprocess, take_quantizer
from transload.cli.show import bytes_text, console, show_note
from transload.errors import UsageError
from transload.files import atomic_path, exists
from transload.given import has_images, open_given, settled, shapes_of
from transload.sizes_of_data import sizes_from

from .document import document
from .looking import Looking
from .server import Server
from .stages import opened

__all__ = ["hand_over", "looked_at", "need_served", "tell_refusals", "write_page"]

MOST = 2
"""Models side by side."""


def looked_at(models: tuple[Path, ...], page: Path | None, given: dict[str, Any]) -> tuple[Looking, str]:
    """Look at models as the options of the command say; and a title for the page."""
    from transload.api import load
    from transload.quantization import Quantization

    if page is not None:
        raise UsageError("--report is a page of `transload quantize`", hint="--html FILE writes this one")
    if len(models) > MOST:
        raise UsageError(f"{len(models)} models were given; two can stand side by side")
    said = said_of_images(given)
    settings, preprocess, data = take_quantizer(given), take_preprocess(given), take_data(given)
    shapes, arrays = parse_given(given.pop("shape"), given.pop("input"))
    scheme, target, options = given.pop("quantize"), given.pop("target"), parse_options(given.pop("option"))
    passes = given.pop("passes")
    if data is not None and scheme is None and len(models) == 1:
        raise UsageError("--data is for what is compared, and there is one model", hint="--quantize NAME, or a second model")
    given_arrays = open_given(arrays) if arrays is not None else None
    how = {"inputs": {**shapes_of(given_arrays or {}), **shapes}, **given}
    if data is None:
        need_images(said, has_images(given_arrays))
    looking = Looking()
    with sizes_from(given_arrays, data, preprocess) as sizes:
        samples: Any = None
        if data is not None:
            first = opened(models[0], len(models) == 1, **how)[0]
            assert sizes.data is not None, "it was given"
            samples = sizes.data.open(first, preprocess)
            need_images(said, bool(samples.images))
        elif given_arrays is not None:
            samples = [settled(load(models[0], **how), given_arrays, preprocess)]
        for path in models:
            quantization = None
            if scheme is not None and path is models[-1]:
                quantization = Quantization(scheme, settings, samples if data is not None else None)
            looking.add(path, target, options=options, quantization=quantization, samples=samples, passes=passes,
                        alone=len(models) == 1, **how)
    return looking, " beside ".join(path.name or str(path) for path in models)


def need_served(port: int, no_browser: bool) -> None:
    """Raise `UsageError` for what is said of a server, where the page is written and none is started."""
    flag = "--port" if port else "--no-browser" if no_browser else None
    if flag is not None:
        raise UsageError(f"{flag} is for a page that is served, and --html writes it to a file", hint="leave out one of them")


def tell_refusals(looking: Looking) -> None:
    """Say of each model that does not get where it was to go why that is, and up to where it is shown."""
    for model in looking.models:
        refusal = model["refusal"]
        if refusal is not None:
            last = model["stages"][-1]["title"] if model["stages"] else "nothing"
            more = f" → {refusal['hint']}" if refusal["hint"] else ""
            show_note(f"{model['name']} is shown up to {last!r}, and goes no further: {refusal['message']}{more}")


def write_page(looking: Looking, title: str, file: Path) -> None:
    """Write the page as one file, whole or not at all."""
    if str(file) == "-":
        raise UsageError("--html takes the file to write, and '-' is none: standard output is for what the command says",
                         hint="--html page.html")
    if exists(file) and file.is_dir():
        raise UsageError(f"{file} is a folder; --html takes the file to write")
    made = document(looking.data(title), title)
    with atomic_path(file) as place:
        place.write_bytes(made)
    console().print(f"written to {file} ({bytes_text(len(made))})", markup=False, highlight=False)


def hand_over(looking: Looking, title: str, port: int, opens: bool) -> None:
    """Serve the page on this machine, have a browser open it where that is wished, and end at Ctrl-C without a word."""
    server = Server(document(looking.data(title), title), port)
    console().print(f"{title} at {server.url} (Ctrl-C ends it)", markup=False, highlight=False, soft_wrap=True)
    if opens:
        Thread(target=_open, args=(server.url,), daemon=True).start()

    def end(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    with suppress(ValueError):  # not the main thread, as in a notebook: it is stopped otherwise there
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, end)
        signal.signal(signal.SIGTERM, end)
    try:
        with suppress(KeyboardInterrupt):
            server.serve()
    finally:
        server.close()


def _open(url: str) -> None:
    with suppress(webbrowser.Error):
        webbrowser.open(url)
