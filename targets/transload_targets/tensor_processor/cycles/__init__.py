"""Cycles: what instructions take, and what comes of it when two queues run side by side."""
