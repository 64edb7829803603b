"""ASGI layers around the routes: authentication, limits, origins, headers. No use case but keys and limits."""
