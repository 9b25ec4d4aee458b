"""The examples run and show what they promise."""

from examples import sine


def test_trusted_sine_waves_take_weight_from_the_wrong_ones(tmp_path):
    plan = sine.main(tmp_path)
    wrong, clean = plan.weights[:, :3].mean(), plan.weights[:, 3:].mean()
    assert wrong < 0.7 * clean
    assert (tmp_path / "sine.png").stat().st_size > 5000
