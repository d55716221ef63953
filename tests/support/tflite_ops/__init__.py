"""Models of one operator each, in every number format, against LiteRT's reference kernels."""
