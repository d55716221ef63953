"""The pass `layout`: a graph in NHWC or NCHW, with as few transposes as it takes."""
