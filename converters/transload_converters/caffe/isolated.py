"""The process in which OpenCV runs networks: its C++ trusts files that it should not."""

from __future__ import annotations

from importlib.util import find_spec

from transload.worker import Worker

__all__ = ["OPENCV", "warm"]

OPENCV = Worker(
    "the process of OpenCV", needs=("transload_converters", "transload_hub", "numpy", "ml_dtypes", "google", "cv2"),
    first=("transload_converters.caffe.session",))


def warm() -> None:
    """Start the process, where there is something for it to import."""
    if find_spec("cv2") is not None:
        OPENCV.start()
