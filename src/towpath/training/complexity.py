"""What section 3.2 of the paper says that planning a window costs, as numbers.

The paper's total is, in its letters,

    O((n_iLQR n_ls + 1) T_0  +  n_iLQR (m_0 eta + M) D).

| letter | here | meaning |
|---|---|---|
| T_0 | `horizon` mini-batch evaluations | training on the window's T mini-batches |
| n_iLQR | `iterations` | iterations of iLQR |
| n_ls | each of `trials` | trials of the line search in an iteration |
| m_0 | `samples` | query samples of a task |
| eta | left as a factor | arithmetic operations of the model for a sample |
| M | `tasks` | tasks of a mini-batch |
| D | `parameters` | meta-parameters |

The terms in D are those of one mini-batch, as the paper writes them: it drops the factor T (and,
for the curvature, M), which does not grow with the model.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class PaperCost:
    """The terms of section 3.2 for a plan whose iterations and trials are known.

    >>> cost = PaperCost(horizon=5, tasks=10, samples=75, parameters=1000, trials=(1, 3))
    >>> cost.evaluations, cost.curvature_passes, cost.linearisation, cost.backward
    (25, 10, 150000, 20000)
    """

    horizon: int
    tasks: int
    samples: int
    parameters: int
    trials: tuple[int, ...]

    @property
    def iterations(self) -> int:
        """The number of iterations of iLQR, n_iLQR in the paper."""
        return len(self.trials)

    @property
    def trainings(self) -> int:
        """How often the window is trained on: n_iLQR n_ls + 1, for the nominal and every trial."""
        return 1 + sum(self.trials)

    @property
    def evaluations(self) -> int:
        """The evaluations of mini-batches in all `trainings`, each of which takes T."""
        return self.horizon * self.trainings

    @property
    def curvature_passes(self) -> int:
        """The number of mini-batches whose curvature is computed: all T, in every iteration."""
        return self.horizon * self.iterations

    @property
    def linearisation(self) -> int:
        """The cost of the Gauss-Newton matrices, n_iLQR m_0 D; the paper multiplies it by eta."""
        return self.iterations * self.samples * self.parameters

    @property
    def backward(self) -> int:
        """The cost of the backward sweep of iLQR, n_iLQR M D."""
        return self.iterations * self.tasks * self.parameters
