"""Use cases of whole workspaces: language, settling the backlog, removal."""
