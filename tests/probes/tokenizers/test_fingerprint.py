"""Fingerprints of tokenizers of each kind, real ones among them."""

from types import SimpleNamespace

import pytest
from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers, processors
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from ftlab.probes.tokenizers.compare_texts import Encoder, first_difference
from ftlab.probes.tokenizers.fingerprint import read_fingerprint
from ftlab.probes.tokenizers.reader_of import reader_of
from ftlab.records.fingerprint import PARTS
from tests.probes.tokenizers.real import (
    SENTENCEPIECE,
    TEKKEN,
    HoldsTiktoken,
    fast_form,
    file_of,
    mistral,
    slow_form,
)
from tests.probes.tokens.vocabularies import (
    BRACKETS,
    byte_fallback,
    byte_level,
    slow,
    unigram,
    word_piece,
)

FAST = [byte_level, byte_fallback, unigram, word_piece]


def copy_of(tokenizer) -> PreTrainedTokenizerFast:
    """Return a tokenizer of one's own to change."""
    inner = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    made = PreTrainedTokenizerFast(
        tokenizer_object=inner, **tokenizer.special_tokens_map
    )
    made.chat_template = tokenizer.chat_template
    return made


def differing(change, make=byte_level) -> tuple[str, ...]:
    """Return the parts in which a changed copy differs from another copy."""
    first, second = copy_of(make()), copy_of(make())
    assert read_fingerprint(first) == read_fingerprint(second)
    change(second)
    return read_fingerprint(first).differing(read_fingerprint(second))


@pytest.mark.parametrize("make", FAST)
def test_saving_and_loading_leaves_it_the_same(make, tmp_path):
    made = make()
    made.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert read_fingerprint(loaded).changes(read_fingerprint(made)) == ()


@pytest.mark.parametrize("make", [*FAST, slow])
def test_what_a_call_leaves_behind_is_no_part(make):
    made = make()
    before = read_fingerprint(made)
    made(["a b c", "d"], padding=True, truncation=True, max_length=2)
    assert read_fingerprint(made) == before


def test_every_kind_of_tokenizer_has_another_one():
    every = [read_fingerprint(make()) for make in (*FAST, slow)]
    assert len({each.digest for each in every}) == len(every)


@pytest.mark.parametrize(
    ("part", "attribute", "value"),
    [
        ("normaliser", "normalizer", normalizers.NFC()),
        ("pre-tokeniser", "pre_tokenizer", pre_tokenizers.ByteLevel(True)),
        ("decoder", "decoder", decoders.Fuse()),
        ("post-processor", "post_processor", processors.ByteLevel(trim_offsets=False)),
    ],
)
def test_a_changed_stage_is_named(part, attribute, value):
    def change(made):
        setattr(made.backend_tokenizer, attribute, value)

    assert differing(change) == (part,)


def test_a_changed_setting_is_named():
    def template(made):
        made.chat_template = BRACKETS

    def side(made):
        made.padding_side = "left"

    def switch(made):
        made.clean_up_tokenization_spaces = True

    def dropout(made):
        made.backend_tokenizer.model.dropout = 0.1

    assert differing(template) == ("chat template",)
    assert differing(side) == ("padding and truncation",)
    assert differing(switch) == ("switches",)
    assert differing(dropout) == ("model",)


def test_added_and_named_tokens_are_told_apart():
    assert differing(lambda made: made.add_tokens(["<new>"])) == (
        "vocabulary",
        "added tokens",
    )

    def other_end(made):
        made.eos_token = "<|pad|>"

    assert differing(other_end) == ("special tokens",)


def test_merges_in_another_order_are_named():
    first = byte_level().backend_tokenizer.to_str()
    at = first.index('"merges":')
    pairs = first[at:].split("],[")
    assert len(pairs) > 10
    swapped = "],[".join([*pairs[:4], pairs[5], pairs[4], *pairs[6:]])
    one, two = (Tokenizer.from_str(text) for text in (first, first[:at] + swapped))
    assert read_fingerprint(one).differing(read_fingerprint(two)) == ("merges",)


def test_scores_of_a_unigram_model_are_part_of_it():
    first = unigram().backend_tokenizer.to_str()
    scores = first.replace("-3.", "-4.", 1)
    assert scores != first
    one, two = (Tokenizer.from_str(text) for text in (first, scores))
    assert read_fingerprint(one).differing(read_fingerprint(two)) == ("merges",)


