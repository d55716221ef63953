"""torchvision's architectures, with random weights, from `.pt2` to the hub and TOSA: which are right, which are refused, and why.

    pip install torch torchvision
    python benchmarks/torchvision_models.py [resnet18 ...] [--groups video] [--most 100] [--again] [--docs]

Each is exported by `torch.export` as torchvision builds it, saved, read here, converted, and compared with what PyTorch
computes of the same random image: of 64 x 64 pixels, or of the size that `SIZES` says the architecture is built for. Weights that
torchvision starts with one number in all places (0 in the heads of ViT, 1e-6 where ConvNeXt scales) are random, too: else what is
before them would not be seen. Of detectors, whose number of boxes depends on the image, what comes before the boxes are chosen is
a row of its own (`Dense`). What was judged is kept in a file (`--json`), and not judged again without `--again`; `--docs` writes
all of that as the table of docs/torchvision.md.

The results: `right`, within 1e-5 of the greatest number, both at the hub and in TOSA, of what PyTorch computes in float32, or,
where that is itself not so near, in float64; `refused`, by an error of ours that says why; `not exported`, by torch.export;
`wrong` and `defect` (an exception that is no refusal) are ours to mend, and end the script with status 1. Where torchvision's C++
cannot be loaded, as with another torch than it is built for, its operators are written in Python here.
"""

from __future__ import annotations

import argparse
import gc
import inspect
import json
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import transload
from transload.errors import TransloadError

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # for `tests`, from wherever it is called
from tests.converters.pytorch.torchvision_ops import declare

SIZES: dict[str, tuple[int, ...]] = {
    "inception_v3": (96, 96), "vit": (224, 224), "maxvit": (224, 224), "ssd300": (300, 300), "raft": (128, 128),
    "mvit": (16, 224, 224), "s3d": (16, 64, 64), "r3d": (4, 64, 64), "mc3": (4, 64, 64), "r2plus1d": (4, 64, 64),
    "swin3d": (4, 64, 64), **dict.fromkeys(("fasterrcnn", "maskrcnn", "keypointrcnn", "retinanet", "fcos"), (128, 128))}
"""What the networks are given whose architecture asks for it; for videos, frames first. All others: 64 x 64 pixels."""
TOLERANCE = 1e-5
GROUPS = ("classification", "segmentation", "detection", "video", "optical_flow", "quantization")
PAGE = Path(__file__).resolve().parents[1] / "docs" / "torchvision.md"
START, END = "<!-- written by benchmarks/torchvision_models.py --docs -->\n", "<!-- end -->\n"


