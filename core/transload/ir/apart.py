"""What is never copied or pickled by itself: the parts of a module, each of which knows those around it."""

from __future__ import annotations

from typing import Any, NoReturn

from ..errors import UsageError

__all__ = ["Connected"]


class Connected:
    """Base of what is connected with all of a module: `copy` and `pickle` would follow it through all uses, or make a twin of it
    that they do not know."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        what = type(self).__name__.lower()
        article = "an" if what[0] in "aeiou" else "a"
        raise UsageError(
            f"{article} {what} is copied and pickled by no protocol of Python's: it is connected with all of its module",
            hint="module.clone() copies a module, op.clone() an op; transload.save(module, 'model.mlir') writes what "
                 "transload.load reads elsewhere")
