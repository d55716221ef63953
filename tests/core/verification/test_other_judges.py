"""What judges where the format's own runtime does not, or does not agree with itself: other runtimes, and last bits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.context import Context
from transload.errors import RunError
from transload.ir import Module
from transload.plugin import Emitted, Runtime, Target
from transload.plugin_host import Host
from transload.verification.differences import compare_outputs, distance_in_words, of_plain
from transload.verification.last_bits import excused_by_last_bits, moved
from transload.verification.limits import broken_limits
from transload.verification.tolerance import Tolerance


def far(tensor: Any) -> bool:
    return bool(broken_limits(tensor, Tolerance()))


def excused(run: Any, given: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray]) -> set[int]:
    """The places of the outputs that last bits excuse."""
    return set(excused_by_last_bits(run, given, actual, compare_outputs(run(given), actual), range(len(actual)), far))


# --- last bits


def chaotic(given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Forty times stretched and folded, as a deep network of coarse steps does: the last bit decides."""
    x = np.asarray(given["x"], np.float32)
    for _ in range(40):
        x = (x * np.float32(1.9) + np.float32(0.1)) % np.float32(1)
    return {"y": x}


def smooth(given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {"y": np.tanh(given["x"])}


GIVEN = {"x": np.random.default_rng(0).random(500, dtype=np.float32)}


def test_a_result_is_no_nearer_to_a_runtime_than_its_inputs_last_bits_are() -> None:
    near = moved(GIVEN, 7)
    assert near is not None
    assert far(compare_outputs(chaotic(GIVEN), chaotic(near))[0])
    assert excused(chaotic, GIVEN, chaotic(near)) <= {0}
    assert excused(chaotic, GIVEN, {"y": chaotic(GIVEN)["y"] * 0.9 + 0.1 * chaotic(near)["y"]}) == {0}


def test_what_is_counted_is_as_near_as_many_are_the_same() -> None:
    """A result of integers without a cosine (`of_plain`): where last bits decide how many, as many may be others."""
    def counts(given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"y": (chaotic(given)["y"] * 8).astype(np.int32)}

    near = moved(GIVEN, 7)
    assert near is not None
    for actual, taken in ((counts(near)["y"], True), (counts(GIVEN)["y"] + 9, False)):
        plain = [*map(of_plain, compare_outputs(counts(GIVEN), {"y": actual}))]
        assert "cos" not in plain[0].metrics and far(plain[0])
        found = excused_by_last_bits(counts, GIVEN, {"y": actual}, plain, [0], far)
        assert bool(found) is taken
        assert all(distance_in_words(each).endswith("% of its numbers") for each in found.values())


def test_a_right_result_is_seldom_the_farthest() -> None:
    """What runs on inputs whose last bits moved gives is right, and excused but for one in twenty, the farthest."""
    right = 0
    for seed in range(1000, 1060):
        near = moved(GIVEN, seed)
        assert near is not None
        right += bool(excused(chaotic, GIVEN, chaotic(near)))
    assert right >= 54


def test_a_model_that_does_not_round_excuses_nothing() -> None:
    assert not excused(smooth, GIVEN, {"y": smooth(GIVEN)["y"] + np.float32(1e-7)})
    assert not excused(chaotic, GIVEN, {"y": -chaotic(GIVEN)["y"]})


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_inputs_move_by_their_last_bit(dtype: Any) -> None:
    array = np.array([1.0, -2.0, 0.0, 3.5] * 50, dtype)
    near = moved({"x": array, "n": np.arange(3)}, 0)
    assert near is not None and near["x"].dtype == dtype
    assert 0 < np.count_nonzero(near["x"] != array) < array.size
    np.testing.assert_allclose(near["x"], array, rtol=2 * np.finfo(dtype).eps, atol=np.finfo(dtype).tiny)
    np.testing.assert_array_equal(near["n"], np.arange(3))
    assert moved({"n": np.arange(3)}, 0) is None


def test_nothing_is_found_where_there_is_exactly_nothing() -> None:
    """A sum of what NonZero finds, and of the -1 behind it, passed: of the least floats above 0 onnxruntime finds all."""
    x = np.array([0, 1, 0, -2, 0, 0, 3, 0], np.float32)

    def places(given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"y": np.flatnonzero(given["x"]).sum(keepdims=True).astype(np.float32)}

    wrong = {"y": places({"x": x})["y"] - 5}
    assert far(compare_outputs(places({"x": x}), wrong)[0])
    assert not excused(places, {"x": x}, wrong)
    near = moved({"x": x}, 0)
    assert near is not None and (near["x"] != x).any() and not near["x"][x == 0].any()


# --- other runtimes


class Chip(Target):
    """A chip whose runtime adds `wrong` to what it computes."""

    name, doc, accepts = "chip", "A toy.", ("tosa",)

    def __init__(self, wrong: int = 0) -> None:
        self.wrong = wrong

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        transload.save(module, directory / f"{stem}.tosa")
        return Emitted([directory / f"{stem}.tosa"], {})

    def run(self, emitted: Emitted, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:  # type: ignore[override]
        return {name: steps_on(array, self.wrong) for name, array in transload.run(emitted.files[0], inputs).items()}


def steps_on(array: np.ndarray, steps: int) -> np.ndarray:
    """Integers so many steps on, saturated."""
    if array.dtype.kind == "f":
        return array + array.dtype.type(steps)
    limits = np.iinfo(array.dtype)
    return np.clip(array.astype(np.int64) + steps, limits.min, limits.max).astype(array.dtype)


def runtime(name: str, off: int | None, of_target: str = "") -> Runtime:
    """Runs `.tflite` files in our engine, and adds something; or refuses them all."""
    def opened(path: Path) -> Any:
        def run(inputs: Mapping[str, np.ndarray], keep: bool = False) -> dict[str, np.ndarray]:
            if off is None:
                raise RunError("no kernel for that")
            return {key: steps_on(array, off) for key, array in transload.run(path, inputs).items()}

        return run

    return Runtime(name, "tflite", opened, lambda: None, of_target=of_target)


def verdict(examples: Path, folder: Path, chip: Chip, *runtimes: Runtime, model: str = "digits_int8.tflite") -> Any:
    host = Host()
    host.targets["chip"] = chip
    host.runtimes.clear()
    host.runtimes.update({each.name: each for each in runtimes})
    with Context(host).bind():
        return transload.convert(examples / "digits" / model, "chip", folder).verification


def test_what_its_own_runtime_does_not_run_another_judges(examples: Path, tmp_path: Path) -> None:
    found = verdict(examples, tmp_path, Chip(), runtime("own", None), runtime("other", 0, "elsewhere"))
    assert (found.status, found.runtime) == ("passed", "other")
    assert any("judged by other, as own cannot run the model: no kernel" in note for note in found.notes)
    found = verdict(examples, tmp_path, Chip(wrong=9), runtime("own", None), runtime("other", 0, "elsewhere"))
    assert found.failed
    found = verdict(examples, tmp_path, Chip(), runtime("own", None), runtime("other", None, "elsewhere"))
    assert found.status == "skipped" and "own cannot run the model" in found.why


def test_a_runtime_of_a_target_does_not_define_the_format(examples: Path, tmp_path: Path) -> None:
    assert verdict(examples, tmp_path, Chip(), runtime("other", 9, "chip"), runtime("own", 0)).passed
    found = verdict(examples, tmp_path, Chip(), runtime("other", 0, "chip"))
    assert found.status == "skipped" and "no runtime is registered" in found.why


def test_what_the_target_gives_of_the_sources_own_file_is_right(examples: Path, tmp_path: Path) -> None:
    found = verdict(examples, tmp_path, Chip(wrong=9), runtime("own", 0), runtime("as the chip", 9, "chip"))
    assert found.passed and any("of the source's own file as the chip gives otherwise than own" in note for note in found.notes)
    assert found.tensors[0].metrics["max_abs"] == 9
    for of_target, off in (("chip", 5), ("another", 9)):
        assert verdict(examples, tmp_path, Chip(wrong=9), runtime("own", 0), runtime("r", off, of_target)).failed


def test_what_the_target_gives_is_no_rounding_where_it_is_far_away(examples: Path, tmp_path: Path) -> None:
    """OpenVINO's form of an operator of onnxruntime's own was 8.5 dB away, in whichever file, and passed."""
    found = verdict(examples, tmp_path, Chip(wrong=90), runtime("own", 0), runtime("as the chip", 90, "chip"))
    assert found.failed
    assert any("with less than 10 dB that is another meaning and no rounding" in note for note in found.notes)


def test_what_a_model_without_a_rounding_gives_nothing_of_the_targets_excuses(examples: Path, tmp_path: Path) -> None:
    """OpenVINO does not read `antialias`, of the source's own file either: its artifact passed at a cosine of 0.92."""
    runtimes = runtime("own", 0), runtime("as the chip", 9, "chip")
    found = verdict(examples, tmp_path, Chip(wrong=9), *runtimes, model="digits_float.tflite")
    assert found.failed
    assert any("as the chip gives otherwise than own" in note and "no rounding" in note for note in found.notes)


# --- functions, and targets that run alone what they are given


def test_a_function_of_a_file_is_judged(tmp_path: Path) -> None:
    path = tmp_path / "two.mlir"
    path.write_text("""
      module {
        func.func @predict(%a: tensor<4xf32>) -> tensor<4xf32> {
          %0 = "stablehlo.tanh"(%a) : (tensor<4xf32>) -> tensor<4xf32>
          "func.return"(%0) : (tensor<4xf32>) -> ()
        }
        func.func @other(%a: tensor<2xf32>) -> tensor<2xf32> { "func.return"(%a) : (tensor<2xf32>) -> () }
      }""")
    found = transload.convert(path, "tosa", tmp_path / "out", function="predict").verification
    assert found is not None and (found.status, found.runtime) == ("passed", "xla")


def test_a_runtime_of_main_functions_does_not_stand_in_for_another_function() -> None:
    """What a file's main function gives was taken for what the one that was asked for gives."""
    alone = Runtime("own", "format", lambda path: smooth, lambda: None)
    assert alone.opened(Path("m")) is smooth
    with pytest.raises(RunError, match="own runs the function main of a file, and not 'predict'"):
        alone.opened(Path("m"), (), "predict")


def test_what_a_targets_runtime_refuses_is_said_in_its_words(examples: Path, tmp_path: Path) -> None:
    class Refusing(Chip):
        accepts = ("onnx",)

        def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
            transload.save(module, directory / f"{stem}.onnx")
            return Emitted([directory / f"{stem}.onnx"], {})

        def run(self, emitted: Emitted, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:  # type: ignore[override]
            raise RunError("no license for Conv")

    host = Host()
    host.targets["chip"] = Refusing()
    with Context(host).bind(), pytest.raises(RunError, match="chip's own runtime cannot run the artifact: no license for Conv"):
        transload.convert(examples / "digits" / "digits_float.onnx", "chip", tmp_path)