class Dense(nn.Module):
    """What a detector computes before it chooses boxes: features, heads, and, of two stages, what it makes of boxes given."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.backbone, self.two_stages = model.backbone, hasattr(model, "rpn")
        self.head = model.rpn.head if self.two_stages else model.head
        self.parts = nn.ModuleDict()
        self.pools: dict[str, tuple[int, int]] = {}
        for kind in ("box", "mask", "keypoint"):
            pool = getattr(model.roi_heads, f"{kind}_roi_pool", None) if self.two_stages else None
            if pool is not None:
                self.parts[kind] = nn.Sequential(
                    getattr(model.roi_heads, f"{kind}_head"), getattr(model.roi_heads, f"{kind}_predictor"))
                self.pools[kind] = (pool.output_size[0], pool.sampling_ratio)

    def forward(self, image: torch.Tensor, boxes: torch.Tensor | None = None) -> list[Any]:
        """All that the heads give, in order; `boxes` are pixels in 4 columns, looked at in the finest features."""
        features = self.backbone(image)
        levels = list(features.values()) if isinstance(features, dict) else [features]
        found = [self.head(levels)]
        for kind, part in self.parts.items():
            size, ratio = self.pools[kind]
            rois = torch.cat([torch.zeros_like(boxes[:, :1]), boxes], dim=1)  # type: ignore[index, arg-type, list-item]
            scale = levels[0].shape[-1] / image.shape[-1]
            pooled = torch.ops.torchvision.roi_align(levels[0], rois, scale, size, size, ratio, False)
            found.append(part(pooled))
        return found


def size_of(name: str) -> tuple[int, ...]:
    """The pixels that a network is given."""
    return next((size for prefix, size in SIZES.items() if name.startswith(prefix)), (64, 64))


def given_to(name: str, group: str, part: bool) -> tuple[Any, ...]:
    """The arguments that a network is exported with."""
    image = torch.rand(1, 3, *size_of(name))
    if group == "optical_flow":
        return image, torch.rand(image.shape)
    if group != "detection":
        return (image,)
    if not part:
        return ([image[0]],)
    corners = torch.rand(4, 2) * 32
    return (image, torch.cat([corners, corners + 8 + torch.rand(4, 2) * 20], 1)) if "rcnn" in name else (image,)


def built(name: str) -> nn.Module:
    """An architecture as torchvision builds it, with random weights."""
    from torchvision.models import get_model, get_model_builder

    torch.manual_seed(0)
    backbone = {"weights_backbone": None} if "weights_backbone" in inspect.signature(get_model_builder(name)).parameters else {}
    model: nn.Module = get_model(name, weights=None, **backbone).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.numel() > 1 and parameter.min() == parameter.max():
                parameter += torch.randn_like(parameter) * 0.1
        for key, buffer in model.named_buffers():  # statistics as after training
            if key.endswith("running_mean"):
                buffer.normal_(0, 0.1)
            elif key.endswith("running_var"):
                buffer.uniform_(0.5, 1.5)
    return model


def judged(name: str, group: str, part: bool, file: Path, most: float) -> dict[str, Any]:
    """What becomes of one architecture, or of the `part` of a detector before boxes are chosen."""
    model = built(name)
    parameters = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    row: dict[str, Any] = {"parameters": round(parameters, 1), "size": size_of(name), "group": group}
    if parameters > most:
        return row | {"result": "left out", "why": f"more than {most:g} million parameters (--most)"}
    given = given_to(name, group, part)
    if part:
        model = Dense(model).eval()
    try:
        program = torch.export.export(model, given)
    except Exception as error:  # torch.export is not ours, and what it raises of a network is of any kind
        return row | {"result": "not exported", "why": str(error).strip().splitlines()[0]}
    torch.export.save(program, file)
    with torch.no_grad():
        wanted = [each.numpy() for each in torch.utils._pytree.tree_leaves(model(*given))]
    del program
    if any(each.size > 1 and each.min() == each.max() for each in wanted):
        return row | {"result": "no evidence", "why": "an output has one number in all places"}
    inputs = [each.numpy() for each in torch.utils._pytree.tree_leaves(given)]
    try:
        row |= ours(file, inputs, wanted)
        if max(row["hub"], row["tosa"]) > TOLERANCE:
            row |= ours(file, inputs, in_float64(model, given)) | {"why": "beside float64: PyTorch's own float32 is not so near"}
    except TransloadError as error:
        why = "; ".join(dict.fromkeys(f"{finding.what}: {finding.why}" for finding in error.findings)) or error.message
        return row | {"result": "refused", "why": why[:300]}
    except Exception as error:  # whatever is no refusal is a defect: a row that says so, and status 1 at the end
        traceback.print_exc()
        return row | {"result": "defect", "why": f"{type(error).__name__}: {error}"[:300]}
    return row | {"result": "right" if max(row["hub"], row["tosa"]) <= TOLERANCE else "wrong"}


def in_float64(model: nn.Module, given: Any) -> list[np.ndarray]:
    """What PyTorch computes with twice the bits."""
    with torch.no_grad():
        made = model.double()(*torch.utils._pytree.tree_map(lambda each: each.double(), given))
    return [each.numpy() for each in torch.utils._pytree.tree_leaves(made)]


def ours(file: Path, inputs: Sequence[np.ndarray], wanted: Sequence[np.ndarray]) -> dict[str, Any]:
    """Read, convert and run a program: how far the hub and TOSA are off, relative to the greatest number of an output."""
    start = time.process_time()
    module = transload.load(file)
    hub = transload.legalize(module)
    row: dict[str, Any] = {"calls": sum(1 for op in module.ops() if op.name not in ("aten.Constant", "func.return"))}
    row["seconds"] = round(time.process_time() - start, 1)
    for place, there in (("hub", hub), ("tosa", transload.lower(hub, "tosa"))):
        results = transload.run(there, dict(zip(there.inputs, inputs, strict=True))).values()
        row[place] = max(off(result, expected) for result, expected in zip(results, wanted, strict=True))
    return row


def off(result: np.ndarray, expected: np.ndarray) -> float:
    """The greatest difference over the greatest number; infinite where one is no number and the other is."""
    difference = np.abs(result.astype(np.float64) - expected)
    greatest = float(difference.max() / max(float(np.abs(expected).max()), 1e-30))
    return greatest if np.isfinite(greatest) else float("inf")


def listed(groups: Sequence[str]) -> dict[str, tuple[str, str, bool]]:
    """The rows of some groups of torchvision's models: name, group, and whether it is only the part before boxes."""
    from torchvision import models

    rows = {}
    for group in groups:
        for name in models.list_models(module=models if group == "classification" else getattr(models, group)):
            rows[name] = (name, group, False)
            if group == "detection":
                rows[f"{name}, heads"] = (name, group, True)
    return rows


