"""Data sets in lists, however long, do not hold a training up."""

from types import ModuleType
from typing import Any

import pytest
import torch

from ftlab.probes.holding import search, walk
from ftlab.probes.holding.survey import survey


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A script with 1,000 rows of 500 tokens; nothing else is the user's."""
    made: Any = ModuleType("script")
    made.rows = [{"input_ids": list(range(500))} for _ in range(1000)]
    made.model = torch.nn.Linear(2, 2)
    monkeypatch.setattr(walk, "own_modules", lambda: [made])
    monkeypatch.setattr(walk, "_running", list)
    return made


@pytest.mark.usefixtures("script")
def test_tokens_are_not_met_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    passed = walk._is_passed
    monkeypatch.setattr(
        walk, "_is_passed", lambda child: bool(asked.append(child)) or passed(child)
    )
    met = walk.Walk().objects
    assert sum(type(each) is list for each in met) == 1001
    assert len(asked) < 5000


def test_a_walk_ends_after_so_many_objects(script: Any) -> None:
    cut = walk.Walk(most=50)
    assert any(each is script.model for each in cut.objects)
    assert len(cut.objects) < 1100  # the rows that one list has brought
    assert not cut.is_whole
    assert walk.Walk().is_whole


@pytest.mark.usefixtures("script")
def test_containers_of_very_many_elements_are_not_entered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(walk, "BULK", 900)
    met = walk.Walk().objects
    assert any(type(each) is list and len(each) == 1000 for each in met)
    assert not any(type(each) is dict and "input_ids" in each for each in met)


@pytest.mark.parametrize("most", [walk.MOST, 1500])
def test_what_was_cut_off_is_not_compared(
    script: Any, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(search, "MOST", most)
    looks = search.Search(lambda: 0.0)
    script.kept = []
    found = []
    for step in range(30):
        script.kept.append(torch.zeros(10_000))
        found += looks.read(step, 1e6 + 40_000 * step, 64)
    names = ["".join(each.path) for each in found]
    assert names == ([] if most == 1500 else ["script.kept"])


@pytest.mark.usefixtures("script")
def test_where_nothing_is_suspected_it_ends_within_its_share_of_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits: list[int] = []

    def noting(step: int, elements: int, **settings: Any) -> Any:
        limits.append(settings["most"])
        return survey(step, elements, **settings)

    monkeypatch.setattr(search, "survey", noting)
    seconds = iter(range(0, 10**6, 30))
    looks = search.Search(lambda: next(seconds))
    for step in range(20):
        looks.read(step, 1e9, 64)
    assert len(limits) == 3
    assert len(set(limits)) == 1
    assert 10_000 < limits[0] < walk.MOST
