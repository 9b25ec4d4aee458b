"""The page docs/results/any-shot-rows.md: the paper's any-shot table beside ours, row by row.

It is made of the rows' own pages (their JSON files), as the index is.
"""

from collections.abc import Sequence

from benchmarks.any_shot import STEPS, TESTS, Row, rows
from benchmarks.index import TABLES
from benchmarks.written import DOCS, Written
from towpath.recipes.recipe import Recipe
from towpath.reports.differences import Difference, differences
from towpath.reports.reruns import paper_recipe

PAGE = next(iter(TABLES))
TEST_SETS = ("mini-imagenet", "cub")


def write_any_shot_page() -> None:
    """Write the page of all rows; a row without a page of its own says that it was not run."""
    table = rows()
    pages = {r.recipe: Written(r.recipe) for r in table if (DOCS / f"{r.recipe}.json").is_file()}
    if not pages:
        return
    changes = {recipe: _changes(page) for recipe, page in pages.items()}
    common = [d for d in next(iter(changes.values())) if all(d in c for c in changes.values())]
    lines = [
        "# The paper's any-shot table, in a shorter form",
        "",
        "The rows of the table: the paper's figures on 3,000 test tasks, and ours after "
        f"{STEPS} steps on mini-ImageNet with 100 of the 600 images of a class, on {TESTS} test "
        "tasks of each set, one seed, in per cent with 95% intervals. They show that a row can be "
        "run and tested on both sets; after so few steps they do not show which method is better. "
        "The paper's rows without TOW are those of Lee et al. (2020). What a recipe itself leaves "
        "open or does otherwise than its source is said by `towpath recipes show NAME`.",
        "",
        f"What differs from the paper's setting in every row: {_text(common)}.",
        "",
        "| row | mini-ImageNet: paper | ours | CUB: paper | ours | what else differs | page |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in table:
        own = [d for d in changes.get(row.recipe, ()) if d not in common]
        lines += _lines(row, pages.get(row.recipe), _text(own))
    (DOCS / f"{PAGE}.md").write_text("\n".join(lines) + "\n")


def _lines(row: Row, page: Written | None, differs: str) -> list[str]:
    """Return the row, and below a weighted one the same with equal weights."""
    link = f"[{row.recipe}]({row.recipe}.md)" if page else "-"
    cells = [row.title]
    for test in TEST_SETS:
        cells += ["{:.2f} ±{:.2f}".format(*row.theirs[test]), _ours(page, row.weighter, test)]
    lines = [f"| {' | '.join([*cells, differs or '-', link])} |"]
    if row.weighter != "uniform":
        first, second = (_ours(page, "uniform", test) for test in TEST_SETS)
        lines.append(f"| the same, uniform | - | {first} | - | {second} | the weighter | |")
    return lines


def _changes(page: Written) -> tuple[Difference, ...]:
    wanted = paper_recipe(page.name)
    assert wanted is not None
    return differences(Recipe.of(page.content["settings"]), wanted)


def _text(changes: Sequence[Difference]) -> str:
    return "; ".join(map(str, changes))


def _ours(page: Written | None, weighter: str, test: str) -> str:
    return page.accuracy(weighter, test) if page and page.runs.get(weighter) else "not run"
