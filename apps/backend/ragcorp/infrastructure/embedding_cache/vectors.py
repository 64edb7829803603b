"""Checks and normalises what an embedding model returned."""

import math
from collections.abc import Sequence

from ragcorp.domain.embeddings import Vector
from ragcorp.domain.exceptions import EmbedderUnavailableError


def normalised(values: Sequence[float], *, dimensions: int, truncate: bool = False) -> Vector:
    """Return ``values`` as a unit vector of ``dimensions``.

    With ``truncate`` a longer vector is cut first: that is how Matryoshka models are shortened where the provider
    ignores ``dimensions`` (Kusupati et al., Matryoshka Representation Learning, NeurIPS 2022).

    Raises EmbedderUnavailableError for another width, a number that is not finite, or a zero vector.
    """
    if truncate and len(values) > dimensions:
        values = values[:dimensions]
    if len(values) != dimensions:
        raise EmbedderUnavailableError(
            f"The embedding model returned {len(values)} dimensions where {dimensions} are configured.",
            reason="wrong_width",
            field="EMBEDDING_DIM",
            remedy="Set EMBEDDING_DIM to the model's width.",
        )
    try:
        norm = math.sqrt(math.fsum(value * value for value in values)) if all(map(math.isfinite, values)) else math.nan
    except OverflowError:  # numbers whose squares are too large for one
        norm = math.inf
    if not math.isfinite(norm) or norm == 0.0:
        raise EmbedderUnavailableError(
            "The embedding model returned a vector that is zero or not finite.", reason="invalid_vector"
        )
    return tuple(value / norm for value in values)
