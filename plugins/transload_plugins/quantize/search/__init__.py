"""Mixed precision with a promise: which layers get more than 8 bits, found by measuring (`searching`)."""
