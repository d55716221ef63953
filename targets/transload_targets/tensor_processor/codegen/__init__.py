"""From groups with addresses to a program: instructions of both queues, and what waits for what."""

from .generate import Compiled, compile_function, timed

__all__ = ["Compiled", "compile_function", "timed"]
