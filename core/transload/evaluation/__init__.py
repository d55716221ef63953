"""Evaluation: what models are worth on samples, by labels or beside each other."""
