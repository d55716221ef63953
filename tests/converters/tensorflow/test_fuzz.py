"""Files that are changed anywhere: each is refused with an error of ours, or gives a module that verifies."""

from __future__ import annotations

from typing import Any

from transload.passes.manager import Pipeline
from transload.testing import check_reader
from transload_converters.tensorflow import messages_pb2 as messages

from tests.converters.tensorflow.test_executor import cond, loop, nested_loops
from tests.converters.tensorflow.test_lists import squares
from tests.converters.tensorflow.test_savedmodel import first_kind, second_kind
from tests.support.tensorflow_graphs import graph

FUNCTIONAL = "tf-functionalize,tf-inline,tf-drop-training"


def functional(module: Any) -> None:
    Pipeline.parse(FUNCTIONAL).run(module.clone())


def frozen(module: Any) -> None:
    Pipeline.parse(f"{FUNCTIONAL},tf-freeze-variables").run(module.clone())


def test_graphs() -> None:
    for seed, graph_def in enumerate((cond(), graph(*loop()), nested_loops(), squares(None))):
        found = check_reader(graph_def.SerializeToString(), "tensorflow", count=150, seed=seed, then=frozen)
        assert min(found.values()) > 0


def test_saved_models() -> None:
    for seed, meta in enumerate((first_kind(), second_kind())):
        data = messages.SavedModel(saved_model_schema_version=1, meta_graphs=[meta]).SerializeToString()
        found = check_reader(data, "tensorflow", count=150, seed=seed, then=functional)  # no checkpoint lies beside it
        assert min(found.values()) > 0
