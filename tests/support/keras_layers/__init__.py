"""Layers of Keras: cases with what Keras itself computes for them, recorded."""
