"""Targets: what a model can be converted for, each a plugin of its own."""
