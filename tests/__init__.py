"""The tests, in the folders of what they test: `core`, `hub`, `converters`, `plugins`, `targets` mirror the source tree.

`support` holds what tests of several folders share, and is imported by its name: `from tests.support import ...`.
"""
