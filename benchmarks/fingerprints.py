"""What every model converts to, as digests: whether a change to the code changed any output at all.

    python benchmarks/fingerprints.py [../shared/models] [--json prints.json] [--against prints.json] [--only NAME]

Every `.tflite`, `.onnx` and StableHLO file below a folder is legalized to the hub, lowered to TOSA and to StableHLO, and written;
a row says, for each of the three, the first twelve digits of the SHA-256 of what was written, or the first line of the
refusal. `--against` compares with an earlier run, names what differs, and exits with 1 where anything does.

Each model runs in a process of its own, two at a time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from onnx_vs_runtime import SHAPES
from peer import run_step

SUFFIXES = (".tflite", ".onnx", ".mlir", ".mlirbc")
ROUTES = {"top": ".mlir", "tosa": ".tosa", "stablehlo": ".mlir"}
"""Dialects, and what each is written as."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("../shared/models"))
    parser.add_argument("--json", type=Path, help="write the digests to this file")
    parser.add_argument("--against", type=Path, help="compare with the digests in this file")
    parser.add_argument("--only", default="", help="only models whose path has this in it")
    parser.add_argument("--step", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        warnings.simplefilter("ignore")
        print(json.dumps(fingerprint(Path(arguments.step[1]))))
        return
    paths = [path for path in sorted(arguments.folder.rglob("*")) if path.suffix in SUFFIXES and arguments.only in str(path)]
    with ThreadPoolExecutor(2) as pool:
        found = dict(zip((str(path.relative_to(arguments.folder)) for path in paths), pool.map(in_process, paths), strict=True))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    if arguments.against is None:
        print(json.dumps(found, indent=1))
        return
    before = json.loads(arguments.against.read_text())
    different = [
        f"{name} {route}: {was} -> {found[name].get(route)}" for name in found if name in before
        for route, was in before[name].items() if found[name].get(route) != was]
    print(*different, sep="\n")
    print(f"{len(found)} models, {len(different)} of {sum(map(len, found.values()))} outputs differ")
    sys.exit(bool(different))


def in_process(path: Path) -> dict[str, Any]:
    """The digests of one model, made in a process of its own."""
    return run_step(__file__, "fingerprint", path)


def fingerprint(path: Path) -> dict[str, str]:
    """For each dialect the digest of what the model becomes in it, or why it does not."""
    import transload

    shapes = SHAPES.get(path.parent.name, {})
    prints: dict[str, str] = {}
    with TemporaryDirectory() as folder:
        for dialect, suffix in ROUTES.items():
            file = Path(folder) / f"model{suffix}"
            try:
                module = transload.load(path, inputs=shapes)
                transload.save(transload.lower(module, to=dialect), file)
                prints[dialect] = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
            except transload.TransloadError as error:
                prints[dialect] = str(error).splitlines()[0]
    return prints


if __name__ == "__main__":
    main()
