"""Converters: one package a framework, each a reader, its dialect and its legalization to `top`."""
