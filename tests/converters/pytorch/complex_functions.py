"""Functions of complex numbers and spectra, of two real tensors `[2, 3, 6]` that are made complex, and back to real numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import fft, nn

FUNCTIONS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {}
c = torch.complex
Tensor = torch.Tensor


def complex_(name: str, function: Callable[[Tensor, Tensor], Tensor]) -> None:
    """A function of two complex tensors, which differ."""
    FUNCTIONS[name] = lambda x, y: real(function(c(x, y), c(y, x)))


def real(z: Tensor) -> Tensor:
    return torch.view_as_real(z.resolve_conj()) if z.is_complex() else z


def _written(z: Tensor, w: Tensor) -> Tensor:
    made = torch.zeros(2, 3, 6, dtype=torch.cfloat)
    made[:, 0] = z[:, 1]
    made[..., 2:4] += w[..., :2]
    return made


for _name, _function in {
    "product": lambda z, w: z * w, "by real": lambda z, w: z * w.real, "of real": lambda z, w: w.imag * z,
    "twice": lambda z, w: z * 2.5,
    "by a number": lambda z, w: z * (1 - 2j), "plus": lambda z, w: z + 1.5, "less": lambda z, w: (0.5 + 1j) - z,
    "alpha": lambda z, w: torch.add(z, w.real, alpha=2), "quotient": lambda z, w: z / (w + 3),
    "by length": lambda z, w: z / (w.abs() + 1),
    "real by": lambda z, w: w.real / (z + 3), "inverse": lambda z, w: 1 / (z + 3), "cube": lambda z, w: z**3,
    "square": lambda z, w: z.square(),
    "exp": lambda z, w: z.exp(), "log": lambda z, w: z.log(), "sqrt": lambda z, w: z.sqrt(), "sgn": lambda z, w: z.sgn(),
    "abs": lambda z, w: z.abs(), "angle": lambda z, w: z.angle(), "conj": lambda z, w: z.conj(),
    "parts": lambda z, w: z.real + w.imag,
    "polar": lambda z, w: torch.polar(z.abs(), w.real), "matmul": lambda z, w: z @ w.transpose(-1, -2),
    "mH": lambda z, w: z @ w.mH,
    "matmul of real": lambda z, w: z @ w.real.transpose(-1, -2).to(torch.cfloat),
    "einsum": lambda z, w: torch.einsum("bij,bkj->bik", z, w), "cat": lambda z, w: torch.cat([z, w], 1),
    "stack": lambda z, w: torch.stack([z, w], -1), "slice": lambda z, w: z[:, 1:, ::2],
    "index": lambda z, w: z[:, torch.tensor([0, 2])],
    "permute": lambda z, w: z.permute(2, 0, 1).reshape(-1, 2).contiguous(), "sum": lambda z, w: z.sum(-1),
    "mean": lambda z, w: z.mean((1, 2), keepdim=True), "cumsum": lambda z, w: z.cumsum(1), "roll": lambda z, w: z.roll(1, 2),
    "pad": lambda z, w: nn.functional.pad(z, (1, 2)), "pad with 3": lambda z, w: nn.functional.pad(z, (1, 2), value=3.0),
    "where": lambda z, w: torch.where(z.real > 0, z, w), "masked_fill": lambda z, w: z.masked_fill(w.real > 0, 2.0),
    "split": lambda z, w: z.split([1, 2], 1)[1].clone(), "unbind": lambda z, w: z.unbind(1)[1].clone(),
    "expand": lambda z, w: z[:, :1].expand(-1, 3, -1).clone(), "written": _written,
    "ones": lambda z, w: torch.ones(6, dtype=torch.cfloat) * z + torch.full((6,), 2.0, dtype=torch.cfloat),
    "wider": lambda z, w: z.to(torch.complex128).to(torch.complex64), "of real numbers": lambda z, w: z.real.to(torch.cfloat) + w,
    "neg": lambda z, w: -z, "pairs": lambda z, w: torch.view_as_complex(z.real.contiguous().view(2, 3, 3, 2)) * 1j,
    "shift": lambda z, w: fft.ifftshift(fft.fftshift(z, dim=1)),
    "frequencies": lambda z, w: z * fft.fftfreq(6) + fft.rfftfreq(10, 0.5),
}.items():
    complex_(_name, _function)

for _norm in ("backward", "ortho", "forward"):
    for _name, _function in {
        "fft": lambda n, z, w: fft.fft(z, norm=n), "ifft": lambda n, z, w: fft.ifft(z, n=4, dim=1, norm=n),
        "rfft": lambda n, z, w: fft.rfft(z.real, n=9, norm=n), "irfft": lambda n, z, w: fft.irfft(z, norm=n),
        "irfft of 7": lambda n, z, w: fft.irfft(z, n=7, norm=n), "rfft2": lambda n, z, w: fft.rfft2(z.imag, norm=n),
        "irfft2": lambda n, z, w: fft.irfft2(z, s=(4, 5), norm=n), "rfftn": lambda n, z, w: fft.rfftn(z.real, norm=n),
        "irfftn": lambda n, z, w: fft.irfftn(z, dim=(0, 2), norm=n), "fftn": lambda n, z, w: fft.fftn(z, s=(2, -1), norm=n),
        "ifft2": lambda n, z, w: fft.ifft2(z, norm=n), "hfft": lambda n, z, w: fft.hfft(z, norm=n),
        "ihfft": lambda n, z, w: fft.ihfft(z.real, norm=n)}.items():
        complex_(f"{_name}, {_norm}", partial(_function, _norm))

for _name in ("hann", "hamming", "blackman", "bartlett", "kaiser"):
    _window = getattr(torch, f"{_name}_window")
    complex_(_name, partial(lambda f, z, w: z * f(6) + w * f(6, periodic=False), _window))


def _stft(z: Tensor, w: Tensor, **more: Any) -> Tensor:
    return torch.stft(z.real.reshape(1, 36), 8, return_complex=True, **more)


def _istft(
    z: Tensor, w: Tensor, length: int | None = None, center: bool = True, normalized: bool = False, size: int = 8,
) -> Tensor:
    window = torch.hann_window(size) + 0.1
    given: dict[str, Any] = {"window": window, "center": center, "normalized": normalized}
    frames = torch.stft(z.real.reshape(2, 18), 8, 2, size, return_complex=True, **given)
    return torch.istft(frames * 2, 8, 2, size, length=length, **given)


for _name, _more in {
    "stft": {"window": torch.ones(8)}, "stft, centred not": {"center": False, "onesided": False,
    "window": torch.hamming_window(8)},
    "stft, short": {"hop_length": 3, "win_length": 6, "window": torch.hann_window(6), "normalized": True},
    "stft, zeros around": {"pad_mode": "constant", "window": torch.hann_window(8)}}.items():
    complex_(_name, partial(_stft, **_more))
for _name, _more in {
    "istft": {}, "istft of 15": {"length": 15}, "istft, longer": {"length": 17, "normalized": True, "size": 6},
    "istft, centred not": {"center": False}}.items():
    complex_(_name, partial(_istft, **_more))


class Functions(nn.Module):
    """All of them."""

    def forward(self, x: Tensor, y: Tensor) -> list[Tensor]:
        return [function(x, y) for function in FUNCTIONS.values()]
