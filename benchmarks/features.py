"""ProtoNet on precomputed features against ProtoNet with a Conv4 on the images of the same tasks.

Run as `python -m benchmarks.features`. Tasks are 5-way 5-shot with 15 query samples a class of
mini-ImageNet at 84 x 84 (the synthetic glyphs at 28 x 28 where it is not in the data folder). The
features are those of a Conv4; a linear layer with ReLU is trained on them. A step draws its tasks,
evaluates losses and gradients and takes the step of Adam, on one core. The two take turns; CPU
seconds count, so other programs do not.
"""

import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

import towpath as tp
from benchmarks.measure import prepare_process, write
from towpath.data import ClassPool, EpisodeSampler, EpisodeSpec, load, load_images, present
from towpath.data.feature_file import features_bytes
from towpath.training.features import computed_features

ROUNDS, TASKS, STEPS_ON_FEATURES = 9, 2, 20
AT_LEAST = 50.0
SPEC = EpisodeSpec(5, 5, 15, within_group=False)


class Training:
    """A learner, its optimiser's state and the tasks to come; each call takes steps."""

    def __init__(self, model: torch.nn.Module, pool: ClassPool) -> None:
        learner = tp.learners.ProtoNet(model)
        self.objective = tp.Objective(learner, workers=1)
        self.params = {name: p.detach().clone() for name, p in learner.parameters().items()}
        self.state = tp.Adam(lr=1e-3).init(self.params)
        self.sampler = EpisodeSampler(pool, SPEC, seed=0)
        self.drawn: list[list[str]] = []
        self._indices = self._count()

    def _count(self) -> Iterator[int]:
        index = 0
        while True:
            yield index
            index += 1

    def seconds(self, steps: int) -> float:
        """Take steps, each on new tasks; return the CPU seconds of one."""
        began = time.process_time()
        for _ in range(steps):
            tasks = [self.sampler.episode(next(self._indices)) for _ in range(TASKS)]
            self.drawn += [task.info["classes"] for task in tasks]
            plan = tp.Uniform().plan(self.objective, self.params, self.state, [tasks])
            self.params, self.state = plan.params, plan.optimizer_state
        return (time.process_time() - began) / steps


def vectors(model: torch.nn.Module, images: ClassPool, folder: Path) -> ClassPool:
    """Return the features of a pool, written to a file and read again."""
    made = computed_features(model, images, torch.float32, lambda _: None)
    labels = [entry.name for entry in images.classes for _ in range(entry.count)]
    groups = [entry.group for entry in images.classes for _ in range(entry.count)]
    path = folder / "benchmark.features.npz"
    path.write_bytes(features_bytes(made, labels, ["train"] * len(labels), groups))
    pool = load(str(path))
    assert isinstance(pool, ClassPool)
    return pool


def main() -> None:
    """Print the ratio of the steps a second, with its quartiles."""
    prepare_process()
    name = "mini-imagenet" if present("mini-imagenet") else "glyphs"
    images = load_images(name)
    channels, size, _ = images.image_shape
    torch.manual_seed(0)
    with TemporaryDirectory() as folder:
        frozen = tp.backbones.Conv4(channels, None, size).eval()
        began = time.process_time()
        features = vectors(frozen, images, Path(folder))
        once = time.process_time() - began
        slow = Training(tp.backbones.Conv4(channels, None, size), images)
        fast = Training(tp.backbones.MLP(features.input_shape[0], None, (64,)), features)
        slow.seconds(1), fast.seconds(STEPS_ON_FEATURES)  # warm-up
        times = [(slow.seconds(1), fast.seconds(STEPS_ON_FEATURES)) for _ in range(ROUNDS)]
    assert slow.drawn == fast.drawn[: len(slow.drawn)], "not the same tasks"
    low, ratio, high = statistics.quantiles([a / b for a, b in times], n=4)
    on_images, on_features = (1 / statistics.median(each) for each in zip(*times, strict=True))
    print(f"{images.describe()}; 5-way 5-shot, {TASKS} tasks a step, one core:")
    print(f"  features of all images, once  {once:8.1f} s")
    print(f"  Conv4 on images               {on_images:8.2f} steps/s")
    print(f"  on {features.input_shape[0]:,} features               {on_features:8.1f} steps/s")
    verdict = "holds" if ratio >= AT_LEAST else "MISSED"
    print(
        f"  ratio                         {ratio:8.0f} (quartiles {low:.0f} to {high:.0f}, "
        f"{ROUNDS} rounds; at least {AT_LEAST:.0f}: {verdict})"
    )
    content = {"set": name, "ratio": ratio, "low": low, "high": high, "rounds": ROUNDS}
    write("features", {**content, "steps_a_second": [on_images, on_features]})


if __name__ == "__main__":
    main()
