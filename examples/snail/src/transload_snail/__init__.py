"""A chip that is a file, for Transload."""
