"""Runs work on hostile input in child processes with limits, and replaces those that reach one."""
