import pytest

from towpath.data import DataError, EpisodeSpec


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"ways": 0}, "ways is 0"),
        ({"ways": 1, "label_noise": 0.5}, "ways is 1"),
        ({"shots": 0}, "shots is 0"),
        ({"shots": True}, "shots is True"),
        ({"shots": "many"}, "expected a number, a pair .* 'any' or 'any-10'"),
        ({"shots": "any-0"}, "expected a number, a pair .* 'any' or 'any-10'"),
        ({"shots": (5, 1)}, "low <= high"),
        ({"shots": (0, 3)}, "low end of shots is 0"),
        ({"query": 0}, "query is 0"),
        ({"groups": "unifrom"}, "Did you mean 'uniform'"),
        ({"groups": {}}, "at least one positive"),
        ({"groups": {"a": -1.0}}, "weights >= 0"),
        ({"label_noise": 1.5}, "0 to 1"),
        ({"label_noise": float("nan")}, "0 to 1"),
        ({"zipf_exponent": -1.0}, ">= 0"),
        ({"noise_kind": "quary"}, "Did you mean 'query'"),
        ({"noise_kind": "image"}, "Did you mean 'images'"),
        ({"flip_part": "all"}, "expected one of support, query, both"),
        ({"flip_probability": 1.1}, "flip_probability is 1.1"),
    ],
)
def test_a_wrong_field_is_an_error_that_says_what_was_expected(wrong, message):
    with pytest.raises(DataError, match=message):
        EpisodeSpec(**wrong)


def test_a_list_from_yaml_is_a_pair():
    assert EpisodeSpec(shots=[1, 5]) == EpisodeSpec(shots=(1, 5))


def test_images_needed_counts_the_most_shots_and_the_query():
    assert EpisodeSpec(shots=5, query=15).images_needed == 20
    assert EpisodeSpec(shots=(1, 3), query=2).images_needed == 5
    assert EpisodeSpec(shots="any", query=15).images_needed == 16
