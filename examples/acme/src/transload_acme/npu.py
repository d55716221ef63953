"""The Acme NPU: an int8 machine with a table unit. Its limits and its program."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from transload import Emitted, Finding, Target
from transload.ir import Dense, IntegerType, TensorType

OPERATORS = {
    "tosa.add",
    "tosa.avg_pool2d",
    "tosa.clamp",
    "tosa.conv2d",
    "tosa.depthwise_conv2d",
    "tosa.identity",
    "tosa.max_pool2d",
    "tosa.rescale",
    "tosa.reshape",
    "tosa.table",
    "tosa.transpose",
}
LARGEST_TENSOR = 1 << 20


class AcmeNpu(Target):
    name = "acme-npu"
    doc = "Acme's int8 NPU (an example of a third party's chip)."
    accepts = ("tosa",)
    pipeline = "canonicalize,cse,dce"

    def options(self) -> dict[str, tuple[type | tuple[str, ...], Any, str]]:
        return {"banks": (int, 4, "memory banks that the program may use")}

    def check(self, module: Any, options: Mapping[str, Any]) -> list[Finding]:
        """Everything the NPU cannot take: operators it lacks, floats, tensors beyond its memory."""
        findings = []
        for op in module.ops():
            names = (op.origin,) if op.origin else ()
            if op.name in ("func.return", "tosa.const", "tosa.const_shape"):
                continue
            if op.name not in OPERATORS:
                findings.append(Finding(op.name, "the NPU has no such operator", names))
            for value in op.results:
                if not isinstance(value.type, TensorType):
                    continue
                if not isinstance(value.type.element, IntegerType):
                    findings.append(
                        Finding(
                            op.name,
                            f"the NPU computes with integers, not {value.type.element}",
                            names,
                            "quantize the model to int8 first",
                        )
                    )
                elif value.type.is_static and value.type.num_elements > LARGEST_TENSOR:
                    findings.append(Finding(op.name, f"{value.type} has more than {LARGEST_TENSOR} elements", names))
        return findings

    def emit(self, module: Any, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        """`STEM.acme.json`, a list of instructions on numbered registers, and `STEM.acme.npz`, the constants."""
        registers: dict[Any, int] = {}
        constants: dict[str, np.ndarray] = {}
        program: list[dict[str, Any]] = []
        for argument in module.body_of_main.arguments:
            registers[argument] = len(registers)
        for op in module.body_of_main:
            if op.name == "func.return":
                program.append({"op": "halt", "in": [registers[value] for value in op.operands]})
                continue
            for value in op.results:
                registers[value] = len(registers)
            dense = next((a for a in op.attributes.values() if isinstance(a, Dense)), None)
            if dense is not None:
                constants[f"r{registers[op.results[0]]}"] = dense.numpy()
                continue
            program.append(
                {
                    "op": op.name.removeprefix("tosa."),
                    "in": [registers[value] for value in op.operands],
                    "out": [registers[value] for value in op.results],
                    "bank": len(program) % options["banks"],
                    "name": op.origin,
                }
            )
        code, data = directory / f"{stem}.acme.json", directory / f"{stem}.acme.npz"
        code.write_text(json.dumps(program, indent=1), encoding="utf-8")
        np.savez(data, **constants)
        return Emitted(
            [code, data],
            {
                "instructions": len(program),
                "registers": len(registers),
                "constant bytes": sum(a.nbytes for a in constants.values()),
            },
        )
