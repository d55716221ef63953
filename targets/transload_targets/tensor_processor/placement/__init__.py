"""Addresses: of buffers in the banks of local memory, of tensors in global memory."""
