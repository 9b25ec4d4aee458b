"""Trusted tasks: a fixed pool of tasks with clean labels, apart from those of training."""

from dataclasses import replace

from towpath.data.episode import Episode
from towpath.data.errors import DataError
from towpath.data.pool import ClassPool
from towpath.data.sampler import EpisodeSampler
from towpath.data.spec import EpisodeSpec


def trusted_pool(pool: ClassPool, spec: EpisodeSpec, count: int, seed: int = 0) -> list[Episode]:
    """Draw trusted tasks with clean labels, independent of the tasks of training.

    Their `info` marks them as trusted, so that they are not taken for tasks of an evaluation.

    Args:
        pool: the classes to draw from.
        spec: what the tasks look like; its label noise is ignored.
        count: how many tasks.
        seed: decides the tasks.
    """
    if count < 1:
        raise DataError(f"count is {count}; expected at least 1 trusted task. Correct it.")
    sampler = EpisodeSampler(pool, replace(spec, label_noise=0.0), seed, stream="trusted")
    drawn = [sampler.episode(index) for index in range(count)]
    return [replace(task, info={**task.info, "trusted": True}) for task in drawn]
