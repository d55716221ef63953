"""Networks in PyTorch, with weights of fixed seeds: what users export with `torch.export` and torch-mlir."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

Network = tuple[nn.Module, tuple[torch.Tensor, ...]]

NETWORKS: dict[str, Callable[[], Network]] = {}


def network(build: Callable[[], Network]) -> Callable[[], Network]:
    """A network with example inputs; `build` is called with the generator seeded."""
    def seeded() -> Network:
        torch.manual_seed(len(build.__name__))
        model, inputs = build()
        for module in model.modules():  # statistics as after training
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean.normal_(0, 0.1)  # type: ignore[union-attr, operator]
                module.running_var.uniform_(0.5, 1.5)  # type: ignore[union-attr, operator]
        return model.eval(), inputs

    NETWORKS[build.__name__] = seeded
    return seeded


class Lambda(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any], **parts: nn.Module) -> None:
        super().__init__()
        self.function = function
        self.parts = nn.ModuleDict(parts)

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(self.parts, *inputs)


@network
def mlp() -> Network:
    model = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 16), nn.Tanh(), nn.Linear(16, 6), nn.Softmax(dim=-1))
    return model, (torch.randn(3, 12),)


@network
def cnn() -> Network:
    """Ordinary, depthwise and dilated convolutions, batch normalization, both poolings."""
    model = nn.Sequential(
        nn.Conv2d(3, 12, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(12), nn.ReLU6(),
        nn.Conv2d(12, 12, 3, padding=1, groups=12), nn.BatchNorm2d(12), nn.LeakyReLU(0.1),
        nn.Conv2d(12, 16, 3, padding=2, dilation=2), nn.Hardswish(), nn.MaxPool2d(3, 2, 1), nn.AvgPool2d(2), nn.Conv2d(16, 8, 1),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5), nn.LogSoftmax(dim=1))
    return model, (torch.randn(1, 3, 24, 20),)


@network
def transformer_encoder() -> Network:
    layer = nn.TransformerEncoderLayer(24, 3, 48, activation="gelu", batch_first=True, norm_first=True)
    model = Lambda(lambda p, ids: p["layer"](p["table"](ids)), table=nn.Embedding(20, 24), layer=layer)
    return model, (torch.randint(0, 20, (2, 7)),)


@network
def causal_attention() -> Network:
    """`scaled_dot_product_attention` with its causal mask."""

    def forward(p: Any, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (part.reshape(2, 8, 2, 8).transpose(1, 2) for part in p["qkv"](x).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return p["out"](y.transpose(1, 2).reshape(2, 8, 16)) + x

    return Lambda(forward, qkv=nn.Linear(16, 48), out=nn.Linear(16, 16)), (torch.randn(2, 8, 16),)


@network
def unet_block() -> Network:
    """Group norm, SiLU, down, up by resizing, skip connection, a timestep's embedding."""

    def forward(p: Any, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        angle = t[:, None] * torch.exp(-torch.arange(4) * 2.0)
        time = p["time"](torch.cat([angle.sin(), angle.cos()], dim=-1))
        h = p["first"](F.silu(p["norm"](x))) + time[:, :, None, None]
        d = F.gelu(p["down"](h), approximate="tanh")
        u = d[:, :, :, None, :, None].expand(-1, -1, -1, 2, -1, 2).reshape(1, 16, 12, 12)  # torch-mlir cannot lower interpolate
        return p["out"](torch.cat([p["up"](u), h], dim=1))

    parts = {"norm": nn.GroupNorm(4, 8), "first": nn.Conv2d(8, 8, 3, padding=1), "time": nn.Linear(8, 8),
             "down": nn.Conv2d(8, 16, 3, 2, 1), "up": nn.ConvTranspose2d(16, 8, 3, padding=1), "out": nn.Conv2d(16, 4, 1)}
    return Lambda(forward, **parts), (torch.randn(1, 8, 12, 12), torch.tensor([5.0]))


@network
def lstm() -> Network:
    """A cell, stepped in Python: the trace is unrolled."""

    def forward(p: Any, x: torch.Tensor) -> torch.Tensor:
        h = c = torch.zeros(2, 10)
        for step in range(5):
            h, c = p["cell"](x[:, step], (h, c))
        return p["head"](h)

    return Lambda(forward, cell=nn.LSTMCell(6, 10), head=nn.Linear(10, 3)), (torch.randn(2, 5, 6),)


@network
def generator() -> Network:
    """Transposed convolutions with stride, instance norm, PReLU."""
    model = nn.Sequential(
        nn.ConvTranspose2d(6, 8, 4, stride=2, padding=1), nn.InstanceNorm2d(8, affine=True), nn.PReLU(8),
        nn.ConvTranspose2d(8, 3, 3, stride=2, padding=1, output_padding=1), nn.Sigmoid())
    return model, (torch.randn(1, 6, 5, 4),)


@network
def activations() -> Network:
    functions = [
        F.relu, F.relu6, F.elu, F.selu, F.celu, F.leaky_relu, F.gelu, lambda x: F.gelu(x, approximate="tanh"), F.silu, F.mish,
        F.softplus, F.softsign, F.hardswish, F.hardsigmoid, F.hardtanh, torch.sigmoid, torch.tanh, F.logsigmoid,
        lambda x: F.softmax(x, dim=1), lambda x: F.log_softmax(x, dim=-1), lambda x: F.layer_norm(x, (6,)),
        lambda x: F.normalize(x, dim=-1), torch.erf, lambda x: torch.logsumexp(x, dim=-1), lambda x: F.rms_norm(x, (6,)), F.glu]
    return Lambda(lambda p, x: tuple(f(x) for f in functions)), (3 * torch.randn(3, 6),)
