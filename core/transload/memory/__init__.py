"""Placing buffers in one memory: offsets for intervals of time that are known beforehand.

    from transload import memory

    memory.place([("a", 0, 2, 100), ("b", 1, 3, 50), ("c", 2, 4, 100)])     # {"a": 0, "b": 100, "c": 0}
    plan = memory.plan(buffers, capacity=1 << 20)                            # offsets, peak, lower bound
    memory.save_picture(plan, "arena.svg")

It knows no chip: alignments, fixed offsets and shared places are said by whoever asks.
"""

from .buffers import Buffer
from .checking import check
from .lifetimes import buffers_of
from .picture import picture, save_picture
from .planning import Plan, place, plan
from .profile import Bound, Profile, lower_bound

__all__ = [
    "Bound", "Buffer", "Plan", "Profile", "buffers_of", "check", "lower_bound", "picture", "place", "plan", "save_picture"]
