"""The cards of `race` and of `auto`, its default line-up."""

from towpath.weighters.card import Card
from towpath.weighters.race.lineup import line_up

RACE = Card(
    formula="those of whichever of its `rules` brings held-out trusted tasks furthest in heats of "
    "40 mini-batches; those of the first rule where none is better beyond chance",
    assumes="the trusted tasks are those of the deployment",
    costs="in a heat one more training for each rule that is still in it, and forward passes over "
    "the judges",
    fails="where the judges are too few to tell the rules apart: the first rule then stays",
    reference="ours",
)
AUTO = Card(
    formula=f"`race` with the rules {', '.join(line_up())}",
    assumes="the trusted tasks are those of the deployment; without any it is `evidence`",
    costs="beside what the leader costs at most 0.6 of uniform's evaluations at 400 steps, 0.2 at "
    "2,000",
    fails="where what suits the data is none of its rules, or the judges are too few to see it: it "
    "is then `evidence`",
    reference="ours",
)
