"""`python -m ragcorp`: the same as the command `ragcorp`."""

from ragcorp.main.cli import main

main()
