"""Networks in PyTorch of different kinds, with weights of fixed seeds: what users export with `torch.export`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F


@dataclass
class Network:
    """A module, what it is exported with, and what it is run with where that is of another shape."""

    model: nn.Module
    example: tuple[torch.Tensor, ...]
    inputs: tuple[torch.Tensor, ...] = ()
    dynamic: Any = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def given(self) -> tuple[torch.Tensor, ...]:
        return self.inputs or self.example


NETWORKS: dict[str, Callable[[], Network]] = {}


def network(build: Callable[[], Network]) -> Callable[[], Network]:
    """A network; `build` is called with the generator seeded."""
    def seeded() -> Network:
        torch.manual_seed(len(build.__name__))
        made = build()
        for module in made.model.modules():  # statistics as after training
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean.normal_(0, 0.1)  # type: ignore[union-attr, operator]
                module.running_var.uniform_(0.5, 1.5)  # type: ignore[union-attr, operator]
        if isinstance(made.model, nn.Module) and not isinstance(made.model, torch.fx.GraphModule):
            made.model.eval()
        return made

    NETWORKS[build.__name__] = seeded
    return seeded


@network
def cnn() -> Network:
    """Ordinary, depthwise and dilated convolutions, in-place activations, both poolings, a weight used as a view."""
    model = nn.Sequential(
        nn.Conv2d(3, 12, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(12), nn.ReLU6(inplace=True),
        nn.Conv2d(12, 12, 3, padding="same", groups=12), nn.BatchNorm2d(12), nn.LeakyReLU(0.1, inplace=True),
        nn.Conv2d(12, 16, 3, padding=2, dilation=2), nn.Hardswish(), nn.MaxPool2d(3, 2, 1, ceil_mode=True), nn.AvgPool2d(2),
        nn.Conv2d(16, 8, 1), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(8, 5), nn.LogSoftmax(1))
    return Network(model, (torch.randn(1, 3, 24, 20),))


class Encoder(nn.Module):
    """Embeddings and two layers of attention, normalized before and after."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(20, 24)
        self.first = nn.TransformerEncoderLayer(24, 3, 48, activation="gelu", batch_first=True, norm_first=True)
        self.second = nn.TransformerEncoderLayer(24, 3, 48, batch_first=True)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.table(ids)
        return self.second(self.first(x, src_key_padding_mask=mask))


@network
def transformer_encoder() -> Network:
    mask = torch.zeros(2, 7, dtype=torch.bool)
    mask[1, 5:] = True
    return Network(Encoder(), (torch.randint(0, 20, (2, 7)), mask))


class Decoder(nn.Module):
    """One step of a decoder: keys and values go into caches, which are buffers that the program writes."""

    def __init__(self, length: int = 8) -> None:
        super().__init__()
        self.qkv, self.out, self.norm = nn.Linear(16, 48), nn.Linear(16, 16), nn.RMSNorm(16)
        self.register_buffer("keys", torch.zeros(1, 2, length, 8))
        self.register_buffer("values", torch.zeros(1, 2, length, 8))

    def forward(self, x: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        q, k, v = (part.reshape(1, 1, 2, 8).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, dim=-1))
        self.keys.index_copy_(2, place, k)  # type: ignore[operator]
        self.values.index_copy_(2, place, v)  # type: ignore[operator]
        seen = torch.arange(self.keys.shape[2]) <= place  # type: ignore[union-attr]
        y = F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=seen[None, None, None])  # type: ignore[arg-type]
        return x + self.out(y.transpose(1, 2).reshape(1, 1, 16))


@network
def decoder_with_cache() -> Network:
    return Network(Decoder(), (torch.randn(1, 1, 16), torch.tensor([3])))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(10, 4)
        self.head = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y, (h, _) = self.lstm(x)
        z, _ = self.gru(y.transpose(0, 1))
        return self.head(z[-1]), h


@network
def lstm() -> Network:
    return Network(Recurrent(), (torch.randn(2, 5, 6),))


class UNet(nn.Module):
    """Group norm, SiLU, down, up by interpolation and by a transposed convolution, skip connections, a time's embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.first, self.time = nn.GroupNorm(4, 8), nn.Conv2d(8, 8, 3, padding=1), nn.Linear(8, 8)
        self.down, self.up, self.out = nn.Conv2d(8, 16, 3, 2, 1), nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.Conv2d(24, 4, 1)

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        angle = t[:, None] * torch.exp(-torch.arange(4) * 2.0)
        time = self.time(torch.cat([angle.sin(), angle.cos()], dim=-1))
        h = self.first(F.silu(self.norm(x))) + time[:, :, None, None]
        d = F.gelu(self.down(h), approximate="tanh")
        wide = F.interpolate(d, scale_factor=2, mode="bilinear")
        return self.out(torch.cat([self.up(d), wide[:, :8], h], dim=1))


@network
def unet() -> Network:
    return Network(UNet(), (torch.randn(1, 8, 12, 12), torch.tensor([5.0])))


class Detector(nn.Module):
    """Boxes and scores of a small grid, and non-maximum suppression: the scores of boxes that are dropped become 0."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.boxes, self.scores = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 4, 1), nn.Conv2d(8, 1, 1)

    def forward(self, image: torch.Tensor) -> dict[str, torch.Tensor]:
        x = self.body(image).relu_()
        offsets = self.boxes(x).flatten(2)[0].T
        scores = self.scores(x).sigmoid().flatten()
        centres = torch.cartesian_prod(torch.arange(4.0), torch.arange(4.0))
        boxes = torch.cat([centres - 1 - offsets[:, :2].abs(), centres + 1 + offsets[:, 2:].abs()], dim=1)
        keep = torch.ops.torchvision.nms(boxes, scores, 0.4)
        kept = torch.zeros_like(scores).index_fill(0, keep, 1.0)
        return {"boxes": boxes, "scores": scores * kept}


