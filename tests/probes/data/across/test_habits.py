"""What some rows do otherwise than most."""

import pytest

from ftlab.probes.data.across.habits import SYSTEMS, Habits
from ftlab.probes.data.rows.row_parts import parts_of


def looked(rows):
    habits = Habits()
    places = [habits.look(n, row, parts_of(row)) for n, row in enumerate(rows)]
    return habits, places


def talk(system):
    return {
        "messages": [
            {"role": "system", "content": system},
            {"role": "user", "content": "Where?"},
            {"role": "assistant", "content": "There."},
        ]
    }


def test_an_empty_system_message_is_told_beside_those_that_say_something():
    habits, places = looked([talk("Be brief."), talk(" "), talk("")])
    assert [each and each.where for each in places] == [
        None,
        "messages[0].content",
        "messages[0].content",
    ]
    assert habits.one_system


@pytest.mark.parametrize(
    "others", [[], [f"You are number {n}." for n in range(SYSTEMS + 1)]]
)
def test_empty_ones_are_meant_where_no_message_is_that_of_all(others):
    habits, _ = looked([talk(""), *map(talk, others)])
    assert not habits.one_system


def shared(*names):
    return {"conversations": [{"from": name, "value": "Text."} for name in names]}


def test_the_rarer_names_of_speakers_are_told():
    rows = [shared("human", "gpt")] * 3 + [shared("user", "assistant")] * 2
    habits, _ = looked([*rows, shared("human", "bot")])
    assert sorted(habits.named_otherwise()) == [
        ("assistant", "gpt", [3, 4]),
        ("bot", "gpt", [5]),
        ("user", "human", [3, 4]),
    ]


def test_of_names_that_are_as_frequent_the_first_one_is_usual():
    habits, _ = looked([shared("human", "gpt"), shared("user", "assistant")])
    assert habits.named_otherwise() == [
        ("user", "human", [1]),
        ("assistant", "gpt", [1]),
    ]


def test_one_notation_and_other_roles_are_in_order():
    habits, _ = looked([shared("system", "human", "gpt", "observation", ["odd"])] * 3)
    assert habits.named_otherwise() == []
