"""torchvision's architectures, with random weights, from `.pt2` to the hub: which are right, and which are refused, and why.

    pip install torch torchvision
    python benchmarks/torchvision_models.py [--only resnet18 ...] [--tosa] [--most 100] [--json build/bench/torchvision.json]

Each is exported by `torch.export` as torchvision builds it, saved, read here, converted, and compared with what PyTorch
computes of the same random image. Where only torchvision's Python is installed, and not its C++, its operators are declared here.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import transload
from transload.errors import TransloadError

SIZES = {"inception_v3": 96, "vit": 224, "swin": 224, "maxvit": 224, "ssd300": 300, "ssdlite": 320}
"""Images that a network is built for; all others are given 64 x 64, 1."""
TOLERANCE = 1e-5


def declare_operators() -> None:
    """torchvision's operators, where its C++ is not there: that they exist is enough to build and export networks."""
    try:
        import torchvision

        if torchvision.extension._has_ops():
            return
    except (RuntimeError, ImportError):
        for name in [name for name in sys.modules if name.startswith("torchvision")]:
            del sys.modules[name]
    library = torch.library.Library("torchvision", "FRAGMENT")
    for schema in (
            "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
            "qnms(Tensor dets, Tensor scores, float iou) -> Tensor",
            "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
            "int sampling_ratio, bool aligned) -> Tensor",
            *(f"{name}(Tensor a, Tensor b, float c, SymInt d, SymInt e{more}) -> (Tensor, Tensor)" for name, more in (
                ("roi_pool", ""), ("ps_roi_align", ", int f"), ("ps_roi_pool", ""))),
            "deform_conv2d(Tensor a, Tensor b, Tensor c, Tensor d, Tensor e, SymInt f, SymInt g, SymInt h, SymInt i, SymInt j, "
            "SymInt k, SymInt l, SymInt m, bool n) -> Tensor",
            *(f"_{name}_backward(Tensor a) -> Tensor" for name in ("roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool")),
            "_deform_conv2d_backward(Tensor a) -> Tensor", "_cuda_version() -> int"):
        library.define(schema)
    _LIBRARIES.append(library)


_LIBRARIES: list[Any] = []


def side(name: str) -> int:
    """Pixels of the image that a network is given."""
    return next((size for prefix, size in SIZES.items() if name.startswith(prefix)), 64)


def judged(name: str, folder: Path, tosa: bool, most: float) -> dict[str, Any]:
    """One architecture: what became of it."""
    from torchvision.models import get_model, get_model_builder

    torch.manual_seed(0)
    backbone = {"weights_backbone": None} if "weights_backbone" in inspect.signature(get_model_builder(name)).parameters else {}
    model = get_model(name, weights=None, **backbone).eval()
    size = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    row: dict[str, Any] = {"parameters": round(size, 1)}
    if size > most:
        return row | {"result": f"left out: more than {most:g} million parameters (--most)"}
    image = torch.rand(1, 3, side(name), side(name))
    given = ([image[0]],) if _is_detector(name) else (image,)
    start = time.process_time()
    try:
        program = torch.export.export(model, given)
    except Exception as error:  # whatever torch.export raises of a network
        return row | {"result": "not exported by torch.export", "why": str(error).strip().splitlines()[0][:160]}
    file = folder / "model.pt2"
    torch.export.save(program, file)
    with torch.no_grad():
        wanted = torch.utils._pytree.tree_leaves(model(*given))
    try:
        module = transload.load(file)
        row["calls"] = sum(1 for op in module.ops() if op.name not in ("aten.Constant", "func.return"))
        hub = transload.legalize(module)
        if tosa:
            hub = transload.lower(hub, "tosa")
        results = list(transload.run(hub, {next(iter(hub.inputs)): image.numpy()}).values())
    except TransloadError as error:
        why = "; ".join(dict.fromkeys(f"{finding.what}: {finding.why}" for finding in error.findings)) or error.message
        return row | {"result": "refused", "why": why[:300]}
    off = max(float(np.abs(result - expected.numpy()).max() / max(float(expected.abs().max()), 1e-30))
              for result, expected in zip(results, wanted, strict=True))
    return row | {"result": "right" if off <= TOLERANCE else "wrong", "off": off, "seconds":
                  round(time.process_time() - start, 1)}


def _is_detector(name: str) -> bool:
    return any(word in name for word in ("rcnn", "ssd", "retinanet", "fcos"))


def main() -> None:
    """Judge all architectures, or some, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--tosa", action="store_true")
    parser.add_argument("--most", type=float, default=100.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    declare_operators()
    from torchvision import models

    torch.set_num_threads(1)
    names = options.only or [name for module in (models, models.segmentation, models.detection)
                             for name in models.list_models(module=module)]
    rows: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            try:
                rows[name] = judged(name, Path(folder), options.tosa, options.most)
            except Exception as error:
                rows[name] = {"result": "failed", "why": f"{type(error).__name__}: {str(error)[:200]}"}
            row = rows[name]
            cells = (row.get("parameters", ""), row["result"], f"{row.get('off', 0.0):.1e}", row.get("why", ""))
            print(f"| `{name}` | {' | '.join(map(str, cells))} |", flush=True)
            if options.json:
                options.json.parent.mkdir(parents=True, exist_ok=True)
                options.json.write_text(json.dumps(rows, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
