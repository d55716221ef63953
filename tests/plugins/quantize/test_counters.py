"""Calibration by a cluster gives the table that one process gives, whoever counts, and whoever ends."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

import transload
from transload.errors import UsageError
from transload_plugins.quantize.counters import _grouped

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
            n_workers=4, threads_per_worker=1, processes=True, dashboard_address=":0", host="127.0.0.1") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def model(examples):
    return transload.load(examples / "digits" / "digits_float.onnx")


@pytest.fixture(scope="module")
def samples(model):
    (name, type_), = model.inputs.items()
    random = np.random.default_rng(5)
    return [{name: random.normal(size=type_.shape).astype(np.float32) * (1 + number % 7)} for number in range(50)]


@pytest.fixture(scope="module")
def alone(model, samples, tmp_path_factory):
    return written(transload.calibrate(model, samples), tmp_path_factory.mktemp("alone"))


def written(table, folder) -> tuple[str, bytes]:
    """A table's text, and its histograms."""
    file = table.save(folder / "model.table")
    return file.read_text(), file.with_name("model.table.npz").read_bytes()


def test_four_workers_give_the_same_table(cluster, model, samples, alone, tmp_path):
    assert written(transload.calibrate(model, samples, scheduler=cluster.scheduler_address), tmp_path) == alone


def test_a_worker_that_is_killed_midway_changes_nothing(cluster, model, samples, alone, tmp_path):
    with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
        victim = next(iter(client.run(os.getpid).values()))

        def killing():
            for number, sample in enumerate(samples):
                if number == 30:
                    os.kill(victim, signal.SIGKILL)
                yield sample

        assert written(transload.calibrate(model, killing(), scheduler=client), tmp_path) == alone
        assert victim not in client.run(os.getpid).values()


def test_few_samples_travel_together_at_first_and_more_later():
    samples = [{"x": np.full(2, number, np.float32)} for number in range(300)]
    groups = list(_grouped(samples))
    assert [sample["x"][0] for group in groups for sample in group] == list(range(300))
    sizes = list(map(len, groups))
    assert sizes[:8] == [4] * 8 and sizes[:-1] == sorted(sizes[:-1]) and max(sizes) == 16


def test_large_samples_travel_in_smaller_groups_than_dask_warns_of():
    large = [{"x": np.zeros(3 << 20, np.uint8)}] * 5
    assert list(map(len, _grouped(large))) == [2, 2, 1]
    assert list(map(len, _grouped([{"x": np.zeros(9 << 20, np.uint8)}] * 2))) == [1, 1]


def test_progress_is_told(cluster, model, samples):
    told = []
    transload.calibrate(
        model, samples, scheduler=cluster.scheduler_address, progress=lambda done, total: told.append((done, total)))
    done = [number for number, _ in told]
    assert done[-1] == 50 and done == sorted(done)


def test_a_sample_that_is_no_number_is_named(cluster, model, samples):
    (name,) = samples[0]
    with pytest.raises(UsageError, match="in sample 3 has numbers that are not finite"):
        transload.calibrate(
            model, [*samples[:2], {name: samples[0][name] * np.nan}], scheduler=cluster.scheduler_address)


def test_no_sample_is_said(cluster, model):
    with pytest.raises(UsageError, match="there is none"):
        transload.calibrate(model, [], scheduler=cluster.scheduler_address)


def test_a_state_to_go_on_from_is_not_for_a_cluster(cluster, model, samples, tmp_path):
    with pytest.raises(UsageError, match="keeps no state"):
        transload.calibrate(model, samples, scheduler=cluster.scheduler_address, resume=tmp_path / "state")
