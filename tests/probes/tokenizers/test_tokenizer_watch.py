"""A tokenizer that changes at run time is noticed, and looking at one costs little."""

import pytest
from tokenizers import Tokenizer
from tokenizers.models import BPE, WordLevel
from transformers import PreTrainedTokenizerFast

from ftlab.probes.tokenizers import tokenizer_watch
from ftlab.probes.tokenizers.fingerprint import read_fingerprint
from ftlab.probes.tokenizers.tokenizer_watch import WINDOWS, TokenizerWatch
from tests.probes.tokenizers.real import TEKKEN, fast_form, mistral, slow_form
from tests.probes.tokens.vocabularies import Slow, byte_level


class Swapped(Slow):
    """A Python tokenizer in which two pieces can be exchanged."""

    exchanged = (200, 201)
    swapped = False

    def _convert_id_to_token(self, index):
        return super()._convert_id_to_token(self._of(index))

    def get_vocab(self):
        return {piece: self._of(at) for piece, at in super().get_vocab().items()}

    def _of(self, index):
        if not self.swapped or index not in self.exchanged:
            return index
        return sum(self.exchanged) - index


@pytest.fixture
def prints(monkeypatch):
    """Count the fingerprints that are read."""
    made = []

    def counted(tokenizer):
        made.append(tokenizer)
        return read_fingerprint(tokenizer)

    monkeypatch.setattr(tokenizer_watch, "read_fingerprint", counted)
    return made


def word_level(**words) -> PreTrainedTokenizerFast:
    inner = Tokenizer(WordLevel(words | {"[UNK]": len(words)}, unk_token="[UNK]"))
    return PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="[UNK]")


@pytest.mark.parametrize(
    "make", [byte_level, fast_form, mistral, lambda: mistral(TEKKEN), slow_form, Slow]
)
def test_the_vocabulary_is_read_once_as_long_as_nothing_changes(make, prints):
    tokenizer = make()
    watch = TokenizerWatch(tokenizer)
    found = {watch() for _ in range(2 * WINDOWS)}
    assert found == {read_fingerprint(tokenizer).digest}
    assert len(prints) == 1


def watched():
    """Return a tokenizer, its watch and what that tells first."""
    tokenizer = word_level(a=0, b=1)
    watch = TokenizerWatch(tokenizer)
    return tokenizer, watch, watch()


def test_calls_between_the_looks_change_nothing(prints):
    tokenizer, watch, first = watched()
    tokenizer(["a b", "a"], truncation=True, max_length=1)
    assert watch() == first
    assert tokenizer.backend_tokenizer.truncation["max_length"] == 1
    assert len(prints) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.add_tokens(["c"]),
        lambda t: setattr(t, "chat_template", "{{ messages }}"),
        lambda t: setattr(t, "padding_side", "left"),
        lambda t: t.add_special_tokens({"eos_token": "[UNK]"}),
    ],
)
def test_a_change_that_shows_is_noticed_at_once(change):
    tokenizer, watch, first = watched()
    change(tokenizer)
    assert watch() == read_fingerprint(tokenizer).digest != first


def test_a_small_change_does_not_read_the_vocabulary_again(prints):
    tokenizer, watch, first = watched()
    for side, same in (("left", False), ("right", True)) * 2:
        tokenizer.padding_side = side
        assert (watch() == first) == same
        assert watch() == read_fingerprint(tokenizer).digest
    assert len(prints) == 1


def test_another_model_of_the_same_size_is_noticed():
    tokenizer, watch, first = watched()
    other = WordLevel({"b": 0, "a": 1, "[UNK]": 2}, unk_token="[UNK]")
    tokenizer.backend_tokenizer.model = other
    assert any(watch() != first for _ in range(WINDOWS))
    assert watch() == read_fingerprint(tokenizer).digest


def test_pieces_that_are_exchanged_in_place_are_noticed_in_one_round():
    tokenizer = Swapped()
    watch = TokenizerWatch(tokenizer)
    first = watch()
    tokenizer.swapped = True
    found = [watch() for _ in range(WINDOWS)]
    assert found[-1] == read_fingerprint(tokenizer).digest != first
    tokenizer.swapped = False
    assert [watch() for _ in range(WINDOWS)][-1] == first


def test_another_padding_between_looks_is_no_change(prints):
    tokenizer = word_level(a=0, b=1)
    tokenizer.add_special_tokens({"pad_token": "[UNK]"})
    watch = TokenizerWatch(tokenizer)
    first = watch()
    for settings in ({"padding": "max_length"}, {"truncation": True}, {}) * 2:
        tokenizer(["a b", "a"], max_length=100 if settings else None, **settings)
        assert watch() == first
    assert len(prints) == 1


def test_merges_that_change_how_the_text_is_cut_are_noticed():
    tokenizer = byte_level()
    inner = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    own = PreTrainedTokenizerFast(tokenizer_object=inner)
    watch = TokenizerWatch(own)
    first = watch()
    vocabulary = inner.get_vocab(with_added_tokens=False)
    own.backend_tokenizer.model = BPE(vocabulary, [])
    assert watch() == read_fingerprint(own).digest != first


def test_without_a_tokenizer_there_is_no_digest():
    assert TokenizerWatch(None)() == ""
    assert TokenizerWatch(object())() == ""
