"""What an archive says of a tensor whose numbers it holds."""

from __future__ import annotations

from dataclasses import dataclass

from transload.ir import Type

from .archive import Members
from .symbols import Expression

__all__ = ["Payload", "TensorMeta"]


@dataclass(frozen=True)
class TensorMeta:
    """The element type, sizes and place of a tensor."""

    element: Type
    sizes: tuple[int | Expression, ...]
    strides: tuple[int | Expression, ...]
    offset: int | Expression


@dataclass(frozen=True)
class Payload:
    """A tensor whose numbers are in the archive."""

    member: str
    meta: TensorMeta
    archive: Members | None = None
    """The archive inside the archive that the member is of, where it is."""
