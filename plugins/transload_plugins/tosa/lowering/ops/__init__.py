"""The lowerings of ops, a module a family, each with a `RewriteTable`."""
