"""Verification: does the result compute what the source computes, judged by the source's own runtime."""
