"""The conformance tests of TOSA, made by the generator of `tosa-tools` and kept between runs.

The generator's own command makes tests one process at a time and converts them twice. Here its library is
called: the tests of an operator are listed and selected exactly as the command does, with its seed, and written.
A sample is drawn from all that are listed, for the selection takes longer than to write a sample. A test is a
folder with `desc.json`, `test.tosa` and its inputs; the results that implementations are compared with are made
by the reference model when first needed. Each appears when it is whole, and its folder is one process's at a time.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from transload.scratch import Hold

SPECIFICATION = "1.0.2"
PROFILES = {"int": "tosa-pro-int", "fp": "tosa-pro-fp"}
EXTENSIONS = {
    name: f"tosa-ext-{name}" for name in (
        "bf16", "controlflow", "doubleround", "fft", "fp8e4m3", "fp8e5m2", "inexactround", "int16", "int4", "variable")}
"""Those of specification 1.0; their tests are those that no profile alone has."""
LARGE = 1 << 18
"""Elements of a tensor from which on a test is left out of a sample, where there are others."""
KEPT = 1 << 22
"""Bytes of the reference model's results beyond which those of a test are not kept."""
SEED = 42  # the generator's own, with which the official tests are made


def available() -> str | None:
    """None, or why the suite cannot be made here."""
    try:
        version("tosa-tools")
    except PackageNotFoundError:
        return "install tosa-tools, which makes the conformance tests"
    missing = [name for name in ("jsonschema", "semver") if importlib.util.find_spec(name) is None]
    return f"install {', '.join(missing)}, which the generator of tosa-tools needs" if missing else None


def cache_folder(root: Path) -> Path:
    """Where the tests of this version of the generator are kept."""
    return root / f"tosa-tools-{version('tosa-tools')}-spec-{SPECIFICATION}"


@cache
def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"{name} of tosa-tools is not installed")
    return Path(next(iter(spec.submodule_search_locations)))


def library(kind: str) -> Path:
    """The shared library `generate` or `verify` of the reference model."""
    return _package("tosa_reference_model") / f"libtosa_reference_{kind}_lib.so"


@cache
def configuration() -> dict[str, Any]:
    """What to generate for each operator, as the generator's own file says."""
    config: dict[str, Any] = json.loads((_package("conformance") / "cts-config_v1.0.json").read_text())
    config.pop("$comment", None)
    return config


def _in_version(entry: dict[str, Any]) -> bool:
    def number(text: str) -> tuple[int, ...]:
        return tuple(int(part) for part in text.lstrip("v").split("-")[0].split("."))

    wanted = number(SPECIFICATION)
    return number(entry.get("from_version", "0.0.0")) <= wanted <= number(entry.get("to_version", "99.0.0"))


def _groups(operator: str, profile: str) -> list[tuple[str, dict[str, Any]]]:
    """The generation groups of an operator that need no more than the profile, or than an extension besides both profiles."""
    entry = configuration()[operator]
    if not _in_version(entry):
        return []
    wanted = PROFILES.get(profile) or EXTENSIONS[profile]
    allowed = {wanted, *(PROFILES.values() if profile in EXTENSIONS else ())}
    chosen = []
    for name, group in entry["generation"].items():
        every, one = group.get("supports_all", []), group.get("supports_any", [])
        if not every and not one:
            one = entry.get("profile", [])
        if wanted in every + one and allowed.issuperset(every) and _in_version(group):
            chosen.append((name, group))
    return chosen


def operators(profile: str) -> list[str]:
    """The operators that have tests of a profile ("int" or "fp") or extension ("int16", ...)."""
    return sorted(name for name in configuration() if _groups(name, profile))


