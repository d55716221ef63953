"""Find out which TOSA operators Vela takes for each Ethos-U, and how well `check()` foretells it.

    python benchmarks/ethosu_probe.py                 # compare the target's check() with Vela, case by case
    python benchmarks/ethosu_probe.py --write         # write targets/transload_targets/ethosu/accepted.json anew

Every case of `ethosu_cases` is compiled for one accelerator of each family, in a forked process each: Vela
crashes on some of them. Needs `transload[ethosu]`, `tosa-tools`, and an operating system with `fork`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from ethosu_cases import Case, all_cases

ACCELERATORS = {"u55": "ethos-u55-128", "u65": "ethos-u65-256", "u85": "ethos-u85-256"}
TABLE = Path(__file__).parents[1] / "targets" / "transload_targets" / "ethosu" / "accepted.json"
SECONDS = 20


def compile_forked(path: Path, accelerator: str) -> str:
    """`ok`, or how Vela refused the file: its last line, or the signal that ended it."""
    from ethosu.vela import vela

    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        signal.alarm(SECONDS)
        try:
            out = str(path.parent / "out")
            vela.main([str(path), "--accelerator-config", accelerator, "--output-format", "raw", "--output-dir", out])
            os.write(1, b"\nok")
        except BaseException as error:
            os.write(1, f"\n{' '.join(str(error).split())}".encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        text = stream.read().decode("utf-8", "replace").rstrip()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return text.rsplit("\n", 1)[-1]


def measure(cases: Iterable[Case], families: Iterable[str]) -> list[tuple[Case, bytes, dict[str, str]]]:
    """Each case with its file and, for each family, what Vela said."""
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.tosa"
        for case in cases:
            data = case.build()
            path.write_bytes(data)
            measured.append((case, data, {family: compile_forked(path, ACCELERATORS[family]) for family in families}))
    return measured


def write_table(measured: list[tuple[Case, bytes, dict[str, str]]]) -> None:
    """Record for each op and signature the families that take it.

    `u55+` means: only where the result is rescaled; at a rescale, `+u55`: only right after a convolution.
    """
    table: dict[str, dict[str, str]] = {}

    def record(op: str, signature: str, family: str, mark: str) -> None:
        row = table[op]
        if family not in row.get(signature, "").split():
            row[signature] = " ".join(dict.fromkeys([*row.get(signature, "").split(), mark]))

    for case, _, _ in measured:
        table.setdefault(case.op, {})
    for case, _, answers in sorted(measured, key=lambda item: bool(item[0].rescaled)):
        for family, answer in answers.items():
            if answer == "ok" and not case.label:
                record(case.op, case.signature, family, f"{family}+" if case.rescaled else family)
                if case.rescaled:
                    record("tosa.rescale", f"{case.signature.split()[-1]} -> {case.rescaled}", family, f"+{family}")
    lines = ["{", f' "vela": {json.dumps(version("ethos-u-vela"))},', ' "accepted": {']
    ops = []
    for op, row in sorted(table.items()):
        entries = ",\n".join(f'   "{signature}": "{families}"' for signature, families in row.items())
        ops.append(f"  {json.dumps(op)}: {{\n{entries}\n  }}" if entries else f"  {json.dumps(op)}: {{}}")
    lines += [",\n".join(ops), " }", "}"]
    TABLE.write_text("\n".join(lines) + "\n")
    print(f"{TABLE}: {len(table)} ops, {sum(map(len, table.values()))} signatures")


def compare(measured: list[tuple[Case, bytes, dict[str, str]]]) -> int:
    """Print where check() and Vela disagree; returns how many models Vela takes that check() refuses."""
    from transload.errors import TransloadError
    from transload.plugin import Source
    from transload.plugin_host import host

    read = host().get("readers", "tosa")
    agree = missed = false_alarms = unreadable = 0
    for case, data, answers in measured:
        name = f"{case.op} {case.signature}" + (f" ({case.label})" if case.label else "")
        try:
            module = read(Source(None, data))
        except TransloadError as error:
            unreadable += 1
            if "ok" in answers.values():
                print(f"cannot be read, though Vela takes it: {name}: {error}")
            continue
        for family, answer in answers.items():
            findings = host().get("targets", ACCELERATORS[family]).check(module, {})
            if (answer == "ok") != bool(findings):
                agree += 1
            elif findings:
                false_alarms += 1
                print(f"{family}: Vela takes what check() refuses: {name}: {findings[0].why}")
            else:
                missed += 1
                print(f"{family}: check() passes what Vela refuses: {name}: {answer}")
    print(f"{agree} agree, {missed} missed, {false_alarms} false alarms, {unreadable} files refused by the reader")
    return false_alarms


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the table of accepted operators")
    parser.add_argument("--only", default="", help="ops whose name contains this")
    arguments = parser.parse_args()
    start = time.perf_counter()
    measured = measure([case for case in all_cases() if arguments.only in case.op], ACCELERATORS)
    print(f"{len(measured)} cases for {len(ACCELERATORS)} families in {time.perf_counter() - start:.0f} s")
    if arguments.write:
        write_table(measured)
    sys.exit(compare(measured) > 0)


if __name__ == "__main__":
    main()
