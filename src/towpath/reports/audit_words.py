"""What an audit calls things: classes and images, or the tasks and rows of a table."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from towpath.runs.judged import JudgedTask, is_table_task


@dataclass(frozen=True)
class AuditWords:
    """The words for what is ranked, for what was drawn of it in training, and for its examples.

    Of images, classes are ranked, and a task is drawn of several. Of a table of assays, customers
    or sensors, these are the tasks that are ranked, and an episode draws rows of one of them.
    """

    unit: str
    """what is ranked: class or task"""
    units: str
    drawn: str
    """what training draws: task or episode"""
    examples: str
    """what to look at: images or rows"""
    method: str
    """how it is ranked, with `{what}` for weights or losses"""
    value: str
    """what the value of a unit is, with `{what}` for weight or loss"""
    group_value: str
    """what the value of a group is, with `{what}` for weight or loss"""
    named: str
    """heading of what was drawn consists of"""
    in_common: str
    """what may have something in common with others that were drawn"""
    extras: str
    """what an audit shows only where the data of the run are there"""

    def finding(self, suspects: Sequence[str], count: int, worse: str) -> str:
        """Return one sentence on how many units stand out, and which comes first.

        Args:
            suspects: names of those that stand out, the most suspect first.
            count: how many there are.
            worse: in what way they stand out.
        """
        if not suspects:
            return f"None of the {count} {self.units} stands out clearly."
        verb = "stands" if len(suspects) == 1 else "stand"
        return (
            f"{len(suspects)} of {count} {self.units} {verb} out as {worse} than the average; "
            f"first {suspects[0]}."
        )


OF_IMAGES = AuditWords(
    unit="class",
    units="classes",
    drawn="task",
    examples="images",
    method=(
        "A class is judged by all tasks that it was part of: a ridge regression of the tasks' "
        "relative {what} on their classes separates its share from that of the classes beside it, "
        "and keeps a class that was seen seldom near the average; intervals are 95%."
    ),
    value="The {what} of a task that has the class, when its other classes are average",
    group_value="The {what} of a task with classes of one group only.",
    named="classes",
    in_common="its classes have",
    extras="pictures and file names",
)
OF_TABLE_CLASSES = replace(OF_IMAGES, examples="rows", extras="names of rows")
OF_TABLE_TASKS = AuditWords(
    unit="task",
    units="tasks",
    drawn="episode",
    examples="rows",
    method=(
        "A task is judged by all episodes that were drawn from it: the mean of their relative "
        "{what}, kept near the average for a task that was drawn seldom (a ridge regression); "
        "intervals are 95%."
    ),
    value="The {what} of an episode of the task",
    group_value="The {what} of an episode of a task of the group.",
    named="task",
    in_common="it has",
    extras="names of rows",
)


def words_of(tasks: Sequence[JudgedTask]) -> AuditWords:
    """Return the words for these judged tasks, all of one run.

    Args:
        tasks: what was judged, at least one.
    """
    info = tasks[0].info
    if not is_table_task(info):
        return OF_IMAGES
    return OF_TABLE_TASKS if info["task"] else OF_TABLE_CLASSES
