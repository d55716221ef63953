"""Ops of signal processing for Transload."""
