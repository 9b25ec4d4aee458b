"""What a reader wants to know of a weighter before choosing it, kept beside the weighter itself.

`towpath weighters list|show` prints the cards, and the tables of docs/weighters.md are made from
them (`towpath.weighters.guide`).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Point:
    """The place of a weighter that uses targets among the others: one choice on each axis."""

    horizon: str
    """how far ahead the effect of a weight is followed"""
    geometry: str
    """whose step turns a gradient into a movement of the parameters"""
    projection: str
    """how influences become weights"""
    shrinkage: str
    """what keeps the weights near equal ones where the targets say little"""


@dataclass(frozen=True)
class Card:
    """One weighter in five short texts.

    `l` are the losses of the M tasks of a mini-batch, `g_i` their gradients, `u` the weights, `v`
    the gradient of the targets' summed loss, `s` the influences.
    """

    formula: str
    assumes: str
    costs: str
    fails: str
    reference: str = ""
    point: Point | None = None
    """for weighters that follow the targets' gradient"""
