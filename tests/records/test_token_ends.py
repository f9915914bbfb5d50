"""Reports of ends, in words."""

from IPython.lib.pretty import pretty

from ftlab.records.token_ends import SHOWN, AnswerEnd, EndReport, Repaired, RowEnds


def rows(count, **answer):
    end = AnswerEnd(1, 7, 8, True, False, **answer)
    return tuple(RowEnds(f"sample {at}", answers=(end,)) for at in range(count))


def test_the_same_of_many_rows_is_told_of_some_and_counted():
    words = EndReport(rows(SHOWN + 5)).words
    assert words[0] == "sample 0: the end of answer 1 is not trained (position 8)"
    assert words[-1] == "and the same of 5 more"
    assert len(words) == SHOWN + 1
    assert len(EndReport(rows(SHOWN)).words) == SHOWN


def test_what_differs_is_told_apart():
    doubled = RowEnds("sample 9", doubled_bos=(1,))
    words = EndReport((*rows(SHOWN + 1), doubled)).words
    assert words[-2:] == (
        "and the same of 1 more",
        "sample 9: BOS stands twice (position 1)",
    )


def test_a_repair_says_what_was_done_and_what_to_write():
    made = Repaired({}, tuple(f"change {n}" for n in range(SHOWN + 2)), ("do this",))
    assert pretty(made).splitlines()[-2:] == [
        "and 2 more",
        "in the code: do this",
    ]
    assert str(Repaired({})) == "nothing had to be changed"