def _commands(operator: str, profile: str) -> list[list[str]]:
    """The arguments that the generator's command would give to its builder, batch by batch."""
    config = configuration()[operator]
    commands = []
    for _, group in _groups(operator, profile):
        base = [
            "--generate-lib-path", str(library("generate")), "--filter", config.get("gen_filter", f"^{operator}$"),
            "--seed", str(SEED)]
        if "random_const_inputs" in config.get("support_for", []):
            base.append("--random-const-inputs")
        base += [
            "--tosa-version", SPECIFICATION, "--test-selection-config", str(_package("conformance") / "cts-config_v1.0.json"),
            "--test-selection-criteria", group.get("selector", "default")]
        if profile in PROFILES:
            base += ["--profile", PROFILES[profile], "--extension", "none"]
        else:
            base += ["--profile", *PROFILES.values(), "--extension", EXTENSIONS[profile]]
        commands += [[*base, "--test-type", "positive", *arguments] for arguments in group["generator_args"]]
        if not group.get("no_negative_tests"):
            more: list[str] = ["--tensor-dim-range", group.get("negative_dim_range", "1,16")]
            for dtype in _target_dtypes(group["generator_args"]):
                more += ["--target-dtype", dtype]
            versions = [a[i + 1] for a in group["generator_args"] for i, word in enumerate(a) if word == "--tosa-version"]
            commands.append([*base, "--test-type", "negative", *more, *(["--tosa-version", versions[-1]] if versions else [])])
    return commands


def _target_dtypes(batches: list[list[str]]) -> list[str]:
    """The element types that any batch names, in order."""
    found: list[str] = []
    for batch in batches:
        after = False
        for word in batch:
            if word.startswith("--"):
                after = word == "--target-dtype"
            elif after and word not in found:
                found.append(word)
    return found


def _listed(command: list[str], folder: Path, select: bool) -> tuple[Any, list[Any]]:
    """A test maker, and the tests that the command would write; without `select`, those that it would choose from."""
    from generator.tosa_test_gen import TosaTestGen
    from generator.tosa_test_select import TosaTestSelect, TosaTestSelectList
    from generator.tosa_verif_build_tests import _get_tosa_version, parseArgs
    from schemavalidation.schemavalidation import TestDescSchemaValidator

    # Each description is checked against its schema, and the schema against its own: a fifth of the time.
    TestDescSchemaValidator.validate_config = lambda *_, **__: None
    arguments = parseArgs([*command, "-o", str(folder)])
    maker = TosaTestGen(arguments, _get_tosa_version(arguments.tosa_version_str))
    tests = [
        TosaTestSelect(test)
        for operator in maker.TOSA_OP_LIST if re.match(arguments.filter + ".*", maker.getOperatorNameStr(operator))
        for test in maker.genOpTestList(
            operator, shapeFilter=arguments.target_shapes, rankFilter=arguments.target_ranks,
            dtypeFilter=arguments.target_dtypes, testType=arguments.test_type)]
    if not select:
        return maker, [test for test in tests if test.isSupported(arguments.profile, arguments.extension)]
    listed = TosaTestSelectList(configuration(), selectionCriteria=arguments.selection_criteria)
    for test in tests:
        listed.add(test)
    return maker, listed.select(
        rng=maker.testSelect_rng, profiles_chosen=arguments.profile, extensions_chosen=arguments.extension)


