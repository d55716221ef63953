"""Graphs of the executor: pass `tf-functionalize` replaces them before there is anything to rewrite."""

from __future__ import annotations

from transload.rewrite import RewriteTable

__all__ = ["TABLE"]

TABLE = RewriteTable()
TABLE.refuse({"tf_executor.graph": ("it is in functional form only after pass tf-functionalize", "")})
