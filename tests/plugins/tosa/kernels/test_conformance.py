"""A sample of TOSA's conformance tests, a few an operator; `make conformance` runs all of them.

The tests are made on the first run, by the generator of tosa-tools, and kept in `build/conformance`.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tosa_conformance as conformance
import tosa_conformance_suite as suite

ROOT = Path(__file__).parents[4]
SAMPLE = 3


def _need_suite() -> None:
    if missing := suite.available():
        pytest.skip(missing)


@pytest.fixture(scope="module")
def outcomes() -> list[Any]:
    """Of every operator, as many tests."""
    _need_suite()
    jobs = max(1, (os.cpu_count() or 1) // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))
    return conformance.run_suite(ROOT / "build" / "conformance", sample=SAMPLE, jobs=jobs)


def test_every_test_of_the_sample_is_as_it_should_be(outcomes: list[Any]) -> None:
    bad = [f"{o.outcome}: {o.profile} {o.test}: {o.why}" for o in outcomes if o.outcome not in conformance.GOOD]
    assert not bad, "\n".join(bad[:20])


def test_the_sample_has_every_operator_and_both_kinds(outcomes: list[Any]) -> None:
    assert {o.operator for o in outcomes} == set(suite.operators("int")) | set(suite.operators("fp"))
    kinds = {o.outcome for o in outcomes}
    assert {"passed", "refused"} <= kinds
    counts = {name: sum(o.operator == name for o in outcomes) for name in {o.operator for o in outcomes}}
    assert not [name for name, count in counts.items() if count < SAMPLE]


def test_profiles_are_those_that_the_tests_name(outcomes: list[Any]) -> None:
    """What `requirements` says of a graph with one operator, against what its test says."""
    from transload.plugin import Source, resolve
    from transload.plugin_host import host
    from transload_targets.tosa.requirements import requirements

    read = resolve(host().get("readers", "tosa").read)
    folders = {o.test: suite.cache_folder(ROOT / "build" / "conformance") / o.profile / o.operator / o.test for o in outcomes
               if o.outcome == "passed"}
    wrong = []
    for name, folder in folders.items():
        needs = json.loads((folder / "desc.json").read_text())["test_requirements"]
        path = folder / "test.tosa"
        module = read(Source(path, path.read_bytes(), path.name), {})
        found = requirements(module)
        assert not [v for r in found for v in r.violations], name
        profiles = {profile.replace("_", "-") for profile in ("pro_int", "pro_fp") if all(profile in r.profiles for r in found)}
        extensions = {extension for r in found for extension in r.extensions}
        if profiles != {p.removeprefix("tosa-") for p in needs["profiles_supported"]} or extensions:
            wrong.append((name, profiles, extensions, needs["profiles_supported"]))
    assert not wrong, wrong[:10]


def test_the_judge_sees_a_wrong_number(outcomes: list[Any]) -> None:
    """A result with one number changed is found wrong, of integers and of floats."""
    for profile in ("int", "fp"):
        chosen = next(o for o in outcomes if o.operator == "add" and o.outcome == "passed" and o.profile == profile)
        folder = suite.cache_folder(ROOT / "build" / "conformance") / profile / "add" / chosen.test
        description = json.loads((folder / "desc.json").read_text())
        name, file = description["ofm_name"][0], description["ofm_file"][0]
        assert suite.expected_results(folder, description) == "valid"
        ours = conformance._execute(folder, description)[0]
        assert conformance._judge(folder, description, name, file, ours) == ""
        changed = ours.copy()
        changed.reshape(-1)[-1] = 7 if changed.reshape(-1)[-1] != 7 else 8
        assert conformance._judge(folder, description, name, file, changed)
        assert conformance._judge(folder, description, name, file, np.concatenate([ours.reshape(-1), ours.reshape(-1)]))


def test_tests_that_a_stopped_run_made_in_part_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _need_suite()
    with monkeypatch.context() as patched:
        def stopped(maker: Any, test: Any, *folders: Path) -> None:
            maker.serializeTest(test)
            next(folders[0].glob(f"*/{test}/*.tosa")).unlink()
            raise KeyboardInterrupt

        patched.setattr(suite, "_write", stopped)
        with pytest.raises(KeyboardInterrupt):
            suite.make_tests(tmp_path, "abs", "fp", 2)
    made = suite.make_tests(tmp_path, "abs", "fp", 2)
    assert made and all((folder / json.loads((folder / "desc.json").read_text())["tosa_file"]).is_file() for folder in made)
    assert {path.name for path in suite.cache_folder(tmp_path).glob("fp/abs/*")} == {*(f.name for f in made), "sample-2.json"}
    shutil.rmtree(made[0])  # half a cache is none
    assert suite.make_tests(tmp_path, "abs", "fp", 2) == made and made[0].is_dir()


def test_processes_that_make_tests_at_once_wait_for_each_other(tmp_path: Path) -> None:
    _need_suite()
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        both = pool.map(conformance._run_operator, [(tmp_path, "abs", "fp", 3)] * 2, chunksize=1)
    assert both[0] == both[1]
    assert not [o for o in both[0] if o.outcome not in conformance.GOOD]
