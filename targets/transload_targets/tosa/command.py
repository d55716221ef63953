"""`transload tosa-requirements FILE`: op by op, which profile, extension and level a model needs, and what is wrong."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from transload.cli import options

__all__ = ["LEVELS", "show"]

VERSIONS = ("1.0", "1.1")
LEVELS = ("8k", "none")
"""What a model may be asked to keep: the limits of a level, or none."""


@click.command(cls=options.OwnCommand, context_settings={"show_default": True, "help_option_names": ["-h", "--help"]})
@options.model(help="A .tosa file, or any model that converts to TOSA.")
@click.option("--version", type=click.Choice(VERSIONS), default=VERSIONS[0], help="The specification's version.")
@click.option("--level", type=click.Choice(LEVELS), default=LEVELS[0], help="Limits to keep.")
@options.loading()
@options.json()
def show(model: Path, version: str, level: str, json: bool, **given: Any) -> int:
    """What of TOSA a model needs, op by op.

    Which profile, extension and level, and every rule that is broken.
    """
    from transload import load
    from transload.cli.answer import print_json
    from transload.cli.arguments import taken_to_load
    from transload.cli.show import console, show_findings, table
    from transload.journey import convert_to

    from .requirements import requirements, requirements_of

    module = load(model, **taken_to_load(given))
    convert_to(module, ("tosa",))
    listed = requirements(module, version, level)
    violations = [finding for requirement in listed for finding in requirement.violations]
    if json:
        print_json({**requirements_of(module), "ops": [asdict(requirement) for requirement in listed]})
        return 3 if violations else 0
    out = console()
    whole = requirements_of(module)
    out.print(table(("op", "tensor", "profile", "extensions", "level"), [
        (r.op, r.name or "", " or ".join(r.profiles), " ".join(r.extensions), r.level) for r in listed]))
    out.print(f"needs: profiles {', '.join(whole['profiles']) or 'any'}; extensions {', '.join(whole['extensions']) or 'none'}; "
              f"level {whole['level']}")
    show_findings(out, violations, verbose=True)
    return 3 if violations else 0
