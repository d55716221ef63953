"""What IREE compiles for, and runs on: its backends, the flags that choose them, and its drivers."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BACKENDS", "Backend"]


@dataclass(frozen=True)
class Backend:
    """One way out of IREE's compiler."""

    name: str
    title: str
    flags: tuple[str, ...]
    device_flag: str
    """The flag that takes the option `device`."""
    device: str
    """What is compiled for where nobody says; empty: what IREE chooses."""
    devices: str
    """What the option may say."""
    driver: str
    """What IREE's runtime calls the devices that run it."""

    def flags_for(self, device: str) -> list[str]:
        """IREE's flags for a program of StableHLO and one device."""
        chosen = [f"{self.device_flag}={device}"] if device else []
        return ["--iree-input-type=stablehlo", "--iree-input-demote-f64-to-f32=false", *self.flags, *chosen]


BACKENDS = (
    Backend(
        "llvm-cpu", "a CPU, through LLVM",
        ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu"), "--iree-llvmcpu-target-cpu",
        "host", "a CPU as LLVM names it: host (this one), generic, x86-64-v3, cortex-a76, ...", "local-task"),
    Backend(
        "cuda", "an NVIDIA GPU, through CUDA", ("--iree-hal-target-device=cuda",), "--iree-cuda-target",
        "sm_80", "an architecture of NVIDIA's GPUs: sm_75, sm_86, sm_89, ...", "cuda"),
    Backend(
        "rocm", "an AMD GPU, through ROCm", ("--iree-hal-target-device=hip",), "--iree-rocm-target",
        "gfx942", "an architecture of AMD's GPUs: gfx942, gfx1100, ...", "hip"),
    Backend(
        "vulkan", "a GPU, through Vulkan", ("--iree-hal-target-device=vulkan",), "--iree-vulkan-target",
        "", "a GPU or its architecture: ampere, rdna3, valhall4, adreno, ...; empty: what most have", "vulkan"),
)
