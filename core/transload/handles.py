"""What a kernel gives that is no array: a variable, a list of tensors."""

from __future__ import annotations

__all__ = ["Handle"]


class Handle:
    """An object of a dialect's own, which its kernels give and take in the place of an array.

    What else a kernel gives for a tensor has to be an array: another object would fail in a kernel that knows nothing of it.
    """

    __slots__ = ()
