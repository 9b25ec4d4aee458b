"""How training ends early; a module of its own because the command line needs it without torch."""


class TrainingStoppedError(RuntimeError):
    """Training ended early (numbers that are not finite, a full disk); the last good state is
    kept."""
