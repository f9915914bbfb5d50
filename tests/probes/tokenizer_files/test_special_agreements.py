"""Special tokens as files name them, with a tokenizer and without."""

from ftlab.probes.tokenizer_files.special_agreements import special_agreements
from ftlab.probes.tokenizers.reader_of import reader_of
from tests.probes.tokenizer_files.told import files
from tests.probes.tokens.vocabularies import byte_level


def told(found, reader=None) -> dict:
    return {each.subject: each for each in special_agreements(found, reader)}


def loaded():
    return reader_of(byte_level())  # bos 420, eos 422, pad 423


def test_without_a_tokenizer_only_files_are_compared():
    found = files(
        tokenizer_config__json={"eos_token": "<a>", "add_bos_token": True},
        special_tokens_map__json={"eos_token": "<b>", "bos_token": "<s>"},
        config__json={"eos_token_id": 2, "pad_token_id": 3},
    )
    assert {name: each.status for name, each in told(found).items()} == {
        "bos_token": "agrees",
        "eos_token": "differs",
    }
    assert "transformers" not in told(found)["eos_token"].words


def test_what_is_loaded_is_told_where_it_is_not_what_a_file_says():
    found = files(tokenizer_config__json={"eos_token": "</s>"})
    words = told(found, loaded())["eos_token"].words
    assert words.endswith("says '</s>'; transformers reads '<|im_end|>'")


def test_a_token_that_no_file_gives_an_id_is_new_to_the_model():
    named = {"eos_token": "<new>", "unk_token": "<old>"}
    vocabularies = ({"a": 0}, [["a", -1.0]])
    for vocabulary in vocabularies:
        found = files(
            tokenizer_config__json=named,
            tokenizer__json={"model": {"vocab": vocabulary}},
        )
        eos = told(found)["eos_token"]
        assert (eos.status, eos.reason) == ("fails", "rows-missing")
        assert "'<new>' is not in tokenizer.json" in eos.words
        assert told(found)["unk_token"].status == "agrees"
    held = {"model": {"vocab": {"a": 0}}, "added_tokens": []}
    held["added_tokens"] = [{"content": "<new>", "id": 1}]
    found = files(tokenizer_config__json=named, tokenizer__json=held)
    assert told(found)["eos_token"].status == "agrees"


def test_long_tokens_are_cut():
    found = files(tokenizer_config__json={"eos_token": "x" * 5000})
    assert len(told(found, loaded())["eos_token"].words) < 200


def test_the_generation_configuration_is_read_before_the_model():
    found = files(
        config__json={"eos_token_id": 7},
        generation_config__json={"eos_token_id": [7, 422]},
    )
    assert told(found, loaded())["eos_token_id"].status == "agrees"
    only_model = files(config__json={"eos_token_id": 7})
    assert told(only_model, loaded())["eos_token_id"].words.startswith(
        "a generation stops at 7 (config.json), and not at"
    )


def test_a_generation_config_without_an_end_stops_nowhere():
    found = files(config__json={"eos_token_id": 422}, generation_config__json={})
    end = told(found, loaded())["eos_token_id"]
    assert (end.status, end.reason) == ("differs", "eos-not-heeded")
    assert end.words == (
        "generation_config.json names no id, so no generation stops at the tokenizer's "
        "eos_token '<|im_end|>' (422); what config.json says, 422, is not read then"
    )
    neither = files(config__json={}, generation_config__json={"eos_token_id": None})
    assert "not read" not in told(neither, loaded())["eos_token_id"].words
    assert "eos_token_id" not in told(files(config__json={}), loaded())


def test_a_bos_that_is_there_against_the_switch_is_told():
    class WithBos:
        backend_tokenizer = None
        bos_token_id, bos_token = 1, "<s>"

        def get_vocab(self):
            return {"<s>": 1, "a": 2}

        def tokenize(self, text):
            return list(text)

        def convert_tokens_to_ids(self, tokens):
            return [2 for _ in tokens]

        def convert_ids_to_tokens(self, ids):
            return "<s>"

        def build_inputs_with_special_tokens(self, ids):
            return [1, *ids]

    found = files(tokenizer_config__json={"add_bos_token": False})
    words = told(found, reader_of(WithBos()))["add_bos_token"].words
    assert words == (
        "tokenizer_config.json says off; transformers puts '<s>' (1) before a text"
    )
