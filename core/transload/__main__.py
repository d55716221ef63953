"""`python -m transload`."""

from .cli import main

main()
