"""What only training needs is left out, and named: checks, printing, summaries, savers, files that are written."""

from __future__ import annotations

from transload.ir import Module

__all__ = ["drop_training", "is_for_training"]

_TRAINING = frozenset({
    "Assert", "Print", "PrintV2", "NoOp", "Abort", "SaveV2", "Save", "SaveSlices", "RestoreV2", "Restore", "RestoreSlice",
    "MergeV2Checkpoints", "ShardedFilename", "InitializeTable", "InitializeTableV2", "InitializeTableFromTextFile",
    "InitializeTableFromTextFileV2", "ImportEvent", "CreateSummaryDbWriter"})
_ENDS = ("Summary", "SummaryV2", "SummaryWriter")
"""How the names of ops end that write summaries."""
_HAND_ON = frozenset({"tf.Print"})
"""Those that give their first operand."""


def is_for_training(name: str) -> bool:
    """Whether only training needs an op of this name in TensorFlow, as long as nothing uses what it gives."""
    return name in _TRAINING or name.endswith(_ENDS)


def drop_training(module: Module) -> bool:
    """Erase ops that only training needs, where nothing uses what they compute, and say which in `Module.notes`."""
    dropped: dict[str, list[str]] = {}
    for op in [op for op in module.walk() if op.name.startswith("tf.") and is_for_training(op.name.removeprefix("tf."))][::-1]:
        if op.name in _HAND_ON and op.operands:
            op.results[0].replace_all_uses_with(op.operands[0])
        if any(result.uses for result in op.results):
            continue
        if op.name != "tf.NoOp":
            dropped.setdefault(op.name.removeprefix("tf."), []).append(op.origin or "unnamed")
        op.erase()
    if dropped:
        named = "; ".join(f"{kind} {_some(names[::-1])}" for kind, names in dropped.items())
        module.notes = (*module.notes, f"left out, as only training needs it: {named}")
    return bool(dropped)


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