@network
def detector() -> Network:
    return Network(Detector(), (torch.randn(1, 3, 8, 8),))


@network
def quantized() -> Network:
    """Quantized by torchao's pt2e with the quantizer of XNNPACK."""
    from tests.converters.pytorch.pt2e import quantized_by_pt2e

    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5)).eval()
    samples = [torch.randn(1, 3, 16, 16) for _ in range(8)]
    return Network(quantized_by_pt2e(model, samples), (samples[0],))


@network
def complex_numbers() -> Network:
    """Arithmetic of complex numbers, Fourier transforms, frames."""
    from tests.converters.pytorch.complex_functions import Functions

    return Network(Functions(), (torch.randn(2, 3, 6), torch.randn(2, 3, 6)))


class Spectral(nn.Module):
    """A layer of a Fourier neural operator: the lowest frequencies times complex weights; and a rotation of queries."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.randn(3, 4, 5, 5, dtype=torch.cfloat))
        self.register_buffer("turns", torch.polar(torch.ones(16, 8), torch.randn(16, 8)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        spectrum = torch.fft.rfft2(x)
        made = torch.zeros(x.shape[0], 4, x.shape[2], x.shape[3] // 2 + 1, dtype=torch.cfloat)
        made[:, :, :5, :5] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, :5, :5], self.weights)
        y = torch.fft.irfft2(made, s=x.shape[-2:])
        return torch.view_as_real(torch.view_as_complex(y.unflatten(-1, (-1, 2))) * self.turns).flatten(-2)


@network
def spectral() -> Network:
    return Network(Spectral(), (torch.randn(2, 3, 16, 16),))


@network
def dynamic_with_int4_weights() -> Network:
    """Layers whose weights torchao holds in 4 bits, 32 to a scale, and whose inputs get a scale a row as they come."""
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
    from torchao.quantization.granularity import PerGroup
    from torchao.utils import unwrap_tensor_subclass

    model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 32)).eval()
    quantize_(model, Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32)))
    return Network(unwrap_tensor_subclass(model), (torch.randn(5, 64),))


class Layers(nn.Module):
    """What each layer gives is a result, so that thousands of its numbers are compared, not the few of the last one."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.depthwise = nn.Conv2d(3, 16, 3, 2, 1), nn.Conv2d(16, 16, 3, 1, 1, groups=16)
        self.groups, self.points, self.layer = nn.Conv2d(16, 32, 3, groups=4), nn.Conv2d(32, 24, 1), nn.Linear(24, 40)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        a = self.first(x).relu()
        b = self.depthwise(a)
        c = self.groups(b).relu()
        d = self.points(c)
        return a, b, c, d, self.layer(d.permute(0, 2, 3, 1))


@network
def quantized_layers() -> Network:
    """Convolutions of all kinds and a layer with biases, quantized by pt2e."""
    from tests.converters.pytorch.pt2e import quantized_by_pt2e

    samples = [torch.randn(1, 3, 24, 24) for _ in range(4)]
    return Network(quantized_by_pt2e(Layers().eval(), samples), (samples[0],), (torch.randn(1, 3, 24, 24),))


@network
def quantized_without_biases() -> Network:
    """As `quantized`, without biases."""
    from tests.converters.pytorch.pt2e import quantized_by_pt2e

    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1, groups=8, bias=False),
        nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5, bias=False)).eval()
    samples = [torch.randn(1, 3, 16, 16) for _ in range(8)]
    return Network(quantized_by_pt2e(model, samples), (samples[0],))


class Patches(nn.Module):
    """A batch and a length that are open; sizes are computed of them."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 4)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        batch, length = x.shape[:2]
        y = self.layer(x).view(batch, length // 2, 2, -1).mean(2)
        places = torch.arange(length // 2)[None, :, None].expand(batch, -1, 4)
        return y + places, y.reshape(batch * (length // 2), -1).softmax(-1)


@network
def dynamic_sizes() -> Network:
    dims = {"x": {0: torch.export.Dim("batch", max=16), 1: 2 * torch.export.Dim("half", max=32)}}
    return Network(Patches(), (torch.randn(2, 6, 6),), (torch.randn(3, 10, 6),), dims)


class Scaled(nn.Module):
    """Numbers that are computed of sizes, and are no whole ones."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        length = x.shape[1]
        steps = torch.arange(0, length * 0.5, 0.5) * (length**-0.5)
        return x * (length / 3) + steps, torch.clamp(x, max=length / 7) * torch.sym_sqrt(length)


