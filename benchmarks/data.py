"""What data costs: episodes a second beside training, and memory beside array size.

Run as `python -m benchmarks.data`. One thread. Episodes are 5-way 1-shot with 15 query images
(80 images) of Omniglot, or of the synthetic glyphs where Omniglot is not in the data folder. Making
and training on the same episode alternate, so both see the same machine; figures are medians.
"""

import statistics
import time
from pathlib import Path

import torch
from torch import Tensor, nn

from towpath.data import (
    SETS,
    ClassPool,
    DataError,
    EpisodeSampler,
    EpisodeSpec,
    load_images,
    present,
)
from towpath.data.pool import memory_map_path

ROUNDS = 40
EPISODES_A_ROUND = 25
AT_LEAST = 20.0


def conv4(channels: int) -> nn.Module:
    """Four blocks of 64 filters, an embedding."""
    layers: list[nn.Module] = []
    for incoming in (channels, 64, 64, 64):
        layers += [nn.Conv2d(incoming, 64, 3, padding=1), nn.BatchNorm2d(64)]
        layers += [nn.MaxPool2d(2), nn.ReLU()]
    return nn.Sequential(*layers, nn.Flatten())


def training_step(network: nn.Module, sampler: EpisodeSampler, index: int) -> float:
    """Seconds of one prototypical step, forward and backward, on an episode made beforehand."""
    episode = sampler.episode(index)
    started = time.perf_counter()
    z: Tensor = network(torch.cat([episode.support_x, episode.query_x]))
    shots = len(episode.support_x)
    prototypes = torch.stack(
        [z[:shots][episode.support_y == way].mean(0) for way in range(episode.ways)]
    )
    logits = -(torch.cdist(z[shots:], prototypes) ** 2)
    network.zero_grad()
    nn.functional.cross_entropy(logits, episode.query_y).backward()
    return time.perf_counter() - started


def resident(pool: ClassPool) -> int | None:
    """Bytes of the pool's map that are in memory; None where the system does not say."""
    path, smaps = memory_map_path(pool), Path("/proc/self/smaps")
    if path is None or not smaps.exists():
        return None
    total, inside = 0, False
    for line in smaps.read_text().splitlines():
        first = line.split(maxsplit=1)[0]
        if not first.endswith(":"):
            inside = line.endswith(str(path.resolve()))
        elif inside and first == "Rss:":
            total += int(line.split()[1]) * 1024
    return total


def speed() -> None:
    """Episodes a second, and how many times faster than training."""
    name = "omniglot" if present("omniglot") else "glyphs"
    sampler = EpisodeSampler(load_images(name), EpisodeSpec(5, 1, 15), seed=0)
    network = conv4(sampler.pool.image_shape[0])
    making: list[float] = []
    training: list[float] = []
    index = 0
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for _ in range(EPISODES_A_ROUND):
            sampler.episode(index)
            index += 1
        making.append((time.perf_counter() - started) / EPISODES_A_ROUND)
        training.append(training_step(network, sampler, index))
    made, trained = statistics.median(making), statistics.median(training)
    ratio = trained / made
    print(
        f"{name}{' (synthetic)' if sampler.pool.synthetic else ''}, 80 images of 28x28, one core:"
    )
    print(f"  made      {1 / made:8.0f} episodes/s")
    print(f"  trained   {1 / trained:8.1f} episodes/s (ProtoNet, Conv4, forward and backward)")
    verdict = "holds" if ratio >= AT_LEAST else "MISSED"
    print(f"  ratio     {ratio:8.0f} (at least {AT_LEAST:.0f}: {verdict})")


def memory() -> None:
    """Resident bytes of each set that is there, beside the size of its array."""
    print("resident memory of each set, MB (array; after loading; after 500 episodes):")
    for name, entry in SETS.items():
        if not present(name):
            print(f"  {name:<14} not in the data folder")
            continue
        for split in entry.splits:
            try:
                pool = load_images(name, split=split)
            except DataError:  # a set may lack a split, as CUB's novel classes do
                continue
            sampler = EpisodeSampler(pool, EpisodeSpec(5, 1, 15), seed=0)
            loaded = resident(pool)
            for index in range(500):
                sampler.episode(index)
            used = resident(pool)
            shown = "unknown" if loaded is None or used is None else f"{_mb(loaded)} {_mb(used)}"
            print(f"  {name:<14} {split:<11} {_mb(pool.images.nbytes)} {shown}")
            del pool, sampler


def _mb(size: int) -> str:
    return f"{size / 2**20:8.1f}"


def main() -> None:
    """Both tables."""
    torch.set_num_threads(1)
    speed()
    memory()


if __name__ == "__main__":
    main()
