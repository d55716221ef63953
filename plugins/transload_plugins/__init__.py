"""Dialects and passes that belong to no single framework or chip, each a plugin of its own."""
