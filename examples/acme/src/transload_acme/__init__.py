"""Acme's op and chip for Transload."""
