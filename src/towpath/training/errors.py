"""The error of training that ends early; apart, since the command line needs it without torch."""


class TrainingStoppedError(RuntimeError):
    """Training ended early; the last good state is kept as a checkpoint.

    Reasons are numbers that are not finite, a full disk, or a run folder that was moved.
    """
