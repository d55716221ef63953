"""Graphs of one TensorFlow op each, over types, shapes and attributes, and what tensorflow computes for them."""
