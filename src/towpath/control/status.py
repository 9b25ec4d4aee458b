"""How a plan ended: a status with a sentence that explains it and says what to do."""

from enum import Enum


class Status(Enum):
    """Outcome of a plan; `status.message` is a sentence with a remedy."""

    CONVERGED = "converged"
    ITERATION_LIMIT = "iteration limit"
    QUADRATIC_LIMIT = "quadratic limit"
    NO_SIGNIFICANT_DECREASE = "no significant decrease"
    NO_AGREEMENT = "no agreement"
    NOTHING_TO_PLAN = "nothing to plan"
    LINE_SEARCH_FAILED = "line search failed"
    NOT_POSITIVE_DEFINITE = "not positive definite"
    NON_FINITE_DERIVATIVE = "non-finite derivative"
    NON_FINITE_NOMINAL = "non-finite nominal"
    RULE = "rule"
    NOTHING_TO_JUDGE = "nothing to judge"

    @property
    def message(self) -> str:
        """A sentence that says what the status means and what to do about it."""
        return _MESSAGES[self]

    @property
    def usable(self) -> bool:
        """Whether the plan has a finite trajectory that may be applied."""
        return self is not Status.NON_FINITE_NOMINAL

    @property
    def failed(self) -> bool:
        """Whether planning stopped because of a numerical failure."""
        return self in (
            Status.NOT_POSITIVE_DEFINITE,
            Status.NON_FINITE_DERIVATIVE,
            Status.NON_FINITE_NOMINAL,
        )


_MESSAGES = {
    Status.CONVERGED: "The weights are stationary to the tolerance; nothing to do.",
    Status.ITERATION_LIMIT: (
        "All iterations that were asked for were used (with iterations=0 the nominal is the plan); "
        "raise iterations for more."
    ),
    Status.QUADRATIC_LIMIT: (
        "The quadratic programme for the weights stopped at its iteration limit, so they are "
        "feasible and no worse than the nominal, but not the best of the model; raise beta, which "
        "makes the problem better conditioned, or plan shorter windows."
    ),
    Status.NO_SIGNIFICANT_DECREASE: (
        "What a further step predicts is below what a trial could show (its standard error over "
        "the tasks, or rounding), or a trial cost more than predicted, so the weights that were "
        "reached are the plan; use acceptance='strict' to go on nevertheless, lower beta or raise "
        "the meta learning rate for larger effects, or use float64 against rounding."
    ),
    Status.NO_AGREEMENT: (
        "The two halves of the targets ask for opposite weights, so there is no evidence that "
        "weighting helps and the nominal was kept; add targets or use shrink='none'."
    ),
    Status.NOTHING_TO_PLAN: (
        "No loss is counted after a step of this window (one mini-batch counts before its own step "
        "alone), so no weight can change the cost and the nominal was kept; plan several "
        "mini-batches together (tp.Windowed collects them), pass targets, or use "
        "terminal='replay'."
    ),
    Status.LINE_SEARCH_FAILED: (
        "No trial step lowered the cost enough, so the current weights were kept; if this is "
        "frequent raise max_trials or beta, lower the learning rate, or use adjoint='exact' (the "
        "model's gradient may be off)."
    ),
    Status.NOT_POSITIVE_DEFINITE: (
        "The quadratic model stayed indefinite after regularisation, so the current weights were "
        "kept; use curvature='gauss-newton' or a larger beta."
    ),
    Status.NON_FINITE_DERIVATIVE: (
        "A derivative or curvature along the trajectory is NaN or infinite, so the current weights "
        "were kept; look for a task with extreme inputs, or use curvature='none'."
    ),
    Status.NON_FINITE_NOMINAL: (
        "Training with the nominal weights already gives a NaN or infinite loss, gradient or "
        "parameter, so there is no plan to apply; look at the tasks or lower the learning rate."
    ),
    Status.RULE: "The weights follow the weighter's own rule; nothing was optimised.",
    Status.NOTHING_TO_JUDGE: (
        "No task of this window has what the rule decides by (tp.AboveChance: an accuracy, of a "
        "tp.Episode with classes; tp.Evidence: query samples with different targets under a loss "
        "of classes, of numbers or of yes-or-no questions), so it dropped none; wrap tasks in "
        "tp.Episode, pass loss= by its name or as a module of torch, or use another rule."
    ),
}
