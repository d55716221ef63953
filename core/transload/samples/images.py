"""Images read, in processes of their own: files of strangers go to other people's decoders there, and many at a time.

    with Decoding(workers=4) as decoding:
        for pixels in decoding.each(requests):     # in order, a few ahead of who takes them
            ...

A request is a path and what `Settled.pixels` says; the answer are pixels, uint8 of rows x columns x channels, or the `ReadError`
that says why there are none. The processes stay for whoever comes next.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from ..cores import workers_or_cores
from ..errors import ReadError, UsageError
from ..forks import thread_lock
from ..worker import ChildEnded, Limits, Worker, unread

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "DAMAGED", "MOST_PIXELS", "OTHERS", "SUFFIXES", "Decoding", "decode", "image_sizes", "read_pixels", "scaled_sizes"]

T = TypeVar("T")
Result = TypeVar("Result")
SUFFIXES = (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".bmp", ".ppm", ".pgm", ".pbm", ".pnm", ".webp")
"""What image files are called."""
OTHERS = (
    ".tif", ".tiff", ".gif", ".ico", ".tga", ".avif", ".heic", ".heif", ".jp2", ".jxl", ".psd", ".exr", ".hdr", ".dng", ".pcx",
    ".svg")
"""What images are called that are not read: among samples they are told of, as damaged ones are, and not passed over."""
DAMAGED = (
    OSError, ValueError, SyntaxError, EOFError, IndexError, TypeError, ArithmeticError, AttributeError, struct.error)
"""What decoders raise of damaged images, and of damaged EXIF data in them."""
_FORMATS = ("JPEG", "PNG", "BMP", "PPM", "WEBP")
_MODES = {"gray": "L", "rgb": "RGB", "bgr": "RGB", "rgbd": "RGBA"}
MOST_PIXELS = 1 << 27
"""Of one image, in its file or as a model takes it: what claims more is a decompression bomb."""
_MOST_SCALED = 1 << 24
"""Of one image that is resized and then cut: of one that is long and thin, or becomes far larger than what is taken, nearly all
is cut off."""
_ORIENTATION, _TURNED = 0x0112, (5, 6, 7, 8)
"""The tag that says how an image is turned, and what it says where rows and columns change places."""
_LIMITS = Limits(seconds=60.0, memory=0.5)
_AHEAD = 4
"""Images for each process that are decoded before somebody asks for them."""


# --- in this process


def read_pixels(path: Path, how: dict[str, Any]) -> np.ndarray:
    """The pixels of one image. Raises `ReadError`, and `UsageError` where Pillow is not installed."""
    with Decoding(1) as decoding:
        return decoding.read(path, how)


def image_sizes(path: Path) -> tuple[int, int]:
    """The rows and columns of one image as it is upright. Raises as `read_pixels`."""
    with Decoding(1) as decoding:
        return decoding.sizes(path)


class Decoding:
    """Decodes images in `workers` processes, each with a thread here that waits for it; as a context manager it ends them."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers_or_cores(workers, 8)
        self._threads = ThreadPoolExecutor(self.workers, "images")

    def each(self, requests: Iterable[T], read: Callable[[T], Result]) -> Iterator[Result]:
        """`read(request)` for each request, in order, by the threads; never more than a few ahead of who takes them."""
        pending: deque[Future[Result]] = deque()
        coming = iter(requests)
        try:
            pending.extend(self._threads.submit(read, request) for request in islice(coming, _AHEAD * self.workers))
            while pending:
                yield pending.popleft().result()
                pending.extend(self._threads.submit(read, request) for request in islice(coming, 1))
        finally:
            for future in pending:
                future.cancel()

    def read(self, path: Path, how: dict[str, Any]) -> np.ndarray:
        """The pixels of one image, by whichever process is free."""
        pixels: np.ndarray = self._called("decode", path, how)
        return pixels

    def sizes(self, path: Path) -> tuple[int, int]:
        """The rows and columns of one image, which is not decoded."""
        rows, columns = self._called("sizes_of", path)
        return rows, columns

    def _called(self, name: str, path: Path, *how: Any) -> Any:
        worker = _take()
        try:
            return worker.call(f"transload.samples.images:{name}", str(path.absolute()), str(path), *how)
        except ChildEnded as error:
            raise unread(error, f"{path}: the image", "", f"{_LIMITS.seconds:g} s") from None
        finally:
            _FREE.put(worker)

    def __enter__(self) -> Decoding:
        return self

    def __exit__(self, *what: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


_FREE: SimpleQueue[Worker] = SimpleQueue()
_MAKING = thread_lock()


def _take() -> Worker:
    """A process that is free, or one more."""
    with _MAKING:
        if _FREE.empty():
            return Worker("the decoder of images", needs=("numpy", "PIL"), limits=_LIMITS)
        return _FREE.get()


# --- in the child


def decode(place: str, name: str, how: dict[str, Any]) -> np.ndarray:
    """The pixels of the image at `place`, which errors call `name`: upright, resized, padded and cropped as `how` says.

    Raises `ReadError` for what is damaged, no image, or too large.
    """
    pixels: np.ndarray = _opened(place, name, lambda image: _arranged(image, how))
    return pixels


def sizes_of(place: str, name: str) -> list[int]:
    """The rows and columns of an image as it is upright. Raises as `decode`."""
    return list(_opened(place, name, _upright))


def _upright(image: Any) -> tuple[int, int]:
    return (image.width, image.height) if image.getexif().get(_ORIENTATION) in _TURNED else (image.height, image.width)


def _opened(place: str, name: str, take: Callable[[Any], Any]) -> Any:
    """What is taken of an image that is opened for that."""
    import warnings

    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise UsageError(
            f"{name}: reading images needs Pillow", hint="pip install 'transload[images]', or give an .npy file") from None
    Image.MAX_IMAGE_PIXELS = MOST_PIXELS
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    try:
        with Image.open(place, formats=_FORMATS) as image:
            return take(image)
    except UnidentifiedImageError:
        what = f"image of those that are read ({' '.join(SUFFIXES)})" if place.lower().endswith(OTHERS) else ".npy, .npz or image"
        raise ReadError(f"{name}: is no {what}") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise ReadError(f"{name}: is an image of more than {MOST_PIXELS:,} pixels") from None
    except MemoryError:
        raise ReadError(f"{name}: is an image that takes more memory than there is") from None
    except DAMAGED as error:
        raise ReadError(f"{name}: is a damaged image: {error}") from None


def _arranged(image: Any, how: dict[str, Any]) -> np.ndarray:
    import numpy as np
    from PIL import ImageOps

    pixel_format = how["pixel_format"]
    upright = _of_bytes(ImageOps.exif_transpose(image)).convert(_MODES[pixel_format])
    cropped = _taken(upright, how)
    pixels = np.asarray(cropped).reshape(cropped.height, cropped.width, -1)
    return np.ascontiguousarray(pixels[..., ::-1]) if pixel_format == "bgr" else pixels


def _of_bytes(image: Any) -> Any:
    """An image of 8 bits a channel: 16-bit grays by their upper bytes, as decoders do with 16-bit colours.

    Pillow itself would make white of whatever is above 255.
    """
    import numpy as np
    from PIL import Image

    if not image.mode.startswith("I"):
        return image
    return Image.fromarray((np.clip(np.asarray(image), 0, 65535).astype(np.uint16) >> 8).astype(np.uint8))


def scaled_sizes(how: dict[str, Any], rows: int, columns: int) -> tuple[int, int]:
    """What a picture of so many rows and columns, which keeps its shape, is resized to before it is padded or cut (`decode`)."""
    height, width = how["resize"]
    if (width * rows < height * columns) == (how["mode"] == "short_side_scale"):  # as high as it has to be
        return height, max(1, height * columns // rows)
    return max(1, width * rows // columns), width


def _taken(image: Any, how: dict[str, Any]) -> Any:
    """What is taken of an image: resized, bilinear, each pixel of all that it covers, with its shape kept where that is asked
    for, padded and cropped.

    Of what is resized to very much only the part that is taken is made: within 1 of 255 of what it is in the whole.
    """
    rows, columns = how["resize"]
    height, width = (rows, columns) if how["mode"] == "stretch" else scaled_sizes(how, image.height, image.width)
    top, left = _place(how, height, width)
    if max(height * width, rows * columns) <= _MOST_SCALED:
        scaled = _resized(image, (height, width), (0, 0, width, height))
        return _cropped(_on_canvas(scaled, (rows, columns), (top, left), how["pad_value"]), how["crop"])
    kept_rows, kept_columns = how["crop"]
    top, left = top - (rows // 2 - kept_rows // 2), left - (columns // 2 - kept_columns // 2)  # in what is kept
    seen = (max(-left, 0), max(-top, 0), min(kept_columns - left, width), min(kept_rows - top, height))
    part = _resized(image, (height, width), seen) if seen[0] < seen[2] and seen[1] < seen[3] else None
    return _on_canvas(part, (kept_rows, kept_columns), (max(top, 0), max(left, 0)), how["pad_value"], image)


def _place(how: dict[str, Any], height: int, width: int) -> tuple[int, int]:
    """Where the upper left corner of an image that keeps its shape comes to lie in what it is resized to, or beyond it."""
    rows, columns = how["resize"]
    if how["mode"] == "short_side_scale":
        return rows // 2 - height // 2, columns // 2 - width // 2
    return ((rows - height) // 2, (columns - width) // 2) if how["pad_type"] == "center" else (0, 0)


def _resized(image: Any, sizes: tuple[int, int], part: tuple[int, int, int, int]) -> Any:
    """Of an image that becomes one of so many rows and columns, the part within left, upper, right and lower ends."""
    from PIL import Image

    down, across = image.height / sizes[0], image.width / sizes[1]
    left, top, right, bottom = part
    return image.resize((right - left, bottom - top), Image.Resampling.BILINEAR, box=(
        left * across, top * down, image.width if right == sizes[1] else right * across,
        image.height if bottom == sizes[0] else bottom * down))


def _on_canvas(image: Any, sizes: tuple[int, int], place: tuple[int, int], pad: int, like: Any = None) -> Any:
    """An image in one of so many rows and columns, whose pixels are `pad` beside it; None is nowhere in one `like` another."""
    from PIL import Image

    (rows, columns), (top, left), like = sizes, place, like or image
    if image is not None and image.size == (columns, rows) and not (top or left):
        return image
    bands = len(like.getbands())
    canvas = Image.new(like.mode, (columns, rows), pad if bands == 1 else (pad,) * bands)
    if image is not None:
        canvas.paste(image, (left, top))
    return canvas


def _cropped(image: Any, sizes: Any) -> Any:
    """The middle of an image, as the manual finds it."""
    rows, columns = sizes
    top, left = image.height // 2 - rows // 2, image.width // 2 - columns // 2
    return image.crop((left, top, left + columns, top + rows))
