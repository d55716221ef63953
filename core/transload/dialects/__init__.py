"""Core's own dialects: `builtin` and `func`; `quant` is types only."""
