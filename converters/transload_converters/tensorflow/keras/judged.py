"""What of a file Keras may make when it judges: objects of its own that compute, wherever in the config they stand.

Keras makes whatever object a config names, in places that the reader does not look at, too: an initializer may be a layer, and
that layer code, or a function of Keras that fetches files.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transload.errors import ReadError

from .layer import foreign, rule_of
from .layers.activations import FUNCTIONS
from .model import class_of

__all__ = ["CODE", "refuse_code", "refuse_other_form"]

CODE = ("Lambda", "TFSMLayer", "TorchModuleWrapper", "JaxLayer", "FlaxLayer", "TensorFlowOpLayer")
"""Classes of layers that are code."""
_OUTSIDE = ("StringLookup", "IntegerLookup", "TextVectorization", "FeatureSpace")
"""Classes of layers that may read a file that the config names."""
_VALUES = frozenset({
    "__keras_tensor__", "__tensor__", "__numpy__", "__bytes__", "__ellipsis__", "__slice__", "__tuple__", "TensorShape"})
"""Values that JSON has no form for."""
_PARTS = frozenset({
    "zeros", "ones", "zero", "one", "constant", "randomnormal", "randomuniform", "truncatednormal", "variancescaling",
    "orthogonal", "orthogonalinitializer",
    "identity", "identityinitializer", "lecununiform", "lecunnormal", "glorotuniform", "glorotnormal",
    "heuniform", "henormal", "stft", "stftinitializer", "l1", "l2", "l1l2", "orthogonalregularizer", "maxnorm", "nonneg",
    "unitnorm", "minmaxnorm", "policy", "dtypepolicy", "floatdtypepolicy", "quantizeddtypepolicy", "quantizedfloat8dtypepolicy",
    "gptqdtypepolicy", "dtypepolicymap"})
"""Initializers, regularizers, constraints and policies, in small letters without `_`."""
_JUDGING = frozenset({
    "mean_squared_error", "mean_absolute_error", "mean_absolute_percentage_error", "mean_squared_logarithmic_error",
    "binary_crossentropy", "binary_focal_crossentropy", "categorical_crossentropy", "categorical_focal_crossentropy",
    "sparse_categorical_crossentropy", "categorical_hinge", "hinge", "squared_hinge", "huber", "log_cosh", "poisson",
    "kl_divergence", "cosine_similarity", "binary_accuracy", "categorical_accuracy", "sparse_categorical_accuracy",
    "top_k_categorical_accuracy", "sparse_top_k_categorical_accuracy"})
"""Functions that models in others were compiled with, as losses and metrics."""
_TRAINING = ("keras.optimizers", "keras.losses", "keras.metrics")
"""The modules of what models in others were compiled with."""


def refuse_other_form(path: Path, read_as_archive: bool) -> None:
    """Raise `ReadError` for a file that is an archive and HDF5 at once, of which Keras would make the other one: our reader
    goes by how a file begins, and Keras by its name and by how it ends."""
    if (path.name.endswith(".keras") and zipfile.is_zipfile(path)) != read_as_archive:
        ours, other = ("an archive", "HDF5") if read_as_archive else ("HDF5", "an archive")
        raise ReadError(f"it begins as {ours}, and Keras takes it for {other} by its name {path.name!r}",
                        hint="an archive is called .keras, and HDF5 .h5")


def refuse_code(config: Mapping[str, Any]) -> None:
    """Raise `ReadError` for a config that names an object which may do more than compute."""
    pending: list[Any] = [{key: value for key, value in config.items() if key != "compile_config"}]
    while pending:
        item = pending.pop()
        if isinstance(item, Mapping):
            if "class_name" in item and not _computes(item):
                named = str(item.get("config") if item["class_name"] == "function" else item["class_name"])[:80]
                raise ReadError(f"its config names {named!r} of {str(item.get('module'))[:80]!r}, which may do more than compute")
            pending += item.values()
        elif isinstance(item, list | tuple):
            pending += item


def _computes(item: Mapping[str, Any]) -> bool:
    name, module = item["class_name"], item.get("module")
    if not isinstance(name, str) or not isinstance(module, str | None):
        return False
    if name == "function":
        named = item.get("config")
        return not foreign(item) and isinstance(named, str) and (named in FUNCTIONS or named in _JUDGING)
    if name in _VALUES:
        return True
    if module not in (None, "keras", "builtins") and not module.startswith("keras."):
        return False
    if name.replace("_", "").lower() in _PARTS or (module is not None and module.startswith(_TRAINING) and name[:1].isupper()):
        return True
    layer = class_of(item)
    return layer not in (*CODE, *_OUTSIDE) and rule_of(layer) is not None
