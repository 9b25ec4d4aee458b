"""Numbers as the page writes them: scores, differences and p-values as text."""

from towpath.metrics import Metric


def number(value: float | None, digits: int = 1, sign: bool = False) -> str:
    """Return a number with `digits` decimals, or a dash for None and NaN.

    >>> number(3.14159, 2), number(None), number(2.0, 1, sign=True)
    ('3.14', '–', '+2.0')
    """
    if value is None or value != value:  # NaN
        return "–"
    return f"{value:{'+' if sign else ''},.{digits}f}".replace("-", "−")


def score_text(value: float, metric: Metric) -> str:
    """Return the value of a metric as text, in per cent where the metric is shown so.

    >>> from towpath.metrics import ACCURACY, LOSS
    >>> score_text(0.5, ACCURACY), score_text(0.5, LOSS)
    ('50.0 %', '0.500')
    """
    return f"{figure_text(value, metric)}{' %' if metric.percent else ''}"


def figure_text(value: float, metric: Metric, sign: bool = False) -> str:
    """Return the value of a metric, or a difference of two, without its unit.

    Args:
        value: the value.
        metric: the metric.
        sign: whether a plus is shown.
    """
    return number(metric.scale * value, metric.decimals, sign)


def interval_text(mean: float, interval: float, metric: Metric, sign: bool = False) -> str:
    """Return a mean with the half-width of its interval, without the unit.

    Args:
        mean: the mean of the metric, or of a difference.
        interval: the half-width of its interval.
        metric: the metric.
        sign: whether a plus is shown before the mean.
    """
    return f"{figure_text(mean, metric, sign)} ±{figure_text(interval, metric)}"


def p_text(value: float) -> str:
    """Return a p-value as text; small ones only by their bound.

    >>> p_text(0.2), p_text(1e-9)
    ('0.20', '< 0.001')
    """
    return "< 0.001" if value < 0.001 else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"
