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


def test_the_prompt_and_the_answer_are_compared_apart():
    row = parts_of(
        {
            "messages": [
                {"role": "system", "content": "s"},
                {"role": "user", "content": "a"},
                {"role": "assistant", "content": "b"},
                {"role": "user", "content": "c"},
            ]
        }
    )
    assert compared(row) == "a\nc\x00b"
