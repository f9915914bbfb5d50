"""Texts come back as they were, in any order."""

import random
import time

import pytest

from ftlab.probes.data import text_store
from ftlab.probes.data.rows.formats import parts_of
from ftlab.probes.data.text_store import (
    TextStore,
    compared,
    is_judged,
    said_in,
    sides_of,
)


@pytest.mark.parametrize("block", [1 << 16, 7])
def test_texts_come_back(monkeypatch, block):
    monkeypatch.setattr(text_store, "BLOCK", block)
    texts = [f"{'é' * (at % 5)}\x00\ud83d{at}" if at % 3 else "" for at in range(60)]
    store = TextStore()
    for text in texts[:40]:
        store.append(text)
    assert list(store) == texts[:40]
    assert store[5] == texts[5]
    for text in texts[40:]:
        store.append(text)
    order = list(range(60))
    random.Random(0).shuffle(order)
    assert [store[at] for at in order] == [texts[at] for at in order]
    assert list(store) == texts
    assert len(store) == 60
    store.close()


def talk(*roles):
    pairs = enumerate(roles)
    return {"messages": [{"role": r, "content": f"{r[0]}{at}"} for at, r in pairs]}


def test_the_last_answer_and_what_is_before_it_are_compared_apart():
    row = talk("system", "user", "assistant", "user", "assistant")
    assert compared(parts_of(row)) == "u1\na2\nu3\x00a4\x00"
    assert compared(parts_of(talk("user"))) == "u0\x00\x00"
    row = {"prompt": "a", "chosen": "b", "rejected": "c"}
    assert compared(parts_of(row)) == "a\x00b\nc\x00!"
    assert compared(parts_of("text")) == "\x00text\x00"


def test_what_is_beside_the_texts_is_kept_apart_from_them():
    row = {"prompt": "a\x00b", "completion": "c", "images": [b"1"]}
    kept = compared(parts_of(row))
    assert said_in(kept) == "a\x00b\x00c"
    assert (
        sides_of(kept)[2] != sides_of(compared(parts_of(row | {"images": [b"2"]})))[2]
    )
    assert sides_of(kept)[2] == sides_of(compared(parts_of(dict(row))))[2] != ""


def test_rows_whose_answer_is_judged_are_marked_and_labels_tell_them_apart():
    row = {"prompt": "a", "completion": "b"}
    kept = [compared(parts_of(row | {"label": each})) for each in (True, False, True)]
    assert kept[0] == kept[2] != kept[1]
    assert all(is_judged(sides_of(each)[2]) for each in kept)
    assert is_judged(sides_of(compared(parts_of(row | {"score": 3})))[2])
    assert not is_judged(sides_of(compared(parts_of(row)))[2])


def test_a_talk_of_many_messages_is_compared_in_no_time():
    talk = [{"role": "assistant", "content": f"{at}"} for at in range(20_000)]
    began = time.perf_counter()
    kept = compared(parts_of({"prompt": talk, "completion": "It is."}))
    assert kept.count("\n") == 20_000
    assert time.perf_counter() - began < 5
