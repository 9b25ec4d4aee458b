"""One comparer for every test against a reference."""

import torch


def largest_error(actual, expected):
    """Largest deviation relative to the largest entry of the reference (absolute if that is 0)."""
    actual = torch.as_tensor(actual, dtype=torch.float64)
    expected = torch.as_tensor(expected, dtype=torch.float64)
    assert actual.shape == expected.shape, f"{tuple(actual.shape)} against {tuple(expected.shape)}"
    if not actual.numel():
        return 0.0
    scale = float(expected.abs().max())
    return float((actual - expected).abs().max()) / (scale or 1.0)


def assert_close(actual, expected, tolerance):
    """The largest error is finite and within the tolerance."""
    error = largest_error(actual, expected)
    assert error <= tolerance, f"relative error {error:.3g}, allowed {tolerance:.3g}"