def _sampled(names: list[tuple[str, bool, bool]], sample: int) -> set[str]:
    """Names of `sample` tests: about a third negative, large ones only where there are not enough others."""
    rng = random.Random(SEED)

    def pick(some: list[tuple[str, bool, bool]], count: int) -> list[str]:
        order = sorted(some)
        rng.shuffle(order)
        order.sort(key=lambda test: test[2])
        return [name for name, _, _ in order[:count]]

    negative = [test for test in names if test[1]]
    positive = [test for test in names if not test[1]]
    refused = min(len(negative), max(sample // 3, sample - len(positive)))
    return {*pick(negative, refused), *pick(positive, sample - refused)}


def _is_large(test: Any) -> bool:
    sizes = [1]
    for shape in test.shapeList:
        size = 1
        for extent in shape:
            size *= int(extent)
        sizes.append(size)
    return max(sizes) > LARGE


def make_tests(root: Path, operator: str, profile: str, sample: int | None = None) -> list[Path]:
    """The folders of an operator's tests of one profile, made where they are not there; at most `sample` of them.

    Several processes call it within `held`.
    """
    folder = cache_folder(root) / profile / operator
    whole, some = folder / "all.json", folder / f"sample-{sample}.json"
    for index in (some, whole) if sample is not None else (whole,):
        if index.is_file():
            entries = [(entry[0], entry[1], entry[2]) for entry in json.loads(index.read_text())]
            chosen = {name for name, _, _ in entries}
            if sample is not None and index == whole:
                chosen = _sampled(entries, sample)
            if all((folder / name).is_dir() for name in chosen):
                return [folder / name for name in sorted(chosen)]
    made = folder / ".made"  # a test lies here until it is whole; what is here now, a stopped process left
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    with contextlib.redirect_stdout(io.StringIO()):
        batches = [_listed(command, made, sample is None) for command in _commands(operator, profile)]
        entries = list({
            str(test): (str(test), test.isError(), _is_large(test)) for _, tests in batches for test in tests}.values())
        chosen = {name for name, _, _ in entries} if sample is None else _sampled(entries, sample)
        for maker, tests in batches:
            for test in tests:
                if str(test) in chosen and not (folder / str(test)).is_dir():
                    _write(maker, test, made, folder)
    shutil.rmtree(made)
    written = [entry for entry in entries if entry[0] in chosen]
    _write_whole(whole if sample is None else some, json.dumps(written))
    return [folder / name for name in sorted(chosen)]


def _write(maker: Any, test: Any, made: Path, folder: Path) -> None:
    """Write one test, which the maker puts below a folder of the operator's name in `made`, into `folder` when it is whole."""
    maker.serializeTest(test)
    next(path for path in made.glob(f"*/{test}") if path.is_dir()).rename(folder / str(test))


def _write_whole(file: Path, text: str) -> None:
    """Write a file that is there when it is whole: who is stopped leaves none."""
    partial = file.with_suffix(f".{os.getpid()}")
    partial.write_text(text)
    partial.replace(file)


@contextlib.contextmanager
def held(root: Path, operator: str, profile: str) -> Iterator[None]:
    """Alone with an operator's tests of one profile: other processes that make or judge them wait; a stopped one holds none."""
    folder = cache_folder(root) / profile / operator
    folder.mkdir(parents=True, exist_ok=True)
    hold = Hold(folder)
    try:
        yield
    finally:
        hold.let_go()


def expected_results(test: Path, description: dict[str, Any]) -> str:
    """Run the reference model in its precise mode, once; `valid`, `unpredictable`, `error` or `failed`.

    Its results, and the bounds that some float tests are judged by, lie in the test's folder from then on.
    """
    note = test / "reference.txt"
    if note.is_file():
        return note.read_text()
    command = [
        str(_binary("tosa_reference_model")), "--tosa_level", "EIGHTK", "--operator_fbs", str(_package("bin") / "tosa.fbs"),
        "--test_desc", str(test / "desc.json"), "--precise_mode=1"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    status = {0: "valid", 1: "unpredictable", 2: "error"}.get(ran.returncode, "failed")
    _write_whole(note, status)
    return status


def forget_large_results(test: Path, description: dict[str, Any]) -> None:
    """Remove the reference model's results where they take megabytes: of the whole suite they would take 17 GB."""
    results = [path for file in description["ofm_file"] for path in (test / file, test / f"bounds_{file}") if path.is_file()]
    if sum(path.stat().st_size for path in results) > KEPT:
        (test / "reference.txt").unlink(missing_ok=True)
        for path in results:
            path.unlink()


@cache
def _binary(name: str) -> Path:
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        raise FileNotFoundError(f"{name} of tosa-tools is not on the path")
    return Path(found)
