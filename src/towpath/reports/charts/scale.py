"""Axes: from values to pixels, with ticks that are easy to read."""

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Maps `[low, high]` to pixels `[start, end]`, linearly or by the logarithm."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the pixel of a value."""
        low, high, v = self.low, self.high, value
        if self.log:
            low, high, v = math.log10(low), math.log10(high), math.log10(v)
        return self.start + (v - low) / (high - low) * (self.end - self.start)

    def ticks(self, count: int = 5) -> list[float]:
        """Return round values inside the range, about `count` of them, to label the axis."""
        if self.log:
            return log_ticks(self.low, self.high)
        few = nice_ticks(self.low, self.high, count)
        return few if len(few) > 2 else nice_ticks(self.low, self.high, 2 * count)


def fitted(
    values: Iterable[float],
    start: float,
    end: float,
    *,
    log: bool = False,
    include: Iterable[float] = (),
    pad: float = 0.04,
) -> Scale:
    """Return a scale that shows all finite values, with some room at both ends.

    Args:
        values: the values that are drawn.
        start: where the axis begins, in pixels.
        end: where the axis ends, in pixels.
        log: whether the axis is logarithmic; values that are not positive are then left out.
        include: further values that must lie on the axis.
        pad: room at each end, as a share of the axis.
    """
    seen = [v for v in (*values, *include) if math.isfinite(v) and (v > 0 or not log)]
    low, high = (min(seen), max(seen)) if seen else ((0.1, 1.0) if log else (0.0, 1.0))
    if log:
        if low == high:
            low, high = low / 2, high * 2
        room = (high / low) ** pad
        return Scale(low / room, high * room, start, end, log=True)
    room = (high - low) * pad if high > low else abs(low) * 0.1 or 1.0
    return Scale(low - room, high + room, start, end)


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return about `count` multiples of 1, 2 or 5 times a power of ten in [low, high].

    >>> nice_ticks(0, 100)
    [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
    """
    if not high > low:
        return [low]
    raw = (high - low) / max(1, count)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(i * step, 12) + 0.0 for i in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return the powers of ten in [low, high]; where fewer than two fit, 1, 2 and 5 times them.

    Where fewer than two of those fit, either, the range is narrow, and evenly spaced values do.

    >>> log_ticks(0.02, 3)
    [0.1, 1.0]
    >>> log_ticks(105, 136)
    [110.0, 120.0, 130.0]
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = max(1, (last - first) // 6)
    tens = [10.0**e for e in range(first, last + 1) if e % every == 0]
    inside = [t for t in tens if low <= t <= high]
    if len(inside) >= 2:
        return inside
    few = [
        t for e in range(first, last + 1) for m in (1, 2, 5) if low <= (t := m * 10.0**e) <= high
    ]
    return few if len(few) >= 2 else [t for t in nice_ticks(low, high) if low <= t <= high] or few


def tick_text(value: float) -> str:
    """Return the label of a tick, as short as it can be without rounding.

    >>> [tick_text(v) for v in (0.0, 0.25, 20.0, 5000.0, 1e-5, 250000.0)]
    ['0', '0.25', '20', '5,000', '1e-5', '250,000']
    """
    size = abs(value)
    if value == 0:
        return "0"
    if size >= 1e7 or size < 1e-3:
        mantissa, _, exponent = f"{value:.3e}".partition("e")
        text = f"{float(mantissa):g}e{int(exponent)}"
    else:
        text = f"{value:,.0f}" if size >= 1000 else f"{value:.6g}"
    return text.replace("-", "−", 1) if value < 0 else text
