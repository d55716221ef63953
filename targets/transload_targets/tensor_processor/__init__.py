"""A tensor processor that is described by a data file: from a network to its instructions, and what executes them."""
