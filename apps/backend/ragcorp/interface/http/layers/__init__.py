"""ASGI layers around the routes: authentication, limits, origins, headers. No use cases but keys and limits."""
