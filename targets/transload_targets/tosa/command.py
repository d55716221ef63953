"""`transload tosa-requirements FILE`: op by op, which profile, extension and level a model needs, and what is wrong."""

from __future__ import annotations

import json as json_module
from dataclasses import asdict
from pathlib import Path

import click

__all__ = ["show"]


@click.command()
@click.argument("model", type=click.Path(path_type=Path), help="A .tosa file, or any model that converts to TOSA.")
@click.option("--version", default="1.0", help="The specification's version: 1.0 or 1.1.")
@click.option("--level", default="8k", help="Limits to keep: 8k or none.")
@click.option("--json", is_flag=True, help="Print JSON.")
def show(model: Path, version: str, level: str, json: bool) -> int:
    """What of TOSA a model needs, op by op.

    Which profile, extension and level, and every rule that is broken.
    """
    from transload import load
    from transload.cli.show import console, show_findings, table
    from transload.journey import convert_to

    from .requirements import requirements, requirements_of

    module = load(model)
    convert_to(module, ("tosa",))
    listed = requirements(module, version, level)
    violations = [finding for requirement in listed for finding in requirement.violations]
    if json:
        print(json_module.dumps({**requirements_of(module), "ops": [asdict(requirement) for requirement in listed]}, indent=2))
        return 3 if violations else 0
    out = console()
    whole = requirements_of(module)
    out.print(table(("op", "tensor", "profile", "extensions", "level"), [
        (r.op, r.name or "", " or ".join(r.profiles), " ".join(r.extensions), r.level) for r in listed]))
    out.print(f"needs: profiles {', '.join(whole['profiles']) or 'any'}; extensions {', '.join(whole['extensions']) or 'none'}; "
              f"level {whole['level']}")
    show_findings(out, violations, verbose=True)
    return 3 if violations else 0
