"""The cards of TOW's presets: one class, six ways to plan."""

from towpath.weighters.card import Card, Point

PAPER = "Nguyen, Do, Carneiro"

TOW = Card(
    formula="`argmin sum_t [ sum(l(x_t)) + beta/2 \\|u_t - mu\\|^2 ]` over the window, `x_{t+1}` "
    "one optimiser step on `u_t . l(x_t)`, `u >= 0`, `mu = 1/M`, or a weighter's weights: "
    "`nominal=mixture`",
    assumes="a lower loss of the window's own later tasks is what is wanted",
    costs="about T more evaluations an iteration, sketches of curvature, 1.5 T M P numbers",
    fails="where tasks are wrong: they are part of the cost; at a beta that is far too small",
    reference=PAPER,
)
AUTO = Card(
    formula="the same, with beta such that the largest deviation from `1/M` is about `spread/M`",
    assumes=TOW.assumes,
    costs=TOW.costs,
    fails="where tasks are wrong; where influences are noise, which it makes as large as signal",
    reference="ours",
)
FAITHFUL = Card(
    formula="the paper's text: frozen moments, `u >= 0` by shrinking the whole step",
    assumes=TOW.assumes,
    costs="about T more evaluations an iteration, sketches of curvature, 3 T M P numbers",
    fails="with Adam: the step it plans is not the one that is taken; one weight at 0 stops all",
    reference=PAPER,
)
FAST = Card(
    formula="costates from less than half of the query images, weights from the training's own "
    "gradients ([performance](performance.md))",
    assumes="a part of each query set says enough; momentum",
    costs="little more than training",
    fails="with few query images a class",
    reference="ours",
)
TARGETS = Card(
    formula="`argmin sum_t [ sum_{j in targets_t} l_j(x_{t+1}) + beta/2 \\|u_t - mu\\|^2 ]`, each "
    "mini-batch on the simplex and with a beta of its own",
    assumes="targets",
    costs="about T more evaluations, and the targets after every step, twice",
    fails="in the first hundred steps, where it is slow; trusted tasks that are memorised say "
    "little",
    reference="ours",
    point=Point(
        "the window",
        "the optimiser's, with its moments",
        "simplex, by a quadratic programme",
        "a quadratic prior, and agreement of the targets",
    ),
)
TARGETS_FAST = Card(
    formula="the same, with the targets' costates along the optimiser's momentum and weights "
    "from the training's own gradients",
    assumes="targets; momentum",
    costs="little more than training and the targets",
    fails="as `tow-targets`",
    reference="ours",
    point=TARGETS.point,
)
EVIDENCE = Card(
    formula="`tow-targets` about the weights of `evidence` in place of equal ones",
    assumes="targets; wrong tasks have labels without meaning",
    costs="as `tow-targets`",
    fails="where trusted tasks are memorised: they say little then",
    reference="ours",
    point=TARGETS.point,
)
