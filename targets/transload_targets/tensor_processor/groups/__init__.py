"""Layer groups: ops that run one after the other on slices that stay in local memory."""
