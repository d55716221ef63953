"""Scores of models that the workers of a cluster run: those of one process, in the same order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import UsageError

DIGITS = Path(__file__).parents[3] / "examples" / "digits"
METRICS = ("top1", "agreement", "sqnr", "cos")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    images = np.load(DIGITS / "test_images.npz")["images"][:24]
    path = tmp_path_factory.mktemp("data") / "images.npz"
    np.savez(path, image=(images / np.float32(16)).reshape(-1, 1, 8, 8))
    return path


@pytest.fixture(scope="module")
def labels() -> list[int]:
    return [int(label) for label in np.load(DIGITS / "test_images.npz")["labels"][:24]]


def test_files_modules_and_artifacts(client: Any, data: Path, labels: list[int], tmp_path: Path) -> None:
    """Each travels as what it is: a path, text, a path beside which a report says what integers stand for."""
    model = DIGITS / "digits_float.onnx"
    samples = transload.open_samples(data, transload.load(model), count=16)
    quantized = transload.quantize(transload.load(model), "int8", samples)
    transload.convert(model, "tosa", tmp_path / "out", quantize="int8", data=samples, verify=False,
                      quantizer_options={"quant_input": "all", "quant_output": "all"})
    models = [model, quantized, tmp_path / "out"]
    alone = transload.evaluate(models, data, labels=labels, metrics=METRICS)
    spread = transload.evaluate(models, data, labels=labels, metrics=METRICS, scheduler=client)
    assert spread.as_dict() == alone.as_dict()
    assert spread["module 2"]["agreement"].value > 0.9


def test_shapes_travel(client: Any, data: Path, labels: list[int]) -> None:
    found = transload.evaluate(
        [DIGITS / "digits_float.onnx"], data, labels=labels, shapes={"image": (1, 1, 8, 8)}, scheduler=client)
    assert found.samples == 24


def test_it_goes_on_from_what_was_measured(client: Any, data: Path, labels: list[int], tmp_path: Path) -> None:
    models = [DIGITS / "digits_float.onnx"]
    alone = transload.evaluate(models, data, labels=labels, resume=tmp_path / "state")
    spread = transload.evaluate(models, data, labels=labels, resume=tmp_path / "state", scheduler=client)
    assert spread.as_dict() == alone.as_dict()


def test_no_scheduler_answers(data: Path, labels: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("transload.scale.crew.CONNECTION", 0.5)
    with pytest.raises(UsageError, match="no Dask scheduler answers"):
        transload.evaluate([DIGITS / "digits_float.onnx"], data, labels=labels, scheduler="tcp://127.0.0.1:9")
