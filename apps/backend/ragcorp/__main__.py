"""`python -m ragcorp`: the same as the command `ragcorp`."""

from ragcorp.main.commands.cli import main

main()
