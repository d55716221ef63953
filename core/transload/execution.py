"""Running what there is: a module, the file of a model, or what a conversion wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import api
from .given import by_own_names, has_images, open_given, settled, shapes_of
from .guard import users_code
from .interrupts import interrupts_kept
from .ir import Module, input_names
from .kinds import CALLABLE, FLAG, MAPPING, MODEL, PREPROCESS, TEXT, takes
from .sizes_of_data import sizes_from
from .valid import module_given
from .written import written_at

if TYPE_CHECKING:
    import numpy as np

    from .ir import Value
    from .samples.preprocess import Preprocess

__all__ = ["run"]


@takes(
    module=MODEL, inputs=MAPPING, function=TEXT, engine=TEXT, keep=FLAG, watch=CALLABLE, tell=CALLABLE, preprocess=PREPROCESS)
@interrupts_kept()
def run(
    module: Module | str | Path,
    inputs: Mapping[str, Any],
    *,
    function: str = "main",
    engine: str = "auto",
    keep: bool = False,
    watch: Callable[[Value, np.ndarray], None] | None = None,
    tell: Callable[[str], None] | None = None,
    preprocess: Preprocess | None = None,
) -> dict[str, np.ndarray]:
    """Execute a module: input arrays by name, or files of them (`transload.given`), to output arrays by name, in order.

    `module` may be the path of a file that `load` reads, too, and the folder of a conversion, or a file in it that no reader
    takes: what was written runs by its target's own runtime, where it has one.

    `inputs` has for each name of `module.inputs` what numpy makes an array of, of the shape and element type said there: for
    quantized types the stored integers. Numbers of another type are taken where that type has all of them; an array of the
    other sign (int8 for uint8) is refused. A state of the module that is not given is what it is at first. `function` is one of
    `module.functions`, `engine` one that `transload plugins` lists.

    A module in a framework's dialect is legalized to the hub first. With `keep=True` every named intermediate that is
    computed there is in the result too, before the outputs: copies (identities, a reshape to the same shape), twins and constants
    are none, and `run(extract(module, [name]), ..)` gives such a tensor. `watch(value, array)` is called for every value as it is
    computed, named or not (reference engine only). `engine="auto"` compiles where that pays
    (`transload.engine.choice`). `preprocess` says how images become arrays. `tell(note)` is given what a user should know of the
    numbers: quantized ops whose integers nobody knows, which are computed by dequantizing; by whom an artifact is run; what
    became of images. Raises `RunError`.
    """
    module = api.model_of(module)
    written = written_at(Path(module)) if not isinstance(module, Module) else None
    given = open_given(inputs)
    if watch is not None:
        watch = _watching(watch)
    if preprocess is not None:
        from .samples.preprocess import beside_of, need_images

        need_images(has_images(given))
        if not isinstance(module, Module):
            preprocess = preprocess.before(beside_of(Path(module)))
    if written is not None:
        written.need_unasked(Path(module), function=function)
        if tell is not None:
            tell(written.said(engine, keep, watch is not None))
        return written.execute(settled(written.module, given, preprocess, tell), engine, keep, watch, tell)
    with sizes_from(given, preprocess=preprocess):
        loaded = module_given(module, "run") if isinstance(module, Module) else api.load_artifact(module, inputs=shapes_of(given))
    given = settled(loaded, given, preprocess, tell) if function == "main" else by_own_names(
        given, input_names(loaded.function(function)))
    return api.run(loaded, given, function=function, engine=engine, keep=keep, watch=watch, tell=tell)


def _watching(watch: Callable[[Value, np.ndarray], None]) -> Callable[[Value, np.ndarray], None]:
    """The user's own function, whose errors are the user's."""
    def told(value: Value, array: np.ndarray) -> None:
        with users_code():
            watch(value, array)

    return told
