"""The command line's composition: what each command is given."""
