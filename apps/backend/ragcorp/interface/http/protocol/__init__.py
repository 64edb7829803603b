"""HTTP mechanics shared by all routes: bodies, problems, JSON, request context. No route."""
