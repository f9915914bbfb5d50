"""All words at once: the same are found as one by one."""

import sys
import tracemalloc

import pytest
from hypothesis import given, strategies as st

from ftlab.probes.data.texts.words import LONG, finder

WORDS = ["ab", "abc", "b", "bca", "caab", "\u00e9a", "\u3010"]
TEXTS = st.lists(st.sampled_from("abc\u00e9\u3010\ud83d"), max_size=12).map("".join)


@given(TEXTS)
def test_each_word_is_found_whatever_stands_around_it(text):
    found = finder(WORDS)(text.encode("utf-8", "surrogatepass"))
    assert found == {word for word in WORDS if word in text}


def test_so_it_is_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "ahocorasick_rs", None)
    assert finder(WORDS)(b"xbcab") == {"ab", "b", "bca"}


def test_of_a_long_text_no_list_of_places_is_made():
    text = b"ab" * LONG
    find = finder(WORDS)
    tracemalloc.start()
    found = find(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == {"ab", "b"}
    assert peak < LONG


@pytest.mark.parametrize("text", [b"", b"x"])
def test_nothing_is_found_where_nothing_is(text):
    assert not finder(WORDS)(text)
    assert not finder([])(text)
