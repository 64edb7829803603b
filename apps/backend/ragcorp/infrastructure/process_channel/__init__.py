"""Calls and notices between two processes of ragcorp over a pair of sockets."""
