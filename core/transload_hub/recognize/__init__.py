"""Composites that exporters take apart, put together again: the pass `recognize`."""
