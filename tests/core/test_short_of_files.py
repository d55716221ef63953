"""Arrays that cannot be opened because the system has no more: these are no damaged files, which may be left out."""

from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pytest

from transload.arrays import open_array
from transload.errors import ReadError


@pytest.mark.parametrize(("number", "kind"), [
    (errno.EMFILE, OSError), (errno.ENFILE, OSError), (errno.ENOMEM, OSError), (errno.EINVAL, ReadError),
    (errno.EACCES, ReadError)])
def test_a_shortage_is_no_damage(number: int, kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--skip-damaged` left sound files out, and what it made was of the others."""
    np.save(tmp_path / "x.npy", np.zeros(3))

    def load(*arguments: object, **named: object) -> None:
        raise OSError(number, "none")

    monkeypatch.setattr(np, "load", load)
    with pytest.raises(kind) as raised:
        open_array(tmp_path / "x.npy")
    assert isinstance(raised.value, ReadError) == (kind is ReadError)
