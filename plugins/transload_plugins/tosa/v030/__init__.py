"""TOSA 0.30: the operators with attributes where 1.0 has operands, their kernels, and the ways to and from 1.0."""
