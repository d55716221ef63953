"""What becomes of an image before a model sees it: `Preprocess`, as options say it and as `preprocess.toml` keeps it.

    preprocess = Preprocess(resize_dims=(256, 256), mean=(123.7, 116.3, 103.5), scale=(0.017,) * 3, pixel_format="rgb")
    preprocess.write("preprocess.toml")
    ready = preprocess.settled("image", type_)     # all that was left open said, by what the input takes
    ready.numbers(pixels)                          # (x - mean) * scale, in the input's shape and element type

An image is resized, cropped in the middle to the input's size, and its pixels become numbers, `(x - mean) * scale`.

Source: TPU-MLIR Technical Reference Manual, table 3.1 (the options of `model_transform` for images).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artifact_set import IMAGES
from ..digits import real_number
from ..errors import ReadError, UsageError, written
from ..files import atomic_path, exists, is_folder, need_file
from ..reported import need_files, written_with
from ..shell import quoted
from ..sizes_text import sizes_text
from ..suggest import nearest
from ..toml_text import MAX_BYTES, toml_table
from .preprocess_text import lines_of, lines_of_fused, numbers_text, toml_string

if TYPE_CHECKING:
    import numpy as np

    from ..ir import QuantType, TensorType, Type

__all__ = ["FILE", "Preprocess", "Settled", "beside_first", "beside_of", "joined"]

FILE = IMAGES
"""Its file, beside an artifact."""
CHANNELS = {"gray": 1, "rgb": 3, "bgr": 3, "rgbd": 4}
"""Pixel formats, and how many numbers a pixel has in each; the fourth of `rgbd` is what the file keeps as alpha."""
CHANNEL_FORMATS = ("nhwc", "nchw", "none")
RATIO_MODES = ("letterbox", "short_side_scale")
PAD_TYPES = ("center", "normal")
_OF_SHAPE = ("keep_ratio_mode", "pad_value", "pad_type")
"""How an image keeps its shape."""
_PARTS = ("resize_dims", "keep_aspect_ratio", "keep_ratio_mode", "pad_value", "pad_type", "crop")
"""Fields that say which part of an image is taken, and how large."""
_OF_FUSED = ("mean", "scale", "pixel_format", "channel_format")
"""Fields that say what a program does with pixels."""
_LARGEST = 1 << 15
"""Rows and columns that an image may be resized to."""


@dataclass(frozen=True)
class Preprocess:
    """How images become what an input takes; what is None follows from the input's type (`settled`).

    Raises `UsageError` where it says what cannot be.
    """

    resize_dims: tuple[int, int] | None = None
    """Rows and columns to resize to; those of `crop`, or of the input, where None."""
    keep_aspect_ratio: bool = False
    """Whether the image keeps its shape: what is left over is padded, or cut off (`keep_ratio_mode`)."""
    keep_ratio_mode: str = "letterbox"
    """`letterbox`: as large as fits, the rest padded; `short_side_scale`: so large that all is covered, the rest cut off."""
    pad_value: int = 0
    """The pixels padded with, 0 to 255."""
    pad_type: str = "center"
    """`center`: padded on both sides; `normal`: to the right and below."""
    crop: tuple[int, int] | None = None
    """Rows and columns of the part in the middle that is taken of the resized image; those of the input where None."""
    mean: tuple[float, ...] | None = None
    """Of each channel, or one for all; pixels are 0 to 255."""
    scale: tuple[float, ...] | None = None
    """By which the difference to the mean is multiplied. With neither mean nor scale, 0 to 255 span what the input takes."""
    pixel_format: str | None = None
    """One of `CHANNELS`; where None, `gray`, `rgb` or `rgbd`, by the number of channels."""
    channel_format: str | None = None
    """`nhwc` or `nchw`, guessed by the input's shape where None; `none` says that the input takes no image."""
    inputs: Mapping[str, Preprocess] = field(default_factory=dict)
    """What holds for single inputs, by name, instead of all this."""
    fused: Preprocess | None = None
    """What the program itself does with the pixels that it takes: mean, scale, pixel and channel format of the model's input."""
    stored: QuantType | None = None
    """What the integers that an artifact takes stand for; `mean` and `scale` make real numbers all the same."""

    def __post_init__(self) -> None:
        for name in ("resize_dims", "crop", "mean", "scale", "pad_value", "keep_aspect_ratio"):
            object.__setattr__(self, name, _plain(getattr(self, name)))
        for name in ("resize_dims", "crop"):
            object.__setattr__(self, name, _sizes(name, getattr(self, name)))
        for name in ("mean", "scale"):
            object.__setattr__(self, name, _numbers(name, getattr(self, name)))
        if self.scale is not None and 0.0 in self.scale:
            raise UsageError(
                "preprocessing: scale is 0, and all pixels would be the same number",
                hint="pixels become (x - mean) * scale, x being 0 to 255: 0.00392157 makes them 0 to 1")
        for name, choices in (
            ("keep_ratio_mode", RATIO_MODES), ("pad_type", PAD_TYPES), ("pixel_format", (None, *CHANNELS)),
            ("channel_format", (None, *CHANNEL_FORMATS)),
        ):
            if getattr(self, name) not in choices:
                raise UsageError(
                    f"preprocessing: {name} is {getattr(self, name)!r}",
                    hint=f"one of {', '.join(choice for choice in choices if choice is not None)}")
        if not isinstance(self.pad_value, int) or not 0 <= self.pad_value <= 255:
            raise UsageError(f"preprocessing: pad_value is {self.pad_value!r}; pixels are 0 to 255")
        if not isinstance(self.keep_aspect_ratio, bool):
            raise UsageError(f"preprocessing: keep_aspect_ratio is {self.keep_aspect_ratio!r}; true or false")
        for name, own in self.inputs.items():
            if own.inputs:
                raise UsageError(f"preprocessing: [inputs.{toml_string(name)}] has inputs of its own, of which there are none")
        self._need_effects()

    def has_effect(self, name: str) -> bool:
        """Whether a field counts that says how an image keeps its shape: where it does, and, of padding, is padded."""
        return self.keep_aspect_ratio and (name == "keep_ratio_mode" or self.keep_ratio_mode == "letterbox")

    def _need_effects(self) -> None:
        """`UsageError` for what says how an image keeps its shape, where it does not, or is not padded."""
        for name in _OF_SHAPE:
            if getattr(self, name) != getattr(Preprocess, name) and not self.has_effect(name):
                raise UsageError(
                    f"preprocessing: {name} is for images that {'are padded' if self.keep_aspect_ratio else 'keep their shape'}",
                    hint="leave it out; letterbox pads" if self.keep_aspect_ratio else "keep_aspect_ratio=True")

    @property
    def is_fused(self) -> bool:
        """Whether this is what remains before a program that takes pixels."""
        return self.fused is not None or any(own.fused is not None for own in self.inputs.values())

    def whole(self) -> Preprocess:
        """What becomes of an image before the model itself: with what the program does of it, where it does some."""
        fused = self.fused or self
        return replace(
            self, mean=fused.mean, scale=fused.scale, pixel_format=fused.pixel_format, channel_format=fused.channel_format,
            fused=None, inputs={name: own.whole() for name, own in self.inputs.items()})

    def before(self, beside: Preprocess | None) -> Preprocess:
        """The same before a program with this file `beside` it: pixels go into one that takes such, and into no other.

        Where there is no file, the type of an input tells which it is (`settled`).
        """
        if beside is None:
            return self
        if beside.is_fused:
            return self if self.is_fused else beside.with_sizes_of(self)
        whole = self.whole()
        return replace(whole, stored=whole.stored or beside.stored, inputs={
            name: replace(own, stored=own.stored or beside.of(name).stored) for name, own in whole.inputs.items()})

    def with_sizes_of(self, other: Preprocess) -> Preprocess:
        """The same for the part of an image that the other one takes."""
        said = {name: getattr(other, name) for name in _PARTS}
        return replace(self, **said, inputs={name: own.with_sizes_of(other.of(name)) for name, own in self.inputs.items()})

    def laid_out_for(self, name: str, type_: Type | None, others: Iterable[Type]) -> Preprocess:
        """The same with the layout of an input left open, where it is that of one of `others`, which take the same.

        Models that are given the same images may take their channels first and last: a file of one says its own.
        """
        said = self.of(name).channel_format
        if said not in ("nhwc", "nchw") or _has_layout(type_, said) or not any(_has_layout(each, said) for each in others):
            return self
        return replace(self, inputs={**self.inputs, name: replace(self.of(name), channel_format=None)})

    def with_said(self, said: Mapping[str, Any], fused: bool) -> Preprocess:
        """The same with what is `said` of it, for each input; also of what is `fused`, where no program is there that does it."""
        keeps, mode = (said.get(name, getattr(self, name)) for name in ("keep_aspect_ratio", "keep_ratio_mode"))
        shape = Preprocess(keep_aspect_ratio=keeps, keep_ratio_mode=mode if keeps else Preprocess.keep_ratio_mode)
        # of several inputs some may keep no shape, and what said how they are padded may have no effect by what is said now
        own = {**said, **{name: getattr(Preprocess, name) for name in _OF_SHAPE if not shape.has_effect(name)}}
        within = self.fused
        if within is not None and fused:
            within = replace(within, **{name: value for name, value in said.items() if name in _OF_FUSED})
        return replace(
            self, **own, fused=within, inputs={name: each.with_said(said, fused) for name, each in self.inputs.items()})

    def need_inputs(self, names: Iterable[str]) -> None:
        """Raise `UsageError` where something is said of an input that there is not."""
        known = list(names)
        for name in self.inputs:
            if name not in known:
                guess = nearest(name, known)
                raise UsageError(
                    f"preprocessing: [inputs.{toml_string(name)}] is for an input that there is not",
                    hint=f"did you mean {guess!r}?" if guess else f"the inputs are {', '.join(map(repr, known)) or 'none'}")

    def of(self, name: str) -> Preprocess:
        """What holds for one input."""
        return self.inputs.get(name, replace(self, inputs={}))

    def settled(self, name: str, type_: TensorType, limits: tuple[float, float] | None = None) -> Settled:
        """For an input of a type, all that is left open said: layout, sizes, pixel format, mean and scale.

        `limits` are the numbers that the input takes, where the model's file says them. Raises `UsageError` where the input
        takes no image, or not such a one. What a program does with pixels is done before an input that takes no pixels.
        """
        from .images import MOST_PIXELS

        own = self.of(name)
        own = own if _takes_pixels(type_) else own.whole()
        type_ = _as_meant(type_, own.stored)
        layout, rows, columns, channels = layout_of(own, name, type_)
        pixel_format = own.pixel_format or next(key for key, count in CHANNELS.items() if count == channels)
        if CHANNELS[pixel_format] != channels:
            raise UsageError(
                f"input {name!r} takes {channels} channel{'s' * (channels > 1)} ({type_}, {layout}), and pixels of "
                f"{pixel_format} have {CHANNELS[pixel_format]}",
                hint="--pixel-format says what a pixel is, --channel-format where channels are")
        crop = own.crop or (rows, columns)
        resize = own.resize_dims or crop
        if crop != (rows, columns):
            raise UsageError(f"images are cropped to {sizes_text(crop)} pixels, and input {name!r} takes {rows}x{columns}")
        if resize[0] < rows or resize[1] < columns:
            raise UsageError(
                f"images are resized to {sizes_text(resize)} pixels, and input {name!r} takes {rows}x{columns}: more")
        if rows * columns > MOST_PIXELS:
            raise UsageError(
                f"input {name!r} takes images of {sizes_text(crop)} pixels, more than {MOST_PIXELS:,}", hint="give an .npy")
        mean, scale, span = _arithmetic(own, name, type_, limits, channels)
        ready = replace(
            own, resize_dims=resize, crop=crop, pixel_format=pixel_format, channel_format=layout, mean=mean, scale=scale)
        return Settled(name, type_, ready, span)

    def as_toml(self) -> str:
        """The text of `preprocess.toml`: what is said, and not what follows from the input."""
        lines = [*lines_of(self), *lines_of_fused(self, "fused")]
        for name, own in self.inputs.items():
            table = f"inputs.{toml_string(name)}"
            lines += ["", f"[{table}]", *lines_of(own), *lines_of_fused(own, f"{table}.fused")]
        return "\n".join(["# What becomes of an image: resized, cropped in the middle, then (x - mean) * scale.", *lines]) + "\n"

    def write(self, path: str | Path) -> Path:
        """Write the file; it is complete or not there."""
        with atomic_path(path) as file:
            file.write_text(self.as_toml(), encoding="utf-8")
        return Path(path)

    @classmethod
    def read(cls, path: str | Path) -> Preprocess:
        """Read such a file. Raises `ReadError` that says what in it is wrong."""
        file = Path(path)
        need_file(file)
        try:
            with file.open("rb") as opened:
                return cls.from_toml(opened.read(MAX_BYTES + 1))
        except (OSError, ValueError) as error:  # TOMLDecodeError is a ValueError
            raise ReadError(f"{file}: cannot be read as {FILE}: {getattr(error, 'strerror', None) or error}") from None
        except UsageError as error:
            raise ReadError(f"{file}: {error.message}", hint=error.hint) from None

    @classmethod
    def from_toml(cls, text: str | bytes) -> Preprocess:
        """From the text of such a file. `ValueError` for what is no TOML, `UsageError` as `from_table`."""
        return cls.from_table(toml_table(text))

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Preprocess:
        """From a dictionary as the file has it. `UsageError` for names that there are not, and values that cannot be."""
        _need_known("preprocessing", table, [each.name for each in fields(cls)])
        given = dict(table)
        inputs = given.pop("inputs", {})
        if not isinstance(inputs, Mapping) or not all(isinstance(own, Mapping) for own in inputs.values()):
            raise UsageError("preprocessing: inputs is a table for each of them, [inputs.NAME]")
        own = {name: cls.from_table({**given, **each}) for name, each in inputs.items()}
        fused = given.pop("fused", None)
        if fused is not None and not isinstance(fused, Mapping):
            raise UsageError("preprocessing: fused is a table, [fused]")
        _need_known("preprocessing: what is fused", fused or (), _OF_FUSED)
        stored = given.pop("stored", None)
        return cls(**given, fused=None if fused is None else cls.from_table(fused), inputs=own,
                   stored=None if stored is None else _stored(stored))


