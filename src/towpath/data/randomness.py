"""Random draws that depend on (purpose, seed, index) only, on every machine and release.

numpy guarantees the raw words of Philox, a counter-based generator, but not what the methods of its
`Generator` return from release to release; so the draws of episodes are made from raw words.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray


class Draws:
    """A stream of random numbers, independent of those of every other (purpose, seed, index)."""

    def __init__(self, purpose: str, seed: int, index: int) -> None:
        name = f"{purpose}:{seed}:{index}".encode()
        key = int.from_bytes(hashlib.blake2b(name, digest_size=16).digest(), "little")
        self._bits = np.random.Philox(key=key)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw `count` words of 64 uniform random bits each."""
        return np.asarray(self._bits.random_raw(count), dtype=np.uint64)

    def uniform(self) -> float:
        """Draw a float, uniform in [0, 1), with 53 random bits."""
        return int(self.words(1)[0] >> np.uint64(11)) * 2.0**-53

    def integer(self, low: int, high: int) -> int:
        """Draw a whole number, uniform from `low` to `high`, both included.

        The bias is below 2^-40 for ranges of up to 2^24 numbers.
        """
        return low + (int(self.words(1)[0]) * (high - low + 1) >> 64)

    def distinct(self, population: int, count: int) -> NDArray[np.int64]:
        """Draw `count` different numbers of 0..population-1, in random order."""
        return np.argsort(self.words(population), kind="stable")[:count]

    def weighted(self, weights: NDArray[np.float64]) -> int:
        """Draw a position in `weights`, with a probability proportional to its weight."""
        edges = np.cumsum(weights)
        position = int(np.searchsorted(edges, self.uniform() * edges[-1], side="right"))
        return min(position, int(np.flatnonzero(weights)[-1]))

    def weighted_distinct(self, weights: NDArray[np.float64], count: int) -> NDArray[np.int64]:
        """Draw `count` different positions, one after the other, in proportion to their weights."""
        left = weights.copy()
        chosen = np.empty(count, dtype=np.int64)
        for turn in range(count):
            chosen[turn] = self.weighted(left)
            left[chosen[turn]] = 0.0
        return chosen
