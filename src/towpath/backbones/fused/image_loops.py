"""The first block of grey images in one pass: convolution, batch norm, max-pooling, ReLU.

What the convolution gives is never written. Its mean and variance follow from the moments of the
3x3 patches p of the images, `mean = w . E p` and `E (w . p)^2 = w . E (p p^T) w`. The gradient in w
follows from the same moments and a sum over the maxima: it is that in the convolution's outputs
(see `norm_loops`), times the patches.

Images are `[N, H + 2, W + 2]`, padded with a border of zeros; outputs `[N, H//2, W//2, C]`. Loops
over channels take `LANES` of them at a time, so C is a multiple of it. Weights are arranged for
that: `[C / LANES, 10, LANES]`, flat, the nine taps of the kernel row by row and then a constant.
"""

from typing import NamedTuple

import numpy as np

from towpath.backbones.fused.compiling import Array, compiled

# Those of `choice` and `norm_loops`: numba keeps what it compiled as long as this file stays as it
# is, so a constant that is compiled in must stand here.
LANES = 16
CLOSED = 4
TAPS = 9
BLOCK = (TAPS + 1) * LANES


class Statistics(NamedTuple):
    """What the pass forward found out about the images and the convolution's outputs."""

    mean: Array  # [C]
    scale: Array  # [C], one over the standard deviation
    first: Array  # [9], the sum of all patches
    second: Array  # [9, 9], the sum of their products


