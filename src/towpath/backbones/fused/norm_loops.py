"""Batch norm, 2x2 max-pooling and ReLU in one pass, with their first and second derivatives.

torch runs the three one after another and writes the activations to memory in between. Here a pass
reads them twice and writes a quarter; the pass back reads them once and writes once.

Arrays are `[N, H, W, C]` and contiguous. Sums run over a row of pixels in the dtype of the arrays
and over rows in float64. `place` says where in its window a maximum is: 0 to 3, row by row, or
`CLOSED` where ReLU gives 0. A value that is not finite spoils the statistics of its channel and so
all of its outputs, which is why maxima need not look for NaN.

With n pixels, `h = (x - mean) scale`, and z the gradient g put back at its maximum (0 elsewhere),
the gradients are

    d_beta = sum z      d_gamma = sum z h      dx = gamma scale (z - d_beta / n - h d_gamma / n)

and those of `sum u dx + u_gamma d_gamma + u_beta d_beta` follow from the same three.
"""

import numpy as np

from towpath.backbones.fused.compiling import Array, compiled

CLOSED = 4


@compiled
def forward(
    x: Array, gamma: Array, beta: Array, eps: float, y: Array, place: Array, top: Array
) -> tuple[Array, Array]:
    """Write the outputs, the places of the maxima and the inputs there; return mean and scale.

    The scale is one over the standard deviation.
    """
    count, height, width, channels = x.shape
    total, squares = np.zeros(channels), np.zeros(channels)
    row, row_squares = np.zeros(channels, x.dtype), np.zeros(channels, x.dtype)
    shift = np.empty(channels, x.dtype)  # one value of each channel, so that squares stay small
    for c in range(channels):
        shift[c] = x[0, 0, 0, c]
    for n in range(count):
        for i in range(height):
            for j in range(width):
                for c in range(channels):
                    d = x[n, i, j, c] - shift[c]
                    row[c] += d
                    row_squares[c] += d * d
            for c in range(channels):
                total[c] += row[c]
                squares[c] += row_squares[c]
                row[c] = row_squares[c] = 0
    pixels = count * height * width
    mean, scale = np.empty(channels), np.empty(channels)
    slope, offset = np.empty(channels, x.dtype), np.empty(channels, x.dtype)
    for c in range(channels):
        centre = total[c] / pixels
        variance = squares[c] / pixels - centre * centre
        # a comparison that is false for NaN, which stays
        scale[c] = 1.0 / np.sqrt((0.0 if variance < 0.0 else variance) + eps)
        mean[c] = centre + shift[c]
        slope[c] = gamma[c] * scale[c]
        offset[c] = beta[c] - mean[c] * gamma[c] * scale[c]
    zero = x.dtype.type(0)
    for n in range(count):
        for i in range(height // 2):
            for j in range(width // 2):
                for c in range(channels):
                    x0, x1 = x[n, 2 * i, 2 * j, c], x[n, 2 * i, 2 * j + 1, c]
                    x2, x3 = x[n, 2 * i + 1, 2 * j, c], x[n, 2 * i + 1, 2 * j + 1, c]
                    z0, z1 = slope[c] * x0 + offset[c], slope[c] * x1 + offset[c]
                    z2, z3 = slope[c] * x2 + offset[c], slope[c] * x3 + offset[c]
                    best, z, at = x0, z0, np.uint8(0)
                    if z1 > z:
                        best, z, at = x1, z1, np.uint8(1)
                    if z2 > z:
                        best, z, at = x2, z2, np.uint8(2)
                    if z3 > z:
                        best, z, at = x3, z3, np.uint8(3)
                    if z <= zero:
                        z, at = zero, np.uint8(CLOSED)
                    y[n, i, j, c] = z
                    place[n, i, j, c] = at
                    top[n, i, j, c] = best
    return mean, scale


@compiled
def spread(
    g: Array, place: Array, x: Array, direct: Array, slope: Array, offset: Array, out: Array
) -> None:
    """Write `slope x + offset`, plus `direct g` where the maximum of a window is."""
    count, height, width, channels = x.shape
    zero = g.dtype.type(0)
    for n in range(count):
        for i in range(height // 2):
            for j in range(width // 2):
                for c in range(channels):
                    at, d = place[n, i, j, c], direct[c] * g[n, i, j, c]
                    x0, x1 = x[n, 2 * i, 2 * j, c], x[n, 2 * i, 2 * j + 1, c]
                    x2, x3 = x[n, 2 * i + 1, 2 * j, c], x[n, 2 * i + 1, 2 * j + 1, c]
                    z0, z1 = slope[c] * x0 + offset[c], slope[c] * x1 + offset[c]
                    z2, z3 = slope[c] * x2 + offset[c], slope[c] * x3 + offset[c]
                    out[n, 2 * i, 2 * j, c] = z0 + (d if at == 0 else zero)
                    out[n, 2 * i, 2 * j + 1, c] = z1 + (d if at == 1 else zero)
                    out[n, 2 * i + 1, 2 * j, c] = z2 + (d if at == 2 else zero)
                    out[n, 2 * i + 1, 2 * j + 1, c] = z3 + (d if at == 3 else zero)
            if width % 2:
                for k in range(2 * i, 2 * i + 2):
                    for c in range(channels):
                        out[n, k, width - 1, c] = slope[c] * x[n, k, width - 1, c] + offset[c]
        if height % 2:
            for j in range(width):
                for c in range(channels):
                    out[n, height - 1, j, c] = slope[c] * x[n, height - 1, j, c] + offset[c]


@compiled
def backward(
    g: Array, x: Array, gamma: Array, place: Array, top: Array, mean: Array, scale: Array, dx: Array
) -> tuple[Array, Array]:
    """Write the gradient with respect to x; return those with respect to gamma and beta."""
    count, height, width, channels = x.shape
    d_gamma, d_beta = np.zeros(channels), np.zeros(channels)
    row, row_scaled = np.zeros(channels, g.dtype), np.zeros(channels, g.dtype)
    centre, narrow = np.empty(channels, g.dtype), np.empty(channels, g.dtype)
    for c in range(channels):
        centre[c], narrow[c] = mean[c], scale[c]
    zero = g.dtype.type(0)
    for n in range(count):
        for i in range(height // 2):
            for j in range(width // 2):
                for c in range(channels):
                    z = g[n, i, j, c] if place[n, i, j, c] < CLOSED else zero
                    row[c] += z
                    row_scaled[c] += z * ((top[n, i, j, c] - centre[c]) * narrow[c])
            for c in range(channels):
                d_beta[c] += row[c]
                d_gamma[c] += row_scaled[c]
                row[c] = row_scaled[c] = 0
    pixels = count * height * width
    direct, slope, offset = np.empty_like(row), np.empty_like(row), np.empty_like(row)
    for c in range(channels):
        per_x = -gamma[c] * scale[c] * scale[c] * d_gamma[c] / pixels
        direct[c] = gamma[c] * scale[c]
        slope[c] = per_x
        offset[c] = -gamma[c] * scale[c] * d_beta[c] / pixels - per_x * mean[c]
    spread(g, place, x, direct, slope, offset, dx)
    return d_gamma, d_beta


@compiled
def sums_of_second(
    u: Array, g: Array, x: Array, place: Array, mean: Array, scale: Array, at_top: Array
) -> tuple[Array, Array, Array]:
    """Write u at the maxima; return the sums of u, u h and u z of each channel."""
    count, height, width, channels = x.shape
    total, scaled, met = np.zeros(channels), np.zeros(channels), np.zeros(channels)
    row, row_scaled = np.zeros(channels, g.dtype), np.zeros(channels, g.dtype)
    centre, narrow = np.empty(channels, g.dtype), np.empty(channels, g.dtype)
    for c in range(channels):
        centre[c], narrow[c] = mean[c], scale[c]
    zero = g.dtype.type(0)
    for n in range(count):
        for i in range(height):
            for j in range(width):
                for c in range(channels):
                    row[c] += u[n, i, j, c]
                    row_scaled[c] += u[n, i, j, c] * ((x[n, i, j, c] - centre[c]) * narrow[c])
            for c in range(channels):
                total[c] += row[c]
                scaled[c] += row_scaled[c]
                row[c] = row_scaled[c] = 0
        for i in range(height // 2):
            for j in range(width // 2):
                for c in range(channels):
                    at = place[n, i, j, c]
                    picked = u[n, 2 * i, 2 * j, c] if at == 0 else zero
                    picked = u[n, 2 * i, 2 * j + 1, c] if at == 1 else picked
                    picked = u[n, 2 * i + 1, 2 * j, c] if at == 2 else picked
                    picked = u[n, 2 * i + 1, 2 * j + 1, c] if at == 3 else picked
                    at_top[n, i, j, c] = picked
                    row[c] += picked * g[n, i, j, c]
            for c in range(channels):
                met[c] += row[c]
                row[c] = 0
    return total, scaled, met


@compiled
def backward_twice(
    u: Array,
    u_gamma: Array,
    u_beta: Array,
    g: Array,
    x: Array,
    gamma: Array,
    place: Array,
    top: Array,
    mean: Array,
    scale: Array,
    d_gamma: Array,
    d_beta: Array,
    dg: Array,
    dx: Array,
) -> Array:
    """Write the gradients of `backward`'s weighted sum in g and x; return that in gamma.

    Fourteen parameters because compiled loops take arrays one by one: the three weights of the sum,
    what `backward` was given, what it returned, and room for the two results.
    """
    count, height, width, channels = x.shape
    pixels = count * height * width
    total, scaled, met = sums_of_second(u, g, x, place, mean, scale, dg)
    d_gain = np.empty(channels)
    of_x, of_g = np.empty((4, channels), g.dtype), np.empty((3, channels), g.dtype)
    for c in range(channels):
        gain = gamma[c] * scale[c]
        d_gain[c] = scale[c] * (met[c] - (total[c] * d_beta[c] + scaled[c] * d_gamma[c]) / pixels)
        # the derivative in h is `of_u u + of_z z`, to which that in the scale is added
        of_u = -gain * d_gamma[c] / pixels
        of_z = u_gamma[c] - gain * scaled[c] / pixels
        in_scale = of_u * scaled[c] + of_z * d_gamma[c] + gamma[c] * d_gain[c]
        per_x = -scale[c] * scale[c] * in_scale / pixels
        of_x[0, c], of_x[1, c] = scale[c] * of_z, per_x
        of_x[2, c] = -scale[c] * (of_u * total[c] + of_z * d_beta[c]) / pixels - per_x * mean[c]
        of_x[3, c] = scale[c] * of_u
        of_g[0, c], of_g[1, c] = gain, of_z * scale[c]
        of_g[2, c] = u_beta[c] - gain * total[c] / pixels - of_z * scale[c] * mean[c]
    spread(g, place, x, of_x[0], of_x[1], of_x[2], dx)
    for n in range(count):
        for i in range(height):
            for j in range(width):
                for c in range(channels):
                    dx[n, i, j, c] += of_x[3, c] * u[n, i, j, c]
    zero = g.dtype.type(0)
    for n in range(count):
        for i in range(height // 2):
            for j in range(width // 2):
                for c in range(channels):
                    value = of_g[0, c] * dg[n, i, j, c] + of_g[1, c] * top[n, i, j, c] + of_g[2, c]
                    dg[n, i, j, c] = value if place[n, i, j, c] < CLOSED else zero
    return d_gain
