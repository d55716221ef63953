"""Outputs of which a model has as many rows as it found, and what was made of it as many as there can be."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..sizes_text import sizes_text

__all__ = ["found_alone"]


def found_alone(
    reference: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray], padded: Mapping[str, int | None],
) -> tuple[dict[str, np.ndarray], list[str]]:
    """The outputs without what stands behind what was found, and what there is to say of it.

    `padded` has the number that stands there, by the output's name, or None where it may be any. An output with another is left
    as it is: its shape is not that of the reference.
    """
    kept, notes = dict(actual), list[str]()
    for (name, wanted), (key, got) in zip(reference.items(), actual.items(), strict=True):
        want, have = np.shape(wanted), np.shape(got)
        if name not in padded or want == have or len(want) != len(have) or any(w > h for w, h in zip(want, have, strict=True)):
            continue
        inner, number = tuple(slice(size) for size in want), padded[name]
        beyond = np.ones(have, bool)
        beyond[inner] = False
        if number is None or bool((np.asarray(got)[beyond] == number).all()):
            kept[key] = np.asarray(got)[inner]
            behind = "what is behind is not judged" if number is None else f"behind, {number} stands throughout"
            found, places = (sizes_text(shape) for shape in (want, have))
            notes.append(f"{name}: {found} of {places} are what is found in the data; {behind}")
    return kept, notes
