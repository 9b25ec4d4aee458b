"""The page docs/results/trust.md: what `auto` must reach in every setting, and what it reached.

It is made of the settings' own pages (their JSON files), as the index is. The requirements were
written down before any of the runs: shares of the oracle's gain, at least so much over uniform, at
most so much below the best rule of `referee`. A rule is compared with `auto` on the seeds that both
were run with.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.written import DOCS, Written, over_trainings, reading
from towpath.weighters.sets import REFEREES

PAGE = "trust"
OURS, START = "auto", "evidence"
RIVALS = [name for name in REFEREES if name not in ("uniform", "oracle")]
NO_RULE = "no rule was run"
FAMILIES = ("nvs", "tox21", "atg", "bsk")


@dataclass(frozen=True)
class Row:
    """One setting and what `auto` must reach there, in points over uniform."""

    title: str
    page: str
    share: float | None = None
    """of the oracle's gain"""
    least: float = -0.5
    below_best: float | None = None
    """how far below the best rule at most"""

    def required(self) -> str:
        """Return the requirement in words."""
        if self.share is not None:
            return f"{100 * self.share:.0f}% of the oracle's gain"
        words = f"at least {self.least:+.1f}"
        if self.below_best is None:
            return words
        return f"{words}, at most {self.below_best:g} below the best rule"


ROWS = [
    *(
        Row(f"{share} per cent wrong query labels", f"trust-{share}", share=0.95)
        for share in (20, 40, 60)
    ),
    Row("40 per cent wrong support labels", "trust-support", share=0.95),
    Row("no wrong labels", "trust-0"),
    Row("40 per cent of the trusted tasks wrong, clean training", "trust-wrong"),
    Row("Zipf alphabets", "trust-zipf", below_best=1.0),
    Row("40 per cent wrong query labels, first-order MAML", "trust-maml", below_best=1.0),
    Row("60 per cent off-target tasks", "trust-off-target", below_best=1.0),
    *(
        Row(
            f"ToxCast, {family.upper()}{', 40 per cent mislabelled' if noise else ''}",
            f"trust-toxcast-{family}{noise}",
            below_best=0.5,
        )
        for noise in ("", "-noise")
        for family in FAMILIES
    ),
]
ASSAYS_MEAN = 0.5
"""what the settings of ToxCast must reach on average"""


@dataclass(frozen=True)
class Outcome:
    """What was reached in a setting."""

    ours: Mapping[str, float]
    """by seed"""
    oracle: Mapping[str, float]
    rules: Mapping[str, Mapping[str, float]]
    start: Mapping[str, float] = field(default_factory=dict)
    """what `auto` starts from, by itself"""

    @classmethod
    def of(cls, row: Row, pages: Mapping[str, Written]) -> "Outcome":
        """Read the page of a setting."""
        page = pages[row.page]
        found = {name: each for name in RIVALS if (each := page.gains(name))}
        return cls(page.gains(OURS), page.gains("oracle"), found, page.gains(START))

    @property
    def mean(self) -> float:
        """The mean over the seeds of what `auto` gained."""
        return statistics.fmean(self.ours.values())

    def share(self) -> float | None:
        """Return the share of the oracle's gain, over the seeds that both were run with."""
        both = [seed for seed in self.ours if seed in self.oracle]
        total = sum(self.oracle[seed] for seed in both)
        return sum(self.ours[seed] for seed in both) / total if both and total > 0 else None

    def behind(self) -> tuple[str, float] | None:
        """Return the rule that is the most ahead of `auto` on common seeds, and by how much."""
        ahead = {}
        for name, each in self.rules.items():
            both = [seed for seed in each if seed in self.ours]
            if both:
                ahead[name] = statistics.fmean(each[s] - self.ours[s] for s in both)
        if not ahead:
            return None
        best = max(ahead, key=lambda name: ahead[name])
        return best, ahead[best]

    def misses(self, row: Row) -> list[str]:
        """Return in what the setting falls short of its requirement, in words."""
        found = []
        share, behind = self.share(), self.behind()
        if self.mean < row.least:
            found.append(f"below {row.least:+.1f}")
        if row.share is not None and (share is None or share < row.share):
            found.append("oracle not run" if share is None else "less of the oracle's gain")
        if row.below_best is not None and behind is None:
            found.append(NO_RULE)
        elif row.below_best is not None and behind is not None and behind[1] > row.below_best:
            found.append(f"{behind[1]:.1f} below {behind[0]}")
        return found