def test_padding_counts_in_a_bare_one_where_it_takes_effect():
    inner = Tokenizer.from_str(byte_level().backend_tokenizer.to_str())
    inner.no_truncation()
    before = read_fingerprint(inner)
    inner.enable_truncation(2)
    assert before.differing(read_fingerprint(inner)) == ("padding and truncation",)


def test_a_processor_has_that_of_its_tokenizer():
    processor = SimpleNamespace(tokenizer=byte_level(), image_processor=object())
    assert read_fingerprint(processor) == read_fingerprint(byte_level())


@pytest.mark.parametrize(("name", "size"), [(SENTENCEPIECE, 32768), (TEKKEN, 131072)])
def test_tokenizers_of_mistral_common_are_read(name, size):
    wrapped = mistral(name)
    print_ = read_fingerprint(wrapped)
    assert print_.backend == "mistral-common"
    assert print_.parts["vocabulary"].size == size
    assert print_.parts["model"].entries["version"] == '"v3"'
    bare = read_fingerprint(wrapped.tokenizer)
    assert set(bare.differing(print_)) <= {
        "model",  # a bare one has no mode
        "special tokens",
        "padding and truncation",
        "switches",
    }
    again = type(wrapped)(tokenizer_path=file_of(name))
    assert read_fingerprint(again) == print_


def test_versions_of_one_vocabulary_are_told_apart():
    older = mistral("mistral_instruct_tokenizer_240216.model.v2")
    parts = read_fingerprint(older).differing(read_fingerprint(mistral()))
    assert {"vocabulary", "merges", "model", "added tokens"} <= set(parts)


def test_slow_and_fast_forms_have_the_same_vocabulary():
    made = read_fingerprint(slow_form())
    assert made.backend == "sentencepiece"
    parts = made.differing(read_fingerprint(fast_form()))
    assert "vocabulary" not in parts
    assert {"merges", "model"} <= set(parts)


def test_a_prefix_space_is_seen():
    old, new = fast_form(), fast_form(add_prefix_space=False)
    parts = read_fingerprint(old).differing(read_fingerprint(new))
    assert parts == ("pre-tokeniser", "decoder", "switches")


def test_no_limit_is_no_limit_however_it_is_written():
    limits = [byte_level() for _ in range(3)]
    for made, limit in zip(limits, (10**30, 10**15, 512), strict=True):
        made.model_max_length = limit
    first, second, third = map(read_fingerprint, limits)
    assert first == second
    assert first.differing(third) == ("padding and truncation",)


def test_bare_cores_are_read():
    core = mistral().tokenizer.instruct_tokenizer.tokenizer._model
    assert read_fingerprint(core).backend == "sentencepiece"
    encoding = mistral(TEKKEN).tokenizer.instruct_tokenizer.tokenizer._model
    assert read_fingerprint(encoding).backend == "tiktoken"
    assert read_fingerprint(encoding).parts["vocabulary"].size == 130072


def test_vocabularies_of_bytes_are_read():
    tokenizer = HoldsTiktoken()
    found = read_fingerprint(tokenizer)
    core = read_fingerprint(tokenizer.tokenizer)
    assert found.parts["vocabulary"] == core.parts["vocabulary"]
    assert found.parts["merges"] == core.parts["merges"]
    one = Encoder("one", reader_of(tokenizer))
    own = Encoder("own", reader_of(tokenizer.tokenizer))
    assert one.bytes == own.bytes
    assert first_difference(0, "Größe 日本", one, own) is None
    assert one.side().restored == 1


def test_what_json_cannot_hold_is_named_by_its_class():
    tokenizer = byte_level()
    tokenizer.chat_template = {"default": object()}
    assert dict(read_fingerprint(tokenizer).parts["chat template"].entries) == {
        "default": '"object"'
    }


def test_parts_stand_in_their_order_and_what_cannot_be_read_is_absent():
    class Broken:
        def get_vocab(self):
            raise RuntimeError

    assert list(read_fingerprint(Broken()).parts) == ["model"]
    every = list(read_fingerprint(byte_fallback()).parts)
    assert every == [name for name in PARTS if name in every]


@pytest.mark.parametrize("given", [None, "gpt2", object(), 3])
def test_what_is_no_tokenizer_has_none(given):
    assert read_fingerprint(given) is None