def _moments(images: Array) -> tuple[Array, Array]:
    """Return the sums over all patches of p `[9]` and of p p^T `[9, 9]`.

    Rows are taken as one long line, in which a tap of the next patch is the next number. Those that
    lie across the end of a row are no patches, so one factor of each product is 0 there.
    """
    count, height, width = images.shape
    length = (height - 2) * width - 2
    first, second = np.zeros(TAPS), np.zeros((TAPS, TAPS))
    inside = np.empty(length, images.dtype)
    for n in range(count):
        line = images[n].ravel()
        for s in range(TAPS):
            start = s // 3 * width + s % 3
            for k in range(length):
                inside[k] = line[start + k]
            for i in range(1, height - 2):
                inside[i * width - 2] = 0
                inside[i * width - 1] = 0
            alone = line.dtype.type(0)
            for k in range(length):
                alone += inside[k]
            first[s] += alone
            for t in range(s, TAPS):
                other = line[t // 3 * width + t % 3 :]
                met = line.dtype.type(0)
                for k in range(length):
                    met += inside[k] * other[k]
                second[s, t] += met
    for s in range(TAPS):
        for t in range(s):
            second[s, t] = second[t, s]
    return first, second


moments = compiled(_moments, reorder=True)


def forward(
    images: Array, w: Array, gamma: Array, beta: Array, eps: float, y: Array, place: Array
) -> Statistics:
    """Write the outputs and the places of the maxima; return what the pass back needs.

    Args:
        images: `[N, H + 2, W + 2]`.
        w: `[9, C]`, float64.
        gamma: `[C]`.
        beta: `[C]`.
        eps: what batch norm adds to a variance.
        y: `[N, H//2, W//2, C]`, to be written.
        place: the same shape, uint8, to be written.
    """
    first, second = moments(images)
    mean, scale, arranged = _statistics(first, second, w, gamma, beta, eps, images, y)
    _forward(images, arranged, y, place)
    return Statistics(mean, scale, first, second)


@compiled
def _statistics(
    first: Array,
    second: Array,
    w: Array,
    gamma: Array,
    beta: Array,
    eps: float,
    images: Array,
    y: Array,
) -> tuple[Array, Array, Array]:
    """Return the mean and the scale of each channel, and the arranged weights that normalise."""
    channels = y.shape[3]
    pixels = len(y) * (images.shape[1] - 2) * (images.shape[2] - 2)
    mean, scale = np.empty(channels), np.empty(channels)
    arranged = np.empty(channels * (TAPS + 1), images.dtype)
    for c in range(channels):
        centre, square = 0.0, 0.0
        for s in range(TAPS):
            centre += first[s] * w[s, c]
            for t in range(TAPS):
                square += w[s, c] * second[s, t] * w[t, c]
        mean[c] = centre / pixels
        variance = square / pixels - mean[c] * mean[c]
        # a comparison that is false for NaN, which stays
        scale[c] = 1.0 / np.sqrt((0.0 if variance < 0.0 else variance) + eps)
        start = c // LANES * BLOCK + c % LANES
        for t in range(TAPS):
            arranged[start + t * LANES] = gamma[c] * scale[c] * w[t, c]
        arranged[start + TAPS * LANES] = beta[c] - gamma[c] * scale[c] * mean[c]
    return mean, scale, arranged


@compiled
def _forward(images: Array, w: Array, y: Array, place: Array) -> None:
    count, height, width, channels = y.shape
    zero = y.dtype.type(0)
    for n in range(count):
        for i in range(height):
            row0, row1 = images[n, 2 * i], images[n, 2 * i + 1]
            row2, row3 = images[n, 2 * i + 2], images[n, 2 * i + 3]
            for j in range(width):
                # the 4x4 pixels under the four patches of a window
                a0, a1, a2, a3 = row0[2 * j], row0[2 * j + 1], row0[2 * j + 2], row0[2 * j + 3]
                b0, b1, b2, b3 = row1[2 * j], row1[2 * j + 1], row1[2 * j + 2], row1[2 * j + 3]
                c0, c1, c2, c3 = row2[2 * j], row2[2 * j + 1], row2[2 * j + 2], row2[2 * j + 3]
                d0, d1, d2, d3 = row3[2 * j], row3[2 * j + 1], row3[2 * j + 2], row3[2 * j + 3]
                for block in range(channels // LANES):
                    for lane in range(LANES):
                        # unsigned: numba lets negative indices count from the end
                        at = np.uintp(block * BLOCK + lane)
                        out = np.uintp(block * LANES + lane)
                        w0, w1, w2 = w[at], w[at + np.uintp(LANES)], w[at + np.uintp(2 * LANES)]
                        w3, w4 = w[at + np.uintp(3 * LANES)], w[at + np.uintp(4 * LANES)]
                        w5, w6 = w[at + np.uintp(5 * LANES)], w[at + np.uintp(6 * LANES)]
                        w7, w8 = w[at + np.uintp(7 * LANES)], w[at + np.uintp(8 * LANES)]
                        bias = w[at + np.uintp(9 * LANES)]
                        z0 = bias + w0 * a0 + w1 * a1 + w2 * a2 + w3 * b0 + w4 * b1 + w5 * b2
                        z1 = bias + w0 * a1 + w1 * a2 + w2 * a3 + w3 * b1 + w4 * b2 + w5 * b3
                        z2 = bias + w0 * b0 + w1 * b1 + w2 * b2 + w3 * c0 + w4 * c1 + w5 * c2
                        z3 = bias + w0 * b1 + w1 * b2 + w2 * b3 + w3 * c1 + w4 * c2 + w5 * c3
                        z0 += w6 * c0 + w7 * c1 + w8 * c2
                        z1 += w6 * c1 + w7 * c2 + w8 * c3
                        z2 += w6 * d0 + w7 * d1 + w8 * d2
                        z3 += w6 * d1 + w7 * d2 + w8 * d3
                        right, right_below = z1 > z0, z3 > z2
                        above = z1 if right else z0
                        below = z3 if right_below else z2
                        lower = below > above
                        z = below if lower else above
                        k0 = np.int32(1) if right else np.int32(0)
                        k2 = np.int32(3) if right_below else np.int32(2)
                        k = k2 if lower else k0
                        closed = z <= zero
                        y[n, i, j, out] = zero if closed else z
                        place[n, i, j, out] = np.int32(CLOSED) if closed else k


def backward(
    g: Array, images: Array, place: Array, w: Array, gamma: Array, found: Statistics
) -> tuple[Array, Array, Array]:
    """Return the gradients with respect to w `[9, C]`, gamma and beta `[C]`.

    Args:
        g: the gradient in the outputs, `[N, H//2, W//2, C]`.
        images: as they were passed forward.
        place: the places of the maxima.
        w: `[9, C]`, float64.
        gamma: `[C]`.
        found: what the pass forward returned.
    """
    return _gradients(_sums_at_maxima(g, images, place), images, w, gamma, *found)


@compiled
def _gradients(
    sums: Array,
    images: Array,
    w: Array,
    gamma: Array,
    mean: Array,
    scale: Array,
    first: Array,
    second: Array,
) -> tuple[Array, Array, Array]:
    """Return the gradients that follow from the sums at the maxima."""
    channels = len(gamma)
    pixels = len(images) * (images.shape[1] - 2) * (images.shape[2] - 2)
    d_w, d_gamma, d_beta = np.empty((TAPS, channels)), np.empty(channels), np.empty(channels)
    for c in range(channels):
        start = c // LANES * BLOCK + c % LANES
        d_beta[c] = sums[start + TAPS * LANES]
        met = 0.0
        for t in range(TAPS):
            met += w[t, c] * sums[start + t * LANES]
        d_gamma[c] = scale[c] * (met - mean[c] * d_beta[c])
        direct = gamma[c] * scale[c]
        slope = -direct * scale[c] * d_gamma[c] / pixels
        offset = -direct * d_beta[c] / pixels - slope * mean[c]
        for t in range(TAPS):
            outputs = 0.0  # the sum over all patches of the convolution's output times the tap
            for s in range(TAPS):
                outputs += second[t, s] * w[s, c]
            d_w[t, c] = direct * sums[start + t * LANES] + slope * outputs + offset * first[t]
    return d_w, d_gamma, d_beta


@compiled
def _sums_at_maxima(g: Array, images: Array, place: Array) -> Array:
    """Return the sums of z p and of z, arranged as weights are."""
    count, height, width, channels = g.shape
    zero = g.dtype.type(0)
    total = np.zeros(channels * (TAPS + 1))
    part = np.empty(channels * (TAPS + 1), g.dtype)
    for n in range(count):
        for k in range(len(part)):
            part[k] = 0
        for i in range(height):
            row0, row1 = images[n, 2 * i], images[n, 2 * i + 1]
            row2, row3 = images[n, 2 * i + 2], images[n, 2 * i + 3]
            for j in range(width):
                a0, a1, a2, a3 = row0[2 * j], row0[2 * j + 1], row0[2 * j + 2], row0[2 * j + 3]
                b0, b1, b2, b3 = row1[2 * j], row1[2 * j + 1], row1[2 * j + 2], row1[2 * j + 3]
                c0, c1, c2, c3 = row2[2 * j], row2[2 * j + 1], row2[2 * j + 2], row2[2 * j + 3]
                d0, d1, d2, d3 = row3[2 * j], row3[2 * j + 1], row3[2 * j + 2], row3[2 * j + 3]
                for block in range(channels // LANES):
                    for lane in range(LANES):
                        at = np.uintp(block * BLOCK + lane)
                        out = np.uintp(block * LANES + lane)
                        k, v = place[n, i, j, out], g[n, i, j, out]
                        g0 = v if k == 0 else zero
                        g1 = v if k == 1 else zero
                        g2 = v if k == 2 else zero
                        g3 = v if k == 3 else zero
                        part[at] += g0 * a0 + g1 * a1 + g2 * b0 + g3 * b1
                        part[at + np.uintp(LANES)] += g0 * a1 + g1 * a2 + g2 * b1 + g3 * b2
                        part[at + np.uintp(2 * LANES)] += g0 * a2 + g1 * a3 + g2 * b2 + g3 * b3
                        part[at + np.uintp(3 * LANES)] += g0 * b0 + g1 * b1 + g2 * c0 + g3 * c1
                        part[at + np.uintp(4 * LANES)] += g0 * b1 + g1 * b2 + g2 * c1 + g3 * c2
                        part[at + np.uintp(5 * LANES)] += g0 * b2 + g1 * b3 + g2 * c2 + g3 * c3
                        part[at + np.uintp(6 * LANES)] += g0 * c0 + g1 * c1 + g2 * d0 + g3 * d1
                        part[at + np.uintp(7 * LANES)] += g0 * c1 + g1 * c2 + g2 * d1 + g3 * d2
                        part[at + np.uintp(8 * LANES)] += g0 * c2 + g1 * c3 + g2 * d2 + g3 * d3
                        part[at + np.uintp(9 * LANES)] += g0 + g1 + g2 + g3
        for k in range(len(part)):
            total[k] += part[k]
    return total
