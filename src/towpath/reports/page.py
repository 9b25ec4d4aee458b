"""One HTML file from run folders: no script, no network, no date, so always the same bytes."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from towpath.files import Output
from towpath.recipes.typed import RecipeError
from towpath.reports.blocks import Chapter, Section
from towpath.reports.redrawn import Redrawn
from towpath.reports.replaced import run_digests, sentence_on_replaced
from towpath.reports.reruns import study_differences
from towpath.reports.sections.classes import classes_section
from towpath.reports.sections.curves import curves_section
from towpath.reports.sections.episodes import Redraw, episodes_section
from towpath.reports.sections.made import made_section
from towpath.reports.sections.paper_page import paper_chapter
from towpath.reports.sections.planner import planner_section
from towpath.reports.sections.probes import probes_section
from towpath.reports.sections.race import race_section
from towpath.reports.sections.reached import reached_section
from towpath.reports.sections.results import finding, results_section
from towpath.reports.sections.running_time import time_section
from towpath.reports.sections.theory import theory_section
from towpath.reports.sections.trust import trust_section
from towpath.reports.sections.weights import weights_section
from towpath.runs.folder import RunFolder
from towpath.runs.read_studies import read_studies
from towpath.runs.run_data import RunData
from towpath.runs.study import Study

REPORT_SIGNATURE = b'<meta name="generator" content="towpath">'
MADE_BY = (
    "Made by <code>towpath report</code> from run folders; pictures of tasks are drawn from their "
    "data. Rebuilding it from the same folders and data gives the same file."
)
SECTIONS: tuple[Callable[[Study], Section | None], ...] = (
    results_section,
    curves_section,
    reached_section,
    time_section,
    weights_section,
    race_section,
    trust_section,
    planner_section,
    probes_section,
    classes_section,
    theory_section,
    made_section,
)
EPISODES_AT = SECTIONS.index(theory_section)


def write_report(
    paths: Sequence[Path],
    out: Path,
    *,
    of_paper: bool = False,
    force: bool = False,
    data_root: str | Path | None = None,
) -> list[str]:
    """Write the report on some run or comparison folders; return sentences for the user.

    They say what is missing in the folders, and whether a report on other runs was replaced.

    Args:
        paths: the folders.
        out: the HTML file. An older report there is replaced, any other file only with `force`.
        of_paper: whether to show the paper's figures and tables instead of a chapter per study.
        force: whether to replace a file that is no report.
        data_root: the data folder, for pictures of tasks.
    """
    if out.is_dir():
        raise RecipeError(f"{out} is a folder; expected a file to write, as in report.html")
    output = Output(out, force, REPORT_SIGNATURE)
    output.check()
    studies = read_studies(paths)
    if of_paper:
        chapters = [paper_chapter(studies)]
        title = "The paper's figures and tables"
    else:
        chapters = [study_chapter(study, partial(redrawn, data_root)) for study in studies]
        title = ", ".join(chapter.title for chapter in chapters)
    replaced = sentence_on_replaced(out, studies)
    output.write(render(title, chapters, run_digests(studies)).encode())
    lines = [line for chapter in chapters for line in chapter.missing]
    old = [run.name for study in studies for run in study.all if not run.has_digests]
    if old:
        lines.append(
            f"{len(old)} run folders, first {old[0]}, were begun by towpath 0.1, which kept no "
            "digest of data and configuration: whether they changed since then cannot be noticed."
        )
    return lines if replaced is None else [*lines, replaced]


def redrawn(data_root: str | Path | None, run: RunData) -> Redrawn | str:
    """Return a run's tasks, to be drawn again, or a sentence on why they cannot be.

    Args:
        data_root: the data folder.
        run: the run.
    """
    folder = RunFolder(run.path)
    if not run.has_digests:
        return "the run keeps no digest of its data, so that they may be others by now."
    try:
        return Redrawn.of(folder, data_root)
    except ValueError as error:
        return " ".join(str(error).split())


def study_chapter(study: Study, redraw: Redraw) -> Chapter:
    """Make the chapter of the page that presents a study.

    Args:
        study: the study.
        redraw: draws the tasks of a run again, for pictures of them.
    """
    recipe = study.recipe
    badges = []
    if study.synthetic:
        badges.append("synthetic data")
    differs = study_differences(study)
    if differs == ():
        badges.append(f"reruns {study.reproduces}")
    elif differs:
        badges.append("a recipe of the paper, changed")
    if study.shortened:
        badges.append("small form of the recipe")
    if not all(run.finished for run in study.all) or study.missing:
        badges.append("not finished")
    sections = [make(study) for make in SECTIONS]
    sections.insert(EPISODES_AT, episodes_section(study, redraw))
    about = recipe.about if recipe else ""
    return Chapter(
        study.name,
        study.heading,
        about,
        finding(study),
        badges,
        missing_in(study),
        [section for section in sections if section is not None],
    )


def missing_in(study: Study) -> list[str]:
    """Return sentences on what the folders of a study lack, one for each run concerned."""
    lines = list(study.missing)
    for run in study.all:
        if run.missing:
            lines.append(f"{run.name}: {'; '.join(run.missing)}.")
    return lines


def render(title: str, chapters: Sequence[Chapter], runs: str = "", made_by: str = MADE_BY) -> str:
    """Return the HTML of a page with these chapters.

    Args:
        title: title of the page.
        chapters: what is on it.
        runs: the digests of its runs, which stand in its head.
        made_by: the words at its foot, as HTML.
    """
    environment = Environment(
        loader=PackageLoader("towpath.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    template = environment.get_template("report.html")
    return template.render(
        title=title, chapters=chapters, runs=runs, made_by=Markup(made_by), markup=Markup
    )