@dataclass(frozen=True)
class Settled:
    """A `Preprocess` with nothing left open, for one input."""

    name: str
    type: TensorType
    preprocess: Preprocess
    span: tuple[float, float] | None
    """What 0 and 255 become, where that was not said by mean and scale."""

    @property
    def pixels(self) -> dict[str, Any]:
        """What the decoder is told (`images.decode`)."""
        own = self.preprocess
        return {
            "resize": list(own.resize_dims or ()), "crop": list(own.crop or ()), "pixel_format": own.pixel_format,
            "mode": own.keep_ratio_mode if own.keep_aspect_ratio else "stretch", "pad_value": own.pad_value,
            "pad_type": own.pad_type}

    @property
    def real(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Mean and scale of each channel that make real numbers: a span of a quantized input makes what it stores."""
        from ..ir import QuantType

        mean, scale, element = self.preprocess.mean or (), self.preprocess.scale or (), self.type.element
        if self.span is None or not isinstance(element, QuantType):
            return mean, scale
        moved = tuple(of + element.zero_point / by for of, by in zip(mean, scale, strict=True))
        return moved, tuple(by * element.scale for by in scale)

    def held_by(self, type_: TensorType) -> Preprocess:
        """The same for whoever takes this input as `type_`, in real numbers, and what its integers stand for.

        What 0 to 255 span for integers is left open, as it follows from them.
        """
        from ..ir import FloatType, QuantType

        own, element = self.preprocess, type_.element
        if self.span is not None and not isinstance(self.type.element, FloatType):
            mean, scale = self.real if isinstance(element, FloatType) else (None, None)
            return replace(own, mean=mean, scale=scale, stored=None)
        return replace(own, stored=element if isinstance(element, QuantType) and element.per_tensor else None)

    def numbers(self, pixels: np.ndarray) -> np.ndarray:
        """Pixels, uint8 of rows x columns x channels, as the array that the input takes.

        `(x - mean) * scale` in float64 for each of the 256 values, rounded once to the input's type; integers, also the stored
        ones of a quantized type, halves to even and saturated.
        """
        import numpy as np

        tables = self._tables()
        array = np.stack([table[pixels[..., channel]] for channel, table in enumerate(tables)], axis=-1)
        if self.preprocess.channel_format == "nchw":
            array = np.moveaxis(array, -1, 0)
        return np.ascontiguousarray(array).reshape(self.type.static_shape)

    def _tables(self) -> list[np.ndarray]:
        """For each channel, what each value of a pixel becomes."""
        import numpy as np

        from ..ir import IntegerType, QuantType, dtype_of

        element = self.type.element
        made = []
        own = self.preprocess
        with np.errstate(over="ignore"):  # what the type does not hold is infinite, which `Samples` refuses
            for mean, scale in zip(own.mean or (), own.scale or (), strict=True):
                values = (np.arange(256) - mean) * scale
                if isinstance(element, QuantType) and self.span is None:
                    stored = np.rint(values / element.scale) + element.zero_point
                    values = np.clip(stored, element.storage_min, element.storage_max)
                elif isinstance(element, QuantType | IntegerType):
                    storage = element.storage if isinstance(element, QuantType) else element
                    values = np.clip(np.rint(values), *storage.range)
                made.append(values.astype(dtype_of(element)))
        return made

    def __str__(self) -> str:
        """In words, for notes."""
        own = self.preprocess
        text = f"{sizes_text(own.resize_dims or ())} pixels for input {self.name!r}"
        if own.keep_aspect_ratio:
            text += " (letterbox)" if own.keep_ratio_mode == "letterbox" else " (short side)"
        if own.crop != own.resize_dims:
            text += f", of which {sizes_text(own.crop or ())}"
        return f"{text}, {self.arithmetic}"

    def is_like(self, other: Settled) -> bool:
        """Whether another one makes the same of images, in real numbers."""
        import numpy as np

        return (self.pixels, self.preprocess.channel_format) == (other.pixels, other.preprocess.channel_format) and np.allclose(
            self.real, other.real, rtol=1e-5)

    @property
    def arithmetic(self) -> str:
        """What numbers pixels become, in words."""
        own = self.preprocess
        if self.span is not None:
            return f"0 to 255 as {self.span[0]:g} to {self.span[1]:g}"
        return f"(x - {numbers_text(own.mean)}) * {numbers_text(own.scale)}, {own.pixel_format}, {own.channel_format}"


def turned_for(array: np.ndarray, type_: Type | None) -> np.ndarray:
    """An array that was made of an image, with its channels where an input of a type has them: first, or last."""
    shape = tuple(getattr(type_, "shape", None) or ())
    for layout, source, end in (("nchw", -1, -3), ("nhwc", -3, -1)):
        if array.shape != shape and array.ndim == len(shape) and _has_layout(type_, layout):
            import numpy as np

            turned = np.moveaxis(array, source, end)
            if turned.shape == shape:
                return np.ascontiguousarray(turned)
    return array


def need_images(images: bool) -> None:
    """Raise `UsageError` where preprocessing is asked for, and nothing that is given is an image."""
    if not images:
        raise UsageError(
            "preprocessing says what becomes of images, and nothing that is given is one",
            hint="arrays are given as they are: put mean, scale and layout into them, or leave them out here")


def beside_of(artifact: Path) -> Preprocess | None:
    """What the file beside an artifact, or in its folder, says; None where there is none.

    Raises `ReadError`, also where the conversion that wrote the artifact wrote one, by its report, and it is gone: images would
    become other numbers.
    """
    place = (artifact if is_folder(artifact) else artifact.parent) / FILE
    if exists(place):
        return Preprocess.read(place)
    need_files(file for file in written_with(artifact) if file == place)
    return None


def beside_first(models: Iterable[Any]) -> Preprocess | None:
    """What becomes of an image before a model, as the file beside the first artifact says that has one; None of none."""
    found = (beside_of(Path(model)) for model in models if isinstance(model, str | Path))
    return next((preprocess.whole() for preprocess in found if preprocess is not None), None)


def joined(images: Iterable[Settled], types: Mapping[str, TensorType] | None = None) -> Preprocess | None:
    """What holds for the inputs that are given images, in one; for inputs of other `types`, where they are. None of none."""
    each = {image.name: image.held_by((types or {}).get(image.name, image.type)) for image in images}
    return next(iter(each.values())) if len(each) == 1 else Preprocess(inputs=each) if each else None


def _as_meant(type_: TensorType, stored: QuantType | None) -> TensorType:
    """The type of an input of integers as that of what they stand for, where it is said; others as they are."""
    from ..ir import IntegerType, dtype_of

    held = stored is not None and isinstance(type_.element, IntegerType) and dtype_of(type_.element) == dtype_of(stored)
    return type_.with_element(stored) if stored is not None and held else type_


def _stored(text: Any) -> QuantType:
    """The type of integers that a file says. `UsageError` where it says none."""
    from ..errors import TransloadError
    from ..ir import QuantType
    from ..text import parse_type

    try:
        type_ = parse_type(text) if isinstance(text, str) else None
    except TransloadError:
        type_ = None
    if not isinstance(type_, QuantType) or not type_.per_tensor:
        raise UsageError(f"preprocessing: stored is {text!r}", hint="what integers stand for: !quant.uniform<i8:f32, SCALE:ZERO>")
    return type_


def _need_known(what: str, given: Iterable[str], known: Sequence[str]) -> None:
    """`UsageError` for a name that there is not."""
    for key in given:
        if key not in known:
            guess = nearest(key, known)
            raise UsageError(f"{what} has no {key!r}", hint=f"did you mean {guess!r}?" if guess else f"it has {', '.join(known)}")


def _takes_pixels(type_: TensorType) -> bool:
    """Whether pixels can go into an input as they are: of bytes, whatever these stand for."""
    from ..ir import IntegerType, QuantType

    storage = type_.element.storage if isinstance(type_.element, QuantType) else type_.element
    return isinstance(storage, IntegerType) and storage.range == (0, 255)


def _no_image(type_: TensorType) -> str:
    """Why an input of a type takes no image, in words."""
    return f"takes {type_}, and no image"


def _has_layout(type_: Type | None, layout: str) -> bool:
    """Whether an input of a type may take an image whose channels are there."""
    shape = getattr(type_, "shape", None) or ()
    return len(shape) in (3, 4) and shape[-1 if layout == "nhwc" else -3] in CHANNELS.values()


def layout_of(own: Preprocess, name: str, type_: TensorType) -> tuple[str, int, int, int]:
    """Layout, rows, columns and channels of an input that takes an image."""
    shape = tuple(size or 0 for size in type_.shape or ())
    if len(shape) == 4 and shape[0] > 1 and own.channel_format != "none":
        raise UsageError(
            f"input {name!r} takes {shape[0]} images at a time ({type_}), and samples are one each",
            hint=f"--shape {quoted(name + ':1x' + 'x'.join(map(str, shape[1:])))}, and no --batch beside it")
    sizes = shape[1:] if len(shape) == 4 else shape
    if own.channel_format == "none" or len(sizes) not in (2, 3):
        raise UsageError(f"input {name!r} {_no_image(type_)}", hint="give an .npy file")
    if len(sizes) == 2:
        return "nhwc", sizes[0], sizes[1], 1
    layout = own.channel_format or ("nhwc" if sizes[2] in CHANNELS.values() else "nchw")
    rows, columns, channels = sizes if layout == "nhwc" else (sizes[1], sizes[2], sizes[0])
    if channels not in CHANNELS.values():
        raise UsageError(
            f"input {name!r} {_no_image(type_)}: pixels have 1, 3 or 4 channels, and as {layout} it takes {channels}",
            hint="give an .npy file, or --channel-format")
    return layout, rows, columns, channels


def _arithmetic(
    own: Preprocess, name: str, type_: TensorType, limits: tuple[float, float] | None, channels: int,
) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, float] | None]:
    """Mean and scale of each channel, and what 0 and 255 become where they were not said."""
    from ..ir import FloatType, IntegerType, QuantType

    element = type_.element.storage if isinstance(type_.element, QuantType) else type_.element
    if own.mean is not None or own.scale is not None:
        if not isinstance(element, FloatType | IntegerType):
            raise UsageError(f"input {name!r} {_no_image(type_)}", hint="give an .npy file")
        return _each("mean", own.mean or (0.0,), channels), _each("scale", own.scale or (1.0,), channels), None
    if isinstance(element, FloatType):
        low, high = limits or (0.0, 1.0)
    elif isinstance(element, IntegerType) and element.width == 8:
        low, high = map(float, element.range)
    else:
        raise UsageError(f"input {name!r} {_no_image(type_)}", hint="give an .npy file, or --mean and --scale")
    scale = (high - low) / 255 or 1.0
    return (-low / scale,) * channels, (scale,) * channels, (low + 0.0, high + 0.0)


def _each(name: str, numbers: Sequence[float], channels: int) -> tuple[float, ...]:
    if channels == 1 and len(set(numbers)) == 1:
        return (numbers[0],)
    if len(numbers) not in (1, channels):
        raise UsageError(f"preprocessing: {name} has {len(numbers)} numbers, and pixels have {channels}")
    return tuple(numbers) if len(numbers) == channels else tuple(numbers) * channels


def _plain(value: Any) -> Any:
    """Numbers as Python's own, where numpy gave them."""
    if isinstance(value, tuple | list):
        return tuple(map(_plain, value))
    return value.tolist() if hasattr(value, "tolist") else value


def _sizes(name: str, value: Any) -> tuple[int, int] | None:
    """Rows and columns, as two numbers."""
    if value is None:
        return None
    if (isinstance(value, Sequence) and len(value) == 2
            and all(type(size) is int and 0 < size <= _LARGEST for size in value)):
        return (value[0], value[1])
    raise UsageError(f"preprocessing: {name} is {written(value)}; rows and columns are two numbers of 1 to {_LARGEST}")


def _numbers(name: str, value: Any) -> tuple[float, ...] | None:
    """A number for each channel, or one."""
    if value is None:
        return None
    given = (value,) if isinstance(value, int | float) else value
    if (isinstance(given, Sequence) and not isinstance(given, str) and len(given) in (1, 3, 4)
            and None not in (numbers := tuple(map(real_number, given)))):
        return tuple(each + 0.0 for each in numbers if each is not None)  # no number is -0
    raise UsageError(f"preprocessing: {name} is {written(value)}; it is one number, or one for each channel")
