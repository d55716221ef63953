"""Cases on real models: what is on one side is not on the other, and samples are what they are said to be."""

from __future__ import annotations

import numpy as np
import pytest
import quantizer_models
from PIL import Image
from quantizer_cases import CASES
from quantizer_models import MODELS, PHOTOGRAPHS, RATE, Missing, Pictures, over_noise
from quantizer_tools import float_model


def test_no_photograph_is_on_both_sides():
    assert not set(PHOTOGRAPHS["calibration"]) & set(PHOTOGRAPHS["evaluation"])


@pytest.mark.parametrize("name", MODELS)
def test_what_is_not_there_is_missing(name: str, monkeypatch, tmp_path):
    monkeypatch.setattr(quantizer_models, "FOLDER", tmp_path)
    with pytest.raises(Missing, match="TRANSLOAD_MODELS"):
        MODELS[name]()


def test_pixels_become_what_each_network_takes(monkeypatch, tmp_path):
    """Red 255, green 51, blue 0: channels first and blue first for ONNX where so trained; brightness alone in one channel."""
    Image.new("RGB", (16, 16), (255, 51, 0)).save(tmp_path / "red.png")
    monkeypatch.setattr(quantizer_models, "fetch", lambda: tmp_path)
    monkeypatch.setattr(quantizer_models, "PHOTOGRAPHS", {"evaluation": ("red.png",)})
    (last,) = Pictures(("a.tflite",), 2, 4, 127.5, 127.5).arrays("evaluation", 1)
    (first,) = Pictures(("a.onnx",), 2, 4, 0.0, 1.0, "BGR").arrays("evaluation", 1)
    (bright,) = Pictures(("a.onnx",), 2, 4, 0.0, 255.0, "Y").arrays("evaluation", 1)
    assert last.shape == (1, 2, 4, 3) and np.allclose(last[0, 0, 0], (1.0, -0.6, -1.0))
    assert first.shape == (1, 3, 2, 4) and np.allclose(first[0, :, 0, 0], (0.0, 51.0, 255.0))
    assert bright.shape == (1, 1, 2, 4) and np.allclose(bright, (0.299 * 255 + 0.587 * 51) / 255, atol=0.005)


def test_words_over_noise_are_a_second_of_sound_and_the_same_each_time():
    spoken, noise = np.sin(np.arange(RATE) / 10), np.ones(RATE)
    made = [over_noise(spoken, noise, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert made[0].shape == (RATE,) and made[0].dtype == np.float32 and np.abs(made[0]).max() <= 1.0
    assert np.array_equal(made[0], made[1]) and not np.array_equal(made[0], made[2])


def test_words_calibrate_and_judge_by_other_seeds(models):
    case = MODELS["kwt1"]()
    parts = ({sample["input_1"].tobytes() for sample in part[".onnx"]} for part in (case.calibration, case.evaluation))
    assert not set.intersection(*parts) and len(case.evaluation[".onnx"]) == len(case.labels)


@pytest.mark.parametrize("ending", [".onnx", ".tflite"])
def test_a_softmax_at_the_end_is_cut_off(ending: str, monkeypatch, tmp_path):
    """Its operand comes out: the softmax of that is what the whole network gives; what has none stays as it is."""
    monkeypatch.setattr(quantizer_models, "BUILT", tmp_path)
    case = CASES["digits"]()
    whole = case.files[ending]
    cut_off = quantizer_models.without_softmax(whole)
    sample = case.evaluation[ending][0]
    (logits,), (shares,) = (float_model(path, None, "")(sample).values() for path in (cut_off, whole))
    assert np.allclose(np.exp(logits) / np.exp(logits).sum(), shares, atol=1e-6) and not np.allclose(logits, shares)
    assert quantizer_models.without_softmax(cut_off) == cut_off


@pytest.mark.filterwarnings("ignore:Warning. Enabling .experimental_preserve_all_tensors")
def test_of_a_cut_network_no_tensor_is_left_that_nothing_computes(monkeypatch, tmp_path):
    """A calibrator that reads them all would find no data."""
    from ai_edge_litert.interpreter import Interpreter

    monkeypatch.setattr(quantizer_models, "BUILT", tmp_path)
    path = quantizer_models.without_softmax(CASES["digits"]().files[".tflite"])
    interpreter = Interpreter(model_path=str(path), experimental_preserve_all_tensors=True)
    interpreter.allocate_tensors()
    interpreter.invoke()
    sizes = [interpreter.get_tensor(each["index"]).size for each in interpreter.get_tensor_details()]
    assert len(sizes) > 5 and min(sizes) > 0