def table(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """What was judged, as text of a page: counts, then a table a group."""
    counts = Counter((row["group"], row["result"]) for row in rows.values())
    lines = []
    for group in GROUPS:
        chosen = {name: row for name, row in rows.items() if row["group"] == group}
        if chosen:
            told = ", ".join(f"{count} {result}" for (of, result), count in sorted(counts.items()) if of == group)
            lines += [f"## {group.replace('_', ' ').capitalize()}", "", f"{len(chosen)} rows: {told}.", "",
                      "| | millions of weights | input | result | hub | TOSA | seconds |", "|---|---|---|---|---|---|---|"]
            lines += [_line(name, row) for name, row in sorted(chosen.items())]
            lines.append("")
    return "\n".join(lines)


def _line(name: str, row: Mapping[str, Any]) -> str:
    size = " x ".join(map(str, row["size"]))
    result = row["result"] + (f": {_short(row['why'])}" if row.get("why") else "")
    numbers = [f"{row[place]:.1e}" if place in row else "" for place in ("hub", "tosa")]
    title = f"`{name.partition(',')[0]}`{', heads' if name.endswith('heads') else ''}"
    return f"| {title} | {row['parameters']} | {size} | {result} | {' | '.join(numbers)} | {row.get('seconds', '')} |"


def _short(why: str) -> str:
    """What was said, in one cell of a table."""
    said = " ".join(why.split()).replace("|", "\\|")
    return said if len(said) <= 110 else f"{said[:107]}..."


def write_page(rows: Mapping[str, Mapping[str, Any]]) -> None:
    """Put the table in its place in the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    PAGE.write_text(f"{before}{START}\n{table(rows)}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def main() -> int:
    """Judge what is asked for and not judged yet; 1 where anything is wrong or a defect."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="architectures, instead of whole groups")
    parser.add_argument("--groups", nargs="*", choices=GROUPS, default=GROUPS[:3])
    parser.add_argument("--most", type=float, default=1000.0, help="millions of parameters")
    parser.add_argument("--again", action="store_true", help="judge again what is in the file")
    parser.add_argument("--json", type=Path, default=Path("build/bench/torchvision.json"))
    parser.add_argument("--docs", action="store_true", help="write the table into docs/torchvision.md")
    options = parser.parse_args()
    declare()
    torch.set_num_threads(1)
    rows: dict[str, dict[str, Any]] = json.loads(options.json.read_text()) if options.json.exists() else {}
    options.json.parent.mkdir(parents=True, exist_ok=True)
    wanted = listed(GROUPS if options.names else options.groups)
    with tempfile.TemporaryDirectory() as folder:
        for row_name, (name, group, part) in wanted.items():
            if (options.names and name not in options.names) or (row_name in rows and not options.again):
                continue
            rows[row_name] = judged(name, group, part, Path(folder) / "model.pt2", options.most)
            print(_line(row_name, rows[row_name]), flush=True)
            options.json.write_text(json.dumps(rows, indent=2), encoding="utf-8")
            gc.collect()
    if options.docs:
        write_page(rows)
    return 1 if any(row["result"] in ("wrong", "defect") for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
