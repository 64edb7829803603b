"""Paired bootstrap over queries.

Efron, Tibshirani: An Introduction to the Bootstrap, 1993 (percentile interval); Sakai: Evaluating evaluation metrics
based on the bootstrap, SIGIR 2006 (paired, over topics).
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampling:
    """How often queries are drawn with replacement, and the seed of the draws.

    >>> len(Resampling(resamples=3).means([[0.0, 1.0]])[0])
    3
    """

    resamples: int = 2000
    seed: int = 1

    def means(self, columns: Sequence[Sequence[float]]) -> list[list[float]]:
        """Return for each column its mean in every resample; a draw takes the same queries from all columns.

        Columns are values by query, all of one length, at least 1.
        """
        count = len(columns[0])
        rng = random.Random(self.seed)  # noqa: S311 - a simulation, repeatable
        means: list[list[float]] = [[] for _ in columns]
        for _ in range(self.resamples):
            drawn = rng.choices(range(count), k=count)
            for column, column_means in zip(columns, means, strict=True):
                column_means.append(math.fsum([column[at] for at in drawn]) / count)
        return means


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over queries and its 95 % interval.

    >>> Estimate(value=0.5, low=0.4, high=0.6).high
    0.6
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference(Estimate):
    """Mean of b - a over queries, its 95 % interval, and a two-sided ``p``: twice the rarer sign's share of resamples.

    ``p`` lies in [0, 1]; resamples without a difference count for both signs.

    >>> Difference(value=0.1, low=0.0, high=0.2, p=0.04).p
    0.04
    """

    p: float


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean.

    >>> mean([0.5, 1.0])
    0.75
    """
    return math.fsum(values) / len(values)


def estimate(values: Sequence[float], resampled: Sequence[float]) -> Estimate:
    """Return the mean of ``values`` with the percentile interval of its resampled means.

    >>> estimate([0.5, 1.0], [0.5, 0.75, 1.0]).value
    0.75
    """
    low, high = interval(resampled)
    return Estimate(value=mean(values), low=low, high=high)


def difference(a: Sequence[float], b: Sequence[float], resampling: Resampling) -> Difference:
    """Return how much ``b`` is above ``a``, paired by query. Both have one value per query, in the same order.

    >>> difference([0.2, 0.4], [0.4, 0.6], Resampling(resamples=100)).p
    0.0
    """
    pairs = [after - before for before, after in zip(a, b, strict=True)]
    (resampled,) = resampling.means([pairs])
    low, high = interval(resampled)
    below, above = sum(value <= 0 for value in resampled), sum(value >= 0 for value in resampled)
    return Difference(value=mean(pairs), low=low, high=high, p=min(1.0, 2 * min(below, above) / len(resampled)))


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the quantiles between which ``CONFIDENCE`` of the values lie.

    >>> interval([0.0, 1.0])
    (0.025..., 0.975)
    """
    tail = (1 - CONFIDENCE) / 2
    return quantile(values, tail), quantile(values, 1 - tail)


def quantile(values: Sequence[float], share: float) -> float:
    """Return the ``share`` quantile (in [0, 1]), linear between order statistics (Hyndman and Fan 1996, type 7).

    >>> quantile([1.0, 3.0], 0.5)
    2.0
    """
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    below = math.floor(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (at - below) * (ordered[above] - ordered[below])
