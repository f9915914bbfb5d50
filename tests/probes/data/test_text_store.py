"""Texts come back as they were, in any order."""

import random

import pytest

from ftlab.probes.data import text_store
from ftlab.probes.data.row_parts import parts_of
from ftlab.probes.data.text_store import TextStore, compared


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
    assert compared(parts_of(row)) == "u1\na2\nu3\x00a4"
    assert compared(parts_of(talk("user"))) == "u0\x00"
    row = {"prompt": "a", "chosen": "b", "rejected": "c"}
    assert compared(parts_of(row)) == "a\x00b\nc"
    assert compared(parts_of("text")) == "\x00text"
