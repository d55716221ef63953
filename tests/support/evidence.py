"""What measuring operators has in common: by how much a result is off, which targets take it, how it is written.

The file is described in `transload.coverage_report`.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transload.chosen_target import target_options
from transload.errors import TransloadError
from transload.ir import Module
from transload.passes.manager import Pipeline
from transload.plugin import Target
from transload.plugin_host import host

__all__ = ["Taken", "rounded_up", "write_evidence"]


def rounded_up(off: float) -> float:
    """The next number of one digit: the last digits differ from one machine to another."""
    unit = 10.0 ** math.floor(math.log10(off))
    return float(f"{math.ceil(off / unit) * unit:.0e}")


class Taken:
    """Which of the cases each target takes that accepts a dialect, asked of its own `check`."""

    def __init__(self, dialect: str) -> None:
        self.targets = [target for target in host().targets.values() if dialect in target.accepts]
        self.counts: dict[str, dict[str, Counter[str]]] = {target.name: defaultdict(Counter) for target in self.targets}
        self.reasons: dict[str, dict[str, Counter[str]]] = {target.name: defaultdict(Counter) for target in self.targets}

    def see(self, op: str, form: str, module: Module) -> None:
        """Ask all targets for a case of an op in a number format; `module` is what it became.

        One whose results depend on no input says nothing of a target: it was computed when it was converted.
        """
        if not any(argument.uses for argument in module.body_of_main.arguments):
            return
        for target in self.targets:
            why = _refusal(target, module)
            if why is None:
                self.counts[target.name][op][form] += 1
            else:
                self.reasons[target.name][op][why] += 1

    def record(self) -> list[dict[str, Any]]:
        """For the evidence: targets that take the same together, what they take, and why not where they take nothing."""
        groups: dict[str, dict[str, Any]] = {}
        for name in sorted(self.counts):
            taken = {op: dict(forms) for op, forms in sorted(self.counts[name].items())}
            why = {op: reasons.most_common(1)[0][0] for op, reasons in sorted(self.reasons[name].items()) if op not in taken}
            key = json.dumps([taken, {op: why[op] for op in why}], sort_keys=True)
            groups.setdefault(key, {"names": [], "taken": taken, "why": why})["names"].append(name)
        return list(groups.values())


def _refusal(target: Target, module: Module) -> str | None:
    """Why a target does not take a module; None where it does."""
    copy = module.clone()
    try:
        if target.pipeline:
            Pipeline.parse(target.pipeline).run(copy)
        found = list(target.check(copy, target_options(target, {})))
    except TransloadError as error:
        return error.message
    return f"{found[0].what}: {found[0].why}" if found else None


def write_evidence(
    path: Path, source: str, dialect: str, judge: str, formats: Mapping[str, str], cells: Mapping[str, Mapping[str, Any]],
    targets: Sequence[Mapping[str, Any]],
) -> None:
    """Write what was measured, an op a line."""
    results = {op: {form: cells[op][form] for form in formats if form in cells[op]} for op in sorted(cells)}
    head = json.dumps({"from": source, "to": dialect, "judge": judge, "formats": dict(formats)}, indent=2)[:-2]
    lines = ",\n".join(f"    {json.dumps(op)}: {json.dumps(found)}" for op, found in results.items())
    taken = ",\n".join(f"    {json.dumps(group)}" for group in targets)
    path.write_text(
        f'{head},\n  "results": {{\n{lines}\n  }},\n  "targets": [\n{taken}\n  ]\n}}\n', encoding="utf-8")
