"""Core's own dialects: `builtin`, `func` and the hub `top`; `quant` is types only."""
