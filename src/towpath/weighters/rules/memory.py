"""The type of a rule's state, which lasts from one mini-batch of a training to the next."""

from typing import Any

Memory = dict[str, Any]
"""Values by name that JSON can hold: numbers, words, lists and dictionaries of them. A checkpoint
stores it, so a run that is resumed goes on with it; its size should not grow with the training."""
