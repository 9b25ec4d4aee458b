"""Statistics of a range of drawn tasks, counted without reading an image."""

from collections.abc import Iterable
from dataclasses import dataclass

from towpath.data.drawn_task import AnyDraw


@dataclass(frozen=True)
class Summary:
    """Statistics of a range of episodes: how many were of which group, capped or mislabelled."""

    episodes: int
    groups: dict[str, int]
    mislabelled: int
    capped_episodes: int  # at least one class had fewer shots than drawn
    capped_classes: int
    classes: int

    @classmethod
    def of(cls, draws: Iterable[AnyDraw]) -> "Summary":
        """Count the groups, capped shots and mislabelled tasks of these draws."""
        groups: dict[str, int] = {}
        episodes = mislabelled = capped_episodes = capped_classes = classes = 0
        for draw in draws:
            episodes += 1
            groups[draw.group] = groups.get(draw.group, 0) + 1
            mislabelled += draw.mislabelled
            capped_episodes += any(draw.capped)
            capped_classes += sum(draw.capped)
            classes += len(draw.capped)
        return cls(episodes, groups, mislabelled, capped_episodes, capped_classes, classes)

    @classmethod
    def together(cls, parts: Iterable["Summary"]) -> "Summary":
        """Add up the statistics of several ranges of episodes."""
        groups: dict[str, int] = {}
        sums = [0] * 5
        for part in parts:
            for name, count in part.groups.items():
                groups[name] = groups.get(name, 0) + count
            own = (part.episodes, part.mislabelled, part.capped_episodes, part.capped_classes)
            sums = [a + b for a, b in zip(sums, (*own, part.classes), strict=True)]
        return cls(sums[0], groups, *sums[1:])

    def sentence(self) -> str:
        """Return the statistics as a sentence for people."""
        return (
            f"{self.episodes:,} episodes: shots capped in {self.capped_episodes:,} "
            f"({self.capped_classes:,} of {self.classes:,} classes drawn), "
            f"{self.mislabelled:,} mislabelled on purpose"
        )
