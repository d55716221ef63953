"""What is installed for what: extras that are complete, and no package that nothing imports."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

MODULES = {
    "protobuf": r"google\.protobuf", "opencv-python-headless": "cv2",
    "ethos-u-vela": "ethosu", "ai-edge-litert": "ai_edge_litert", "pillow": "PIL", "hatchling": "hatchling",
    "iree-base-compiler": "iree", "iree-base-runtime": "iree", "tflite-micro": "tflite_micro", "scikit-learn": "sklearn",
    "onnx-ir": "onnx_ir",
    "mkdocstrings": "mkdocstrings"}
"""Import names that differ from the distribution's."""
TOOLS = {"import-linter", "mypy", "pytest-cov", "pytest-timeout", "pytest-xdist", "ruff", "mkdocstrings", "zensical",
         "hatchling", "tosa-converter-for-tflite"}
"""Run as commands or as plugins of others."""
FOR_USERS = {
    "tflite", "onnx", "tensorflow", "keras", "caffe", "ethosu", "stablehlo", "xla", "images", "report", "coco", "litert",
    "onnxruntime", "opencv", "verify"}
APART = {"pytorch", "memory", "dask", "iree", "tflm", "openvino", "coreml"}
"""Not in `all`: a gigabyte, which only judges, a solver that takes no newer protobuf, clusters, compilers of other targets."""


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has none")
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def resolved(project: dict[str, Any], extra: str) -> set[str]:
    """The distributions that an extra brings."""
    found: set[str] = set()
    for requirement in project["optional-dependencies"][extra]:
        inner = re.fullmatch(r"transload\[([\w,]+)\]", requirement)
        found |= set().union(*(resolved(project, each) for each in inner[1].split(","))) if inner else {
            re.match(r"[\w-]+", requirement)[0]}  # type: ignore[index]
    return found


def test_all_is_all(project: dict[str, Any]) -> None:
    extras = project["optional-dependencies"]
    assert set(extras) == FOR_USERS | APART | {"all", "demo", "test", "bench", "browser", "docs"}
    assert resolved(project, "all") == set().union(*(resolved(project, extra) for extra in FOR_USERS))


def test_the_demo_is_light(project: dict[str, Any]) -> None:
    assert resolved(project, "demo") == {"flatbuffers", "ethos-u-vela", "ai-edge-litert"}


def test_every_package_is_imported(root: Path, project: dict[str, Any]) -> None:
    """By the code that its extra is for: that of the packages, or of tests, benchmarks and examples, too."""
    code = {folder: "\n".join(file.read_text(encoding="utf-8") for file in (root / folder).rglob("*.py"))
            for folder in ("core", "converters", "plugins", "targets", "tests", "benchmarks", "examples")}
    ours = "\n".join(code[folder] for folder in ("core", "converters", "plugins", "targets"))
    needed = {re.match(r"[\w-]+", each)[0]: ours for each in project["dependencies"]}  # type: ignore[index]
    needed |= dict.fromkeys(resolved(project, "all"), ours)
    for extra in ("test", "bench"):
        needed |= {name: "\n".join(code.values()) for name in resolved(project, extra) if name not in needed}
    for name, text in needed.items():
        module = MODULES.get(name, name.replace("-", "_"))
        if name not in TOOLS:
            assert re.search(rf"(import|from) {module}\b|[\"']{module}[.:\"']", text), f"nothing imports {name}"


def test_pages_name_every_extra(root: Path) -> None:
    page = (root / "docs" / "index.md").read_text(encoding="utf-8")
    assert FOR_USERS | APART | {"all"} <= set(re.findall(r"`(\w+)`", page))


class TestDockerfile:
    """There is no Docker here: what its lines name is there, and a wheel comes of what it copies alone."""

    @pytest.fixture
    def lines(self, root: Path) -> list[list[str]]:
        return [line.split() for line in (root / "Dockerfile").read_text(encoding="utf-8").splitlines()
                if line and not line.startswith("#")]

    @pytest.fixture
    def copied(self, lines: list[list[str]]) -> list[tuple[str, str]]:
        return [(source, line[-1]) for line in lines if line[0] == "COPY" and not line[1].startswith("--")
                for source in line[1:-1]]

    def test_a_wheel_comes_of_what_it_copies(self, root: Path, copied: list[tuple[str, str]], tmp_path: Path) -> None:
        pytest.importorskip("hatchling")
        for source, place in copied:
            target = tmp_path / "source" / (Path(place) / Path(source).name if (root / source).is_file() else place)
            if (root / source).is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(root / source, target)
            else:
                shutil.copytree(root / source, target, ignore=shutil.ignore_patterns("__pycache__"))
        subprocess.run(
            [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, "."],
            cwd=tmp_path / "source", check=True, capture_output=True)
        (wheel,) = tmp_path.glob("transload-*.whl")
        names = zipfile.ZipFile(wheel).namelist()
        assert {name.partition("/")[0] for name in names} >= {
            "transload", "transload_hub", "transload_converters", "transload_plugins", "transload_targets"}
        assert "transload/py.typed" in names and any(name.endswith("/man/man1/transload.1") for name in names)

    def test_what_it_copies_is_sent_to_docker(self, root: Path, copied: list[tuple[str, str]]) -> None:
        sent = {line[1:] for line in (root / ".dockerignore").read_text(encoding="utf-8").splitlines() if line.startswith("!")}
        assert sent == {source for source, _ in copied}

    def test_its_extras_and_its_command_are_ours(self, lines: list[list[str]], project: dict[str, Any]) -> None:
        (extras,) = [line[1].partition("=")[2] for line in lines if line[0] == "ARG"]
        assert set(extras.split(",")) <= set(project["optional-dependencies"])
        (command,) = [json.loads(line[1]) for line in lines if line[0] == "ENTRYPOINT"]
        assert command[0] in project["scripts"]
