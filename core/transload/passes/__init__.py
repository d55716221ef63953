"""Passes: functions with a name and typed options, and pipelines of them."""
