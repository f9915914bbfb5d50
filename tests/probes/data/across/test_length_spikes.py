"""One length that stands out, and how many rows are remembered for it."""

from collections import Counter

from ftlab.probes.data.across.length_spikes import KEPT, LengthSpikes

FLAT = dict.fromkeys(range(20, 400), 1)


def spikes_at(length, count, various=9):
    spikes = LengthSpikes(64)
    for at in range(count):
        spikes.add(at, length, at % various)
    return spikes


def test_a_length_that_stands_out_is_found():
    assert spikes_at(80, 30).found(Counter({**FLAT, 80: 30})) == 80
    assert spikes_at(80, 30).rows(80) == tuple(range(30))
    assert spikes_at(80, 30).rows(81) == ()


def test_lengths_beside_it_that_lack_a_blank_do_not_matter():
    lengths = Counter({**FLAT, 80: 30, 79: 30, 78: 30})
    assert spikes_at(80, 30).found(lengths) == 80


def test_other_lengths_are_none():
    assert spikes_at(80, 30).found(Counter(dict.fromkeys(range(20, 400), 5))) == 0
    assert spikes_at(80, 9).found(Counter({**FLAT, 80: 9})) == 0
    assert spikes_at(80, 30, various=3).found(Counter({**FLAT, 80: 30})) == 0
    assert spikes_at(60, 30).found(Counter({**FLAT, 60: 30})) == 0
    assert spikes_at(80, 30).found(Counter({80: 30, 200: 20})) == 0
    assert LengthSpikes(64).found(Counter()) == 0


def test_of_many_rows_those_of_a_few_lengths_are_remembered():
    spikes, lengths = LengthSpikes(64), Counter()
    for at in range(3 * KEPT):
        length = 80 if at % 9 == 0 else 64 + at % 5000
        lengths[length] += 1
        spikes.add(at, length, at % 50)
    assert spikes.found(lengths) == 80
    assert len(spikes.rows(80)) > 3 * KEPT // 9 - 1
    assert sum(bool(spikes.rows(each)) for each in range(90, 100)) < 5
