"""`Fused`: the inputs of a model that take pixels, where what makes numbers of these is a part of the program.

    fused = Fused(module, preprocess)
    fused.outside                       # the model as its users see it now: uint8, 1 x rows x columns x channels, red first
    fused.passes                        # what has to run at the hub to make it so
    fused.preprocess                    # what remains to be done to images: resizing, cropping
    fused.inside(pixels)                # what the model itself is given for these pixels
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..errors import UsageError
from ..ir import UI8, Module, TensorType, update_function_type
from ..ir.borders import RANGE, input_limits, input_names
from ..passes.steps import Step
from ..plugin_host import host
from .preprocess import Preprocess, Settled

__all__ = ["FUSE", "Fused"]

FUSE = "fuse-preprocess"
"""The pass that has an input take pixels."""


class Fused:
    """Of a model, the inputs that take images, and what becomes of these within the program and before it.

    Raises `UsageError` where no input takes an image, or there is no pass that could fuse it.
    """

    def __init__(self, module: Module, preprocess: Preprocess | None = None) -> None:
        host().get("passes", FUSE)
        preprocess = preprocess or Preprocess()
        preprocess.need_inputs(module.inputs)
        self.images = _images(module, preprocess)
        """By input, what the pixels become."""
        self.preprocess = Preprocess(inputs={name: _before(image) for name, image in self.images.items()})
        """What becomes of an image before the program sees it."""
        if len(self.images) == 1:
            self.preprocess = next(iter(self.preprocess.inputs.values()))
        self.outside = _outside(module, self.images)
        """A module that takes what the program does; its types and names are right, and it is not to be run."""

    @property
    def passes(self) -> str:
        """The passes to run at the hub, as text."""
        return ",".join(str(_step(image)) for image in self.images.values())

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know, in words."""
        return tuple(
            f"input {name!r} takes uint8 pixels, {self.outside.inputs[name]}, {_before(image).pixel_format}; the "
            f"program makes of them {image.arithmetic}"
            for name, image in self.images.items())

    def inside(self, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """What the model itself takes, for what the program is given."""
        return {name: self._numbers(self.images[name], array) if name in self.images else array for name, array in given.items()}

    def _numbers(self, image: Settled, pixels: np.ndarray) -> np.ndarray:
        backwards = image.preprocess.pixel_format == "bgr"
        return image.numbers(pixels[0, ..., ::-1] if backwards else pixels[0])


def _images(module: Module, preprocess: Preprocess) -> dict[str, Settled]:
    limits = input_limits(module.main)
    found: dict[str, Settled] = {}
    errors: list[UsageError] = []
    for name, type_ in module.inputs.items():
        if not isinstance(type_, TensorType) or preprocess.of(name).channel_format == "none":
            continue
        try:
            found[name] = preprocess.settled(name, type_, limits.get(name))
        except UsageError as error:
            errors.append(error)
    if not found:
        raise errors[0] if errors else UsageError("no input takes an image: there is nothing to fuse")
    return found


def _before(image: Settled) -> Preprocess:
    """What is left to do before the program: pixels of the right size, as decoders give them; and what it does itself."""
    own = image.preprocess
    said = (own.mean, own.scale) if image.span is None else (None, None)
    fused = Preprocess(mean=said[0], scale=said[1], pixel_format=own.pixel_format, channel_format=own.channel_format)
    pixel_format = "rgb" if own.pixel_format == "bgr" else own.pixel_format
    return replace(own, mean=None, scale=None, pixel_format=pixel_format, channel_format="nhwc", fused=fused)


def _outside(module: Module, images: Mapping[str, Settled]) -> Module:
    """The module with pixels for inputs; its body is that of the model, and not to be run."""
    outside = module.clone()
    main = outside.main
    attributes = [dict(each) for each in main.attributes.get("arg_attrs") or [{} for _ in outside.inputs]]
    for name, argument, own in zip(input_names(main), outside.body_of_main.arguments, attributes, strict=True):
        if name in images:
            crop, channels = images[name].preprocess.crop or (), len(images[name].preprocess.mean or ())
            argument.type = TensorType((1, *crop, channels), UI8)
            own.pop(RANGE, None)
    main.attributes["arg_attrs"] = attributes
    update_function_type(main)
    return outside


def _step(image: Settled) -> Step:
    """The pass for one input, with the real numbers that pixels stand for."""
    own = image.preprocess
    mean, scale = map(np.array, image.real)
    return Step(FUSE, lambda module: False, {
        "input": image.name, "mean": _text(mean), "scale": _text(scale), "pixel_format": own.pixel_format,
        "channel_format": own.channel_format})


def _text(numbers: np.ndarray) -> str:
    """Numbers with commas between, one where all are the same."""
    texts = [repr(float(number)) for number in numbers]
    return texts[0] if len(set(texts)) == 1 else ",".join(texts)
