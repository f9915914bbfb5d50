"""DAT013."""

import math

import pytest

from ftlab.probes.tokens.sample_reading import samples_in
from ftlab.records.event import Event
from ftlab.records.finding import Severity
from ftlab.records.pair_facts import EqualPair, SeenPairs
from ftlab.records.sample_facts import SeenSamples
from ftlab.rules.data.pairs_without_difference import PairsWithoutDifference
from tests.rules.data.rows import row, text
from tests.runs import RunBuilder, found_by, only

RULE = PairsWithoutDifference()
EOS = 2
LN2 = math.log(2)


def check(pairs, equal, losses, *, alike=0, length=9, last=7, trainer="", samples=()):
    """A run whose steps all hold the last of these counts."""
    builder = RunBuilder().facts(
        model={"class": "Llama"}, training={"trainer_class": trainer}
    )
    some = tuple(EqualPair(n, 0, n + 4, 0, length, last) for n in range(equal))
    seen = SeenPairs("halves", pairs, equal, alike, 9, 0, some[:3])
    rows = SeenSamples(0, samples, {"stop": frozenset({EOS})}, {})
    builder.run.append(Event("rows", 0, 0.0, "", rows.as_json()))
    for step, loss in enumerate(losses):
        builder.step(loss=loss)
        detail = {"forms": [seen.as_json()]}
        builder.run.append(Event("pairs", step, 0.0, "", detail))
    return found_by(RULE, builder.run)


def test_equal_pairs_give_one_number_as_the_loss():
    finding = only(check(4, 4, [LN2, LN2, LN2 + 1e-5]), "error", "sample 0")
    assert [each.name for each in finding.places[:2]] == ["0", "4"]


@pytest.mark.parametrize("losses", [[LN2, LN2], [0.8, 0.6, 0.5], [0.0, 0.0, 0.0]])
def test_rows_may_be_used_twice_on_purpose(losses):
    assert check(4, 4, losses) == ()


def test_rows_that_are_their_own_labels_are_not_compared():
    equal = (4, 4, [LN2, LN2, LN2])
    for labels, expected in (("all", 0), (None, 1)):
        columns = row(text(9), labels)
        samples = tuple(samples_in(columns, {}, 0, 0))
        assert len(check(*equal, samples=samples)) == expected


def test_a_trainer_says_what_it_compares():
    assert check(4, 4, [0.9], trainer="DPOTrainer")
    assert check(4, 4, [0.9], trainer="MyRewardTrainer")
    assert check(4, 4, [0.9], trainer="SFTTrainer") == ()


def test_some_equal_pairs_are_told_by_their_share():
    def severity(equal):
        found = check(40, equal, [0.9], trainer="DPOTrainer")
        return found[0].severity if found else None

    assert severity(3) is None
    assert severity(4) is severity(19) is Severity.INFO
    assert severity(20) is severity(39) is Severity.WARNING


def test_a_loop_of_ones_own_begins_at_ln_2_with_pairs_that_begin_alike():
    assert check(8, 6, [LN2, 0.6], alike=2)
    assert check(8, 6, [LN2, 0.6], alike=0) == ()
    assert check(8, 6, [0.8, 0.6], alike=2) == ()


def test_texts_that_were_cut_are_as_long_as_the_longest_and_have_no_end():
    def reason(**settings):
        (finding,) = check(4, 4, [LN2] * 3, **settings)
        return finding.evidence["reason"]

    assert reason() == "cut"
    assert reason(last=EOS) == reason(length=8) == "equal"
