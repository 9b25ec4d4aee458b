"""The nine rows of the paper's any-shot table in a shorter form, on one page.

A row is a recipe and a weighter. The short form that two cores can run is the same for all rows:
images of 42 x 42 pixels, at most 10 shots, 100 steps of five tasks, 200 test tasks on each set.
`benchmarks.evidence` runs it; `write_page` writes docs/results/any-shot-rows.md, where our figures
stand beside the paper's with everything that differs.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.results import DOCS, Finished
from towpath.reports.differences import Difference, differences
from towpath.reports.reruns import paper_recipe
from towpath.reports.sections import paper

PAGE = "any-shot-rows"
STEPS, TESTS = 100, 200
SHORT_FORM = {
    "data.image_size": "42",
    "episodes.shots": "any-10",
    "training.meta_batch_size": "5",
    "validation.tasks": "20",
    "validation.every": "50",
}
TEST_SETS = {"mini-imagenet": "mini-ImageNet", "cub": "CUB"}


@dataclass(frozen=True)
class Row:
    """A row of the paper's table."""

    title: str
    recipe: str
    weighter: str
    theirs: Mapping[str, paper.Figure]
    """test set -> accuracy in the paper"""

    @property
    def weighters(self) -> str:
        """The weighters to run: uniform beside a weighted row, which shows what weighting does."""
        return "uniform" if self.weighter == "uniform" else f"uniform,{self.weighter}"


def rows() -> list[Row]:
    """Return the rows of the paper's table whose recipe is shipped, those of others first."""
    plain = [Row(row.title, row.recipe, "uniform", row.theirs) for row in paper.ANY_SHOT_OTHERS]
    titles = {"any-shot-maml": "TOW-MAML", "any-shot-protonet": "TOW-Protonet"}
    weighted = [
        Row(titles[recipe], recipe, paper.METHODS["tow"], methods["tow"])
        for recipe, methods in paper.ANY_SHOT.items()
    ]
    return [row for row in (*plain, *weighted) if paper_recipe(row.recipe) is not None]


def write_page(finished: Mapping[str, Finished]) -> None:
    """Write the page of all rows; a row without a finished run says so.

    Args:
        finished: the comparisons that are done, by the name of their recipe.
    """
    found = {recipe: _changes(done) for recipe, done in finished.items()}
    common = [d for d in next(iter(found.values())) if all(d in each for each in found.values())]
    lines = [
        "# The paper's any-shot table, in a shorter form",
        "",
        f"The nine rows of the table: the paper's figures (3,000 test tasks), and ours after "
        f"{STEPS} steps on mini-ImageNet with 100 of the 600 images of a class, on {TESTS} test "
        "tasks of each set, in per cent with 95% intervals. These runs show that every row runs "
        "and is tested on both sets; after so few steps they say nothing about which method is "
        "better. The paper's rows without TOW are those of Lee et al. (2020).",
        "",
        f"What differs from the paper's setting in every row: {_text(common)}.",
        "",
        "| row | mini-ImageNet: paper | ours | CUB: paper | ours | what else differs |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows():
        done = finished.get(row.recipe)
        cells = [row.title]
        for test in TEST_SETS:
            cells += ["{:.2f} ±{:.2f}".format(*row.theirs[test]), _ours(done, row.weighter, test)]
        own = [d for d in found.get(row.recipe, ()) if d not in common]
        lines.append(f"| {' | '.join([*cells, _text(own) or '-'])} |")
        if row.weighter != "uniform":
            ours = [_ours(done, "uniform", test) for test in TEST_SETS]
            lines.append(f"| the same, uniform | - | {ours[0]} | - | {ours[1]} | the weighter |")
    lines += ["", "```bash", *(done.command for done in finished.values()), "```", ""]
    (DOCS / f"{PAGE}.md").write_text("\n".join(lines))


def _changes(done: Finished) -> tuple[Difference, ...]:
    wanted = paper_recipe(done.recipe.name)
    assert wanted is not None
    return differences(done.recipe, wanted)


def _text(changes: "list[Difference]") -> str:
    return "; ".join(map(str, changes))


def _ours(done: Finished | None, weighter: str, test: str) -> str:
    return done.accuracy(weighter, test) if done and done.runs(weighter) else "not run"
