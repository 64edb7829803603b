"""How every command reads arguments, runs on an event loop and prints. No command."""
