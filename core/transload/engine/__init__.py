"""Execution: kernels are registered per op, an engine runs any module whose ops have kernels."""

from .reference import run_function

__all__ = ["run_function"]