@network
def dynamic_numbers() -> Network:
    return Network(Scaled(), (torch.randn(2, 6),), (torch.randn(2, 5),), {"x": {1: torch.export.Dim.DYNAMIC}})


@network
def generator() -> Network:
    """Transposed convolutions, instance norm, PReLU, pixel shuffle, reflection."""
    model = nn.Sequential(
        nn.ConvTranspose2d(6, 8, 4, stride=2, padding=1), nn.InstanceNorm2d(8, affine=True), nn.PReLU(8), nn.ReflectionPad2d(1),
        nn.Conv2d(8, 12, 3), nn.PixelShuffle(2), nn.ConvTranspose2d(3, 3, 3, stride=2, padding=1, output_padding=1), nn.Tanh())
    return Network(model, (torch.randn(1, 6, 5, 4),))


class Flow(nn.Module):
    """A branch, a loop, and tensors that are written through views."""

    def forward(self, x: torch.Tensor, n: torch.Tensor) -> tuple[torch.Tensor, ...]:
        from torch._higher_order_ops import while_loop

        y = torch.cond(x.sum() > 0, lambda x: x.sin() * 2, lambda x: x.cos() + 1, (x,))
        _, z = while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v * 0.5 + 1), (torch.zeros((), dtype=torch.int64), y))
        w = x.clone()
        w[:, 0] = 2.0
        w[1:, ::2] *= 3.0
        w.view(-1)[1:3].add_(1.0)
        return y, z, w


@network
def control_flow() -> Network:
    return Network(Flow(), (torch.randn(3, 4), torch.tensor(3)))


class Slices(nn.Module):
    """A product of each slice, and a state that goes from slice to slice, from the last one on."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, y: torch.Tensor, h: torch.Tensor) -> tuple[torch.Tensor, ...]:
        from torch._higher_order_ops import map as mapped
        from torch._higher_order_ops import scan

        def step(state: torch.Tensor, part: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            new = torch.tanh(self.layer(state) + part)
            return new, new.sum(-1)

        last, sums = scan(step, h, x, dim=1, reverse=True)
        return mapped(lambda part, y: (part @ y).relu(), x, y), last, sums


@network
def slices() -> Network:
    return Network(Slices(), (torch.randn(3, 5, 4), torch.randn(4, 2), torch.randn(3, 4)))


class Attention(nn.Module):
    """Grouped queries with a causal mask, as large language models have them, with rotated positions."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.kv, self.o = nn.Linear(16, 32, bias=False), nn.Linear(16, 32, bias=False), nn.Linear(32, 16, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q = self.q(x).unflatten(-1, (4, 8)).transpose(1, 2)
        k, v = (part.unflatten(-1, (2, 8)).transpose(1, 2) for part in self.kv(x).split(16, dim=-1))
        angle = torch.outer(torch.arange(x.shape[1]).float(), 10000.0 ** (-torch.arange(0, 8, 2) / 8)).repeat(1, 2)
        q, k = (each * angle.cos() + torch.cat([-each[..., 4:], each[..., :4]], -1) * angle.sin() for each in (q, k))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.o(y.transpose(1, 2).flatten(2))


@network
def grouped_attention() -> Network:
    return Network(Attention(), (torch.randn(2, 6, 16),))


class NarrowFloats(nn.Module):
    """Numbers beside 16-bit floats, which PyTorch rounds at different places."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        made = []
        for narrow in (x.half(), x.bfloat16()):
            other = narrow.flip(0)
            made += [narrow * 0.1, narrow * 0.125, narrow * 2049, narrow * torch.tensor(2049), narrow * torch.tensor([257]),
                     narrow.clone().mul_(0.1), torch.add(narrow, torch.tensor(0.1), alpha=0.3), torch.floor_divide(narrow, 0.3),
                     torch.add(narrow, other, alpha=0.3), torch.rsub(narrow, 0.7, alpha=0.3), narrow + 0.1, narrow**3,
                     F.softshrink(narrow, 0.3)]
        return tuple(each.float() for each in made)


class Autocast(nn.Module):
    """Regions of automatic casts, one in another that has none, and what is made of their narrow floats."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm, self.conv = nn.Linear(4, 4), nn.LayerNorm(4), nn.Conv1d(3, 2, 2)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            narrow = self.layer(x)
            wide = torch.matmul(x, x.t()).float() * 1000
            mixed = self.norm(narrow) + x
            with torch.autocast("cpu", enabled=False):
                plain = torch.matmul(x, x.t())
            shares = torch.softmax(self.conv(x.unsqueeze(0)).float() * 3, -1)
        return narrow.float(), wide - 1000 * plain, mixed, plain, shares, self.norm(x)


@network
def autocast() -> Network:
    return Network(Autocast(), (torch.randn(3, 4),))


@network
def narrow_floats() -> Network:
    return Network(NarrowFloats(), (torch.randn(256) * 2,))
