"""Images in files that a model holds as constants: decoded as it is converted, in a process of their own, by Pillow."""

from __future__ import annotations

import numpy as np

from transload.errors import ReadError
from transload.worker import Limits, Worker

__all__ = ["FORMATS", "decode", "decoded"]

FORMATS = ("JPEG", "JPEG2000", "BMP", "PNG", "TIFF", "WEBP", "PPM")
_MODES = {"RGB": "RGB", "BGR": "RGB", "Grayscale": "L"}
_DECODER = Worker("the decoder of images", needs=("numpy", "PIL"), limits=Limits(seconds=60.0, memory=0.5))
_MOST_PIXELS = 1 << 27


def decoded(data: bytes, pixel_format: str) -> np.ndarray:
    """The pixels [rows, columns, channels] of an image's file. Raises `ReadError` for what is damaged, or no image."""
    pixels: np.ndarray = _DECODER.call("transload_converters.onnx.image_files:decode", data, pixel_format)
    return pixels


def decode(data: bytes, pixel_format: str) -> np.ndarray:
    """The same, in the process that runs it."""
    import io

    try:
        from PIL import Image
    except ImportError:
        raise ReadError("decoding images needs Pillow", hint="pip install 'transload[images]'") from None
    Image.MAX_IMAGE_PIXELS = _MOST_PIXELS
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            pixels = np.asarray(image.convert(_MODES[pixel_format]))
    except (OSError, ValueError, SyntaxError, EOFError, IndexError, TypeError, ArithmeticError, MemoryError,
            Image.DecompressionBombError) as error:  # what decoders raise
        raise ReadError(f"is no image that can be decoded: {error}") from None
    pixels = pixels[..., None] if pixels.ndim == 2 else pixels
    return np.ascontiguousarray(pixels[..., ::-1] if pixel_format == "BGR" else pixels)
