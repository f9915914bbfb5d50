"""Ids as text and back, by real tokenizers of all kinds."""

import functools

import numpy as np
import pytest

from ftlab.faults.builders.own_words import words_of
from ftlab.faults.builders.prose import paragraphs, tokenizer
from ftlab.faults.builders.trainers import words
from ftlab.probes.tokens.round_trips import (
    ROWS,
    SITES,
    TOKENS,
    draws,
    read_again,
    round_trips,
)
from ftlab.probes.tokens.row_samples import special_ids
from ftlab.records.sample_facts import SampleFacts

TEXTS = paragraphs()[::40][:8]
ODD = (
    "Naïve café — “quotes” … 你好世界 今天天气 😀😃 привет мир " * 3,
    "1234567 89.01 2024-05-06\t\ttabs\n\n\n   spaces   " * 4,
    "def f(x):\n    return {'a': [x, -1]}  # why\n" * 4,
)


@functools.cache
def made(kind):
    """Train a tokenizer of a kind on the paragraphs."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    if kind == "byte-level":
        return tokenizer()
    special = ["<unk>", "<pad>", "</s>"]
    if kind == "unigram":
        inner = Tokenizer(models.Unigram())
        inner.pre_tokenizer = pre_tokenizers.Metaspace()
        inner.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=2000,
            special_tokens=special,
            unk_token="<unk>",
            show_progress=False,
        )
    elif kind == "wordpiece":
        inner = Tokenizer(models.WordPiece(unk_token="<unk>"))
        inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        inner.decoder = decoders.WordPiece(cleanup=False)
        trainer = trainers.WordPieceTrainer(
            vocab_size=2000, special_tokens=special, show_progress=False
        )
    else:
        inner = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
        inner.pre_tokenizer = pre_tokenizers.Metaspace()
        inner.decoder = decoders.Sequence(
            [decoders.ByteFallback(), decoders.Metaspace()]
        )
        fallback = [f"<0x{n:02X}>" for n in range(256)]
        trainer = trainers.BpeTrainer(
            vocab_size=2500, special_tokens=special + fallback, show_progress=False
        )
    inner.train_from_iterator(paragraphs(), trainer)
    names = {"unk_token": "<unk>", "pad_token": "<pad>", "eos_token": "</s>"}
    return PreTrainedTokenizerFast(tokenizer_object=inner, **names)


KINDS = ["byte-level", "unigram", "wordpiece", "byte fallback"]


def ids_of(tokenizer, text):
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def trip(rows, tokenizer, **facts):
    samples = []
    for number, ids in enumerate(rows):
        fields = {"labelled": False, "trained": 0} | facts
        sample = SampleFacts(
            number, 0, 0, len(ids), True, len(ids), 1, stretches=(), **fields
        )
        samples.append((sample, np.array(ids, np.int64)))
    return round_trips(samples, special_ids(tokenizer, None), tokenizer)


@pytest.mark.parametrize("kind", KINDS)
def test_the_right_tokenizer_gives_them_back(kind):
    tokenizer = made(kind)
    for texts in (TEXTS, ODD):
        found = trip([ids_of(tokenizer, text) for text in texts], tokenizer)
        assert (found.sites, found.broken, found.held) == (0, 0, "")
        assert found.tokens > 60


@pytest.mark.parametrize("kind", KINDS)
def test_cut_rows_are_whole_within(kind):
    tokenizer = made(kind)
    rows = [ids_of(tokenizer, text)[7:90] for text in TEXTS]
    assert trip(rows, tokenizer).sites == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_prompt_and_an_answer_meet_at_one_place(kind):
    tokenizer = made(kind)
    rows = [ids_of(tokenizer, t[:99]) + ids_of(tokenizer, t[99:]) for t in TEXTS]
    found = trip(rows, tokenizer)
    assert found.broken == 0
    assert found.sites <= 2 * len(rows)


def test_ids_that_were_shifted_do_not_come_back():
    tokenizer = made("byte-level")
    rows = [
        [number + 96 for number in ids_of(tokenizer, text) if number + 96 < 3000]
        for text in TEXTS
    ]
    found = trip(rows, tokenizer)
    assert found.broken >= len(rows) - 1
    assert found.sites >= SITES * found.broken
    micro, row, position = found.place
    assert micro == 0
    first = tokenizer.convert_ids_to_tokens(rows[row][position])
    assert found.held.split()[0] == first
    assert found.back != found.held


def test_ids_of_another_vocabulary_do_not_come_back():
    rows = [ids_of(made("wordpiece"), text) for text in TEXTS]
    assert trip(rows, made("byte-level")).broken >= len(rows) // 2


def test_special_tokens_part_what_is_read():
    tokenizer = made("byte-level")
    ids = ids_of(tokenizer, TEXTS[0])
    end = tokenizer.eos_token_id
    packed = [*ids[:30], end, *ids[30:60], end, end, *ids[60:64]]
    found = trip([packed], tokenizer)
    assert (found.tokens, found.sites) == (60, 0)
    assert trip([[end] * 20], tokenizer) is None


def test_labels_that_are_no_tokens_of_the_row_are_left_alone():
    tokenizer = made("byte-level")
    rows = [ids_of(tokenizer, TEXTS[0])]
    labelled = {"labelled": True, "trained": 9}
    assert trip(rows, tokenizer, **labelled, same=0.5) is None
    assert trip(rows, tokenizer, **labelled, same=1.0).rows == 1
    assert trip(rows, tokenizer, **labelled, ahead=1.0).rows == 1


def test_only_so_much_is_read():
    tokenizer = made("byte-level")
    rows = [ids_of(tokenizer, " ".join(TEXTS))] * (2 * ROWS)
    found = trip(rows, tokenizer)
    assert (found.rows, found.tokens) == (ROWS, ROWS * TOKENS)


def test_who_draws_how_to_cut_is_not_asked():
    from tokenizers import Tokenizer

    text = made("byte-level").backend_tokenizer.to_str()
    dropping = Tokenizer.from_str(text)
    assert not draws(dropping)
    dropping.model.dropout = 0.1
    assert draws(dropping)


def test_words_come_back_whatever_they_are():
    tokenizer = words()
    rows = np.random.default_rng(0).integers(3, 128, (4, 40)).tolist()
    assert trip(rows, tokenizer).sites == 0


def test_a_tokenizer_without_a_decoder_is_not_asked():
    tokenizer = words_of(list(TEXTS))
    rows = [ids_of(tokenizer, text) for text in TEXTS]
    assert read_again(rows[0], tokenizer) != rows[0]
    found = trip(rows, tokenizer)
    assert (found.sites, found.broken) == (0, 0)


def test_nothing_is_told_without_a_tokenizer_or_by_one_that_fails():
    class Broken:
        def convert_ids_to_tokens(self, ids):
            return ids

        def decode(self, ids, **_):
            raise ValueError(ids)

    assert trip([[5] * 20], None) is None
    assert read_again([5] * 20, Broken()) is None
    assert trip([[5] * 20], Broken()).sites == 0


def test_truncation_and_padding_are_put_back():
    tokenizer = made("byte-level")
    rows = [ids_of(tokenizer, text) for text in TEXTS]
    tokenizer(TEXTS[0], truncation=True, max_length=5)
    before = tokenizer.backend_tokenizer.truncation
    assert trip(rows, tokenizer).sites == 0
    assert tokenizer.backend_tokenizer.truncation == before is not None