def _cells(row: Row, outcome: Outcome, page: Written) -> list[str]:
    share, behind = outcome.share(), outcome.behind()
    each = ", ".join(f"{value:+.1f}" for value in outcome.ours.values())
    uniform = page.accuracy("uniform", page.tests[0])
    oracle = "-"
    if outcome.oracle:
        oracle = f"{over_trainings(list(outcome.oracle.values()))}"
        # a share of next to nothing says nothing, so it is shown where it is what is required
        oracle += "" if share is None or row.share is None else f" ({100 * share:.0f}%)"
    rival = "-"
    if behind is not None:
        name, gap = behind
        seeds = [seed for seed in outcome.rules[name] if seed in outcome.ours]
        mean = statistics.fmean(outcome.rules[name][seed] for seed in seeds)
        rival = f"`{name}` {mean:+.1f} ({-gap:+.1f}; {len(seeds)} of {len(outcome.ours)} seeds)"
    misses = outcome.misses(row)
    verdict = "yes" if not misses else "**no**: " + "; ".join(misses)
    if misses == [NO_RULE]:
        verdict = f"undecided: {NO_RULE}"
    return [
        f"[{row.title}]({row.page}.md)",
        uniform,
        f"{over_trainings(list(outcome.ours.values()))} ({each})",
        over_trainings(list(outcome.start.values())) if outcome.start else "-",
        oracle,
        rival,
        row.required(),
        verdict,
    ]


def table(pages: Mapping[str, Written]) -> list[str]:
    """Return the lines of the table; a setting without a page of its own was not run."""
    head = ["setting", "uniform", "`auto` minus uniform (by seed)", "`evidence`"]
    head += ["oracle (share reached)", "nearest rule (`auto` against it)", "required", "holds"]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for row in ROWS:
        page = pages.get(row.page)
        outcome = None if page is None else Outcome.of(row, pages)
        if page is None or outcome is None or not outcome.ours:
            lines.append(f"| {row.title} | not run | - | - | - | - | {row.required()} | not run |")
        else:
            lines.append(f"| {' | '.join(_cells(row, outcome, page))} |")
    return lines


def assays(outcomes: Sequence[Outcome]) -> list[str]:
    """Return what `auto` reached on average over the settings of ToxCast, and the best one rule."""
    found = [outcome for outcome in outcomes if outcome.ours]
    if not found:
        return []
    mean = statistics.fmean(outcome.mean for outcome in found)
    lines = [
        f"ToxCast on average over {len(found)} settings: {mean:+.2f} (required: at least "
        f"{ASSAYS_MEAN:+.1f}, which {'holds' if mean >= ASSAYS_MEAN else 'does **not** hold'}).",
        "",
    ]
    pairs = {name: _paired(found, name) for name in RIVALS}
    everywhere = {name: each for name, each in pairs.items() if len(each) == len(found)}
    if everywhere:
        lines += [
            "A user does not know the best rule of each setting, but has to choose one for all of "
            "them. On average over the settings, on the seeds that both were run with:",
            "",
            "| rule | minus uniform | `auto` there |",
            "|---|---|---|",
        ]
        means = {
            n: [statistics.fmean(c) for c in zip(*e, strict=True)] for n, e in everywhere.items()
        }
        for name in sorted(means, key=lambda name: -means[name][0]):
            theirs, ours = means[name]
            lines.append(f"| `{name}` | {theirs:+.2f} | {ours:+.2f} |")
        lines.append("")
    return lines


def _paired(outcomes: Sequence[Outcome], name: str) -> list[tuple[float, float]]:
    """Return what a rule and `auto` gained in each setting, on the seeds that both have."""
    found = []
    for outcome in outcomes:
        each = outcome.rules.get(name, {})
        both = [seed for seed in each if seed in outcome.ours]
        if both:
            theirs = statistics.fmean(each[seed] for seed in both)
            found.append((theirs, statistics.fmean(outcome.ours[seed] for seed in both)))
    return found


def write_trust_page() -> None:
    """Write the page of all settings, of those that have a page of their own."""
    names = [row.page for row in ROWS]
    pages = {name: Written(name) for name in names if (DOCS / f"{name}.json").is_file()}
    if not pages:
        return
    families = [Outcome.of(r, pages) for r in ROWS if "toxcast" in r.page and r.page in pages]
    lines = [
        "# Is `auto` right everywhere?",
        "",
        "`auto` without options in every setting, minus uniform weights on the same test tasks, in "
        "points. Intervals are 95% over trainings (seeds), not over test tasks; three seeds give "
        "wide ones. The requirements were set before the runs. The nearest rule is the one of "
        "`referee` that is the most ahead of `auto`, or the least behind it, on the seeds that "
        "both were run with; the best of nine rules in hindsight is ahead of a single one by luck "
        "alone, too. `evidence` is what `auto` starts from, by itself.",
        "",
        *table(pages),
        "",
        *assays(families),
        reading(PAGE),
    ]
    (DOCS / f"{PAGE}.md").write_text("\n".join(lines).rstrip() + "\n")
