"""The use case SearchChunks, and in each sub-package one part of it."""
