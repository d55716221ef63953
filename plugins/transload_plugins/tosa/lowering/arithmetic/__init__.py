"""The arithmetic of quantized lowerings: a scale becomes a RESCALE in `rescaling`, its numbers in `scales`."""
