"""A chip is data: what a TOML file says of it, as one frozen object.

    chip = load_chip("tp-small")            # one that comes with Transload
    chip = load_chip(Path("acme.toml"))     # anybody's
    chip.lanes, chip.bank_bytes, chip.macs["int8"]
"""

from .description import Chip
from .reading import CHIPS, load_chip, read_chip

__all__ = ["CHIPS", "Chip", "load_chip", "read_chip"]
