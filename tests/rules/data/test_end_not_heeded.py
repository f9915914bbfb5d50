"""DAT026."""

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.end_not_heeded import EndNotHeeded
from tests.rules.data.rows import (
    EOS,
    SPECIAL,
    TURN,
    check,
    is_quiet_on_a_healthy_run_and_open_on_an_empty_one,
    row,
    text,
)

RULE = EndNotHeeded()
ENDED = [row([*text(n, 10 + n), TURN]) for n in (4, 6, 7, 9)]


def test_a_healthy_run_is_left_in_peace():
    assert is_quiet_on_a_healthy_run_and_open_on_an_empty_one(RULE)


def test_samples_end_with_what_generation_passes_over():
    (finding,) = check(RULE, ENDED, pieces={TURN: "</turn>", EOS: "</s>"})
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("config", "generation_config.eos_token_id")
    assert Place("token", "4 of sample 0") in finding.places
    assert finding.evidence["heeded"] == "'</s>'"


def test_generation_may_end_at_several_tokens():
    special = SPECIAL | {"generation": {EOS, TURN}}
    assert check(RULE, ENDED, special=special) == ()


def test_eos_of_the_tokenizer_does_not_help():
    special = SPECIAL | {"stop": {EOS, TURN}, "eos": {TURN}}
    assert check(RULE, ENDED, special=special) != ()


def test_samples_that_end_in_several_ways_prove_nothing():
    assert check(RULE, [*ENDED, row([*text(5), EOS])]) == ()
    assert check(RULE, ENDED[:3]) == ()


def test_an_end_that_is_not_trained_is_another_matter():
    rows = [row([*text(n), TURN], [*text(n), -100]) for n in (4, 6, 7, 9)]
    assert check(RULE, rows) == ()


def test_what_generation_ends_at_may_be_unknown():
    special = {k: v for k, v in SPECIAL.items() if k != "generation"}
    assert check(RULE, ENDED, special=special) == ()
