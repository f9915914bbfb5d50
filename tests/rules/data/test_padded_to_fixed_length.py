"""DAT047."""

from ftlab.records.event import Event
from ftlab.records.sample_facts import SampleFacts, SeenSamples
from ftlab.rules.data.padded_to_fixed_length import PaddedToFixedLength
from tests.runs import RunBuilder, found_by, only

RULE = PaddedToFixedLength()


def sample(length, width=100, row=0, exact=True):
    head = tuple(range(length))
    return SampleFacts(row, 0, 0, length, exact, width, 1, True, length, head=head)


def check(*samples, padding=(60, 60, 60), sequence=(100, 100, 100)):
    builder = RunBuilder().facts(model={"class": "Llama"})
    for share, width in zip(padding, sequence, strict=True):
        values = {"padding": share, "tokens": 100 - share, "sequence": width}
        builder.step(values=values)
    seen = SeenSamples(0, samples)
    builder.run.append(Event("rows", 0, 0.0, "", seen.as_json()))
    return found_by(RULE, builder.run)


def test_no_row_comes_near_the_width_of_all_batches():
    finding = only(check(sample(30), sample(50, row=1)), "info", "token 49 of sample 1")
    assert "60% of all positions are padding" in finding.message
    assert "100 wide, the longest row 50" in finding.message


def test_one_row_that_fills_more_than_half_gives_the_width():
    assert check(sample(30), sample(51)) == ()


def test_batches_of_their_own_width_are_right():
    assert check(sample(30), sequence=(100, 90, 100)) == ()
    assert check(sample(30), sample(20, width=90)) == ()


def test_two_batches_of_one_width_are_chance():
    assert check(sample(30), padding=(60, 60), sequence=(100, 100)) == ()


def test_less_than_half_of_padding_has_rows_that_were_not_looked_at():
    assert check(sample(30), padding=(40, 40, 40)) == ()


def test_rows_whose_padding_is_a_guess_are_left_out():
    assert check(sample(30, exact=False)) == ()
