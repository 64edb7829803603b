"""Word lists written as one string. Pure."""


def word_set(words: str) -> frozenset[str]:
    """Return the words of a list, separated by white space."""
    return frozenset(words.split())
