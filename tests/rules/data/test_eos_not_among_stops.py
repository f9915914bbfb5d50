"""DAT076."""

import pytest

from ftlab.faults.chats import tokenizer
from ftlab.faults.tokenizer_folders import change, looped
from ftlab.records.finding import Place
from ftlab.rules.data.eos_not_among_stops import EosNotAmongStops
from ftlab.session.scoring.record import watch_case
from tests.rules.data.folders import (
    is_left_out_without_a_folder_and_open_on_an_empty_run,
    made,
)

OLD, EOS = 362, 365


def given(stops, configured=EOS):
    def edit(folder):
        change(folder / "generation_config.json", eos_token_id=stops)
        change(folder / "config.json", eos_token_id=configured)

    return made(tokenizer(), edit)


def test_it_is_about_runs_with_a_folder():
    assert is_left_out_without_a_folder_and_open_on_an_empty_run(EosNotAmongStops())


def test_an_end_at_which_nothing_stops_is_found():
    (finding,) = given([OLD])[1]
    assert finding.code == "DAT076"
    assert Place("file", "generation_config.json") in finding.places
    assert "and not at the tokenizer's eos_token '</turn>' (365)" in finding.message


@pytest.mark.parametrize("stops", [EOS, [EOS], [OLD, EOS]])
def test_more_stops_are_healthy(stops):
    assert given(stops)[1] == ()
    assert given(stops, configured=OLD)[1] == ()


@pytest.mark.parametrize("configured", [OLD, EOS])
def test_the_models_configuration_does_not_count_where_the_other_has_none(configured):
    assert [each.code for each in given(None, configured)[1]] == ["DAT076"]


def test_a_model_whose_generation_stops_there_is_healthy():
    loaded, _ = given([OLD])
    rule = EosNotAmongStops()
    assert watch_case(looped(loaded), 2, rules=[rule]).report.findings == ()
