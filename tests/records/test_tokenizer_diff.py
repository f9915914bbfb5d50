"""When two tokenizers are the same."""

from ftlab.records.fingerprint import Fingerprint, part_of
from ftlab.records.tokenizer_diff import Side, TokenizerDiff


def diff(one="a", two="a", **counts) -> TokenizerDiff:
    prints = tuple(
        Fingerprint("Own", "python", {"model": part_of({"type": each})})
        for each in (one, two)
    )
    return TokenizerDiff(Side("old"), Side("new"), prints, **counts)


def test_equal_parts_and_equal_ids_are_the_same():
    assert diff(texts=2, equal=2).same
    assert diff().same


def test_other_parts_or_other_ids_are_not():
    assert not diff(two="b", texts=2, equal=2).same
    assert not diff(texts=2, equal=1).same


def test_changes_are_those_of_the_parts():
    (change,) = diff(two="b").changes
    assert (change.part, change.left, change.right) == ("model", '"a"', '"b"')
