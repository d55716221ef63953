"""Simplifications of `top` ops: a rewrite table, for the pass `canonicalize`."""
