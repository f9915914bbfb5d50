"""Where a prompt may end instead."""

import numpy as np

from ftlab.probes.tokens.border_guesses import border_guesses
from ftlab.probes.tokens.sample_reading import Columns, samples_in

SPECIAL = {"bos": frozenset({1}), "pad": frozenset({0}), "control": frozenset({0, 1})}


class Letters:
    """Three characters a token; raises where it is asked too much."""

    def __init__(self, broken=False):
        self.broken = broken

    def decode(self, ids):
        if self.broken:
            raise TypeError
        return "abc" * len(ids)


def guesses(ids, border, tokenizer=None, seen=None):
    labels = [-100] * border + ids[border:]
    seen = [1] * len(ids) if seen is None else seen
    columns = Columns(*map(np.array, (ids, labels, seen)))
    (sample,) = samples_in(columns, SPECIAL, 0, 0)
    found = border_guesses(sample, columns.ids, SPECIAL, tokenizer)
    return [(each.unit, each.position, each.closing) for each in found]


def test_as_many_characters_as_tokens_without_a_label():
    found = guesses([*range(10, 30)], 9, Letters())
    assert found == [("characters", 3, (11, 12))]


def test_padding_in_front_moves_the_border():
    found = guesses([0, 0, *range(10, 20)], 5, seen=[0, 0, *[1] * 10])
    assert found == [("columns", 7, (13, 14))]


def test_a_tokenizer_that_raises_tells_nothing():
    assert guesses([*range(10, 30)], 9, Letters(broken=True)) == []
