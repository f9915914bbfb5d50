"""`ftlab.tokenizer_files`: real folders with one fault each, and healthy ones."""

import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerFast

import ftlab
from ftlab.records.errors import BadValueError
from tests.probes.tokenizers.real import fast_form
from tests.probes.tokens.vocabularies import (
    BRACKETS,
    byte_fallback,
    byte_level,
    unigram,
    word_piece,
)
from tests.session.tokenizer_folders import (
    CONFIG,
    MAP,
    edit,
    folder,
    model,
    said,
    statuses,
)
from tests.versions import older_than

__all__ = ["folder"]  # a fixture


def test_a_healthy_folder_agrees_in_everything(folder):
    view = ftlab.tokenizer_files(folder)
    assert view.ok
    assert statuses(view) == {"agrees"}
    subjects = [each.subject for each in view.files.agreements]
    assert subjects == [
        "bos_token",
        "eos_token",
        "pad_token",
        "eos_token_id",
        "bos_token_id",
        "pad_token_id",
        "chat template",
        "added tokens",
        "embedding",
    ]
    assert repr(view).splitlines()[0].endswith("they agree")


@pytest.mark.parametrize(
    "make", [byte_level, byte_fallback, unigram, word_piece, fast_form]
)
def test_what_save_pretrained_writes_agrees(make, tmp_path):
    make().save_pretrained(tmp_path)
    assert ftlab.tokenizer_files(tmp_path).ok


@pytest.mark.skipif(
    older_than("transformers", "5"), reason="it lists added tokens in the configuration"
)
def test_a_stale_map_wins_and_is_told(folder):
    edit(folder / MAP, eos_token="<|pad|>")
    assert AutoTokenizer.from_pretrained(folder).eos_token == "<|pad|>"
    assert said(folder, "eos_token").words == (
        "tokenizer_config.json says '<|im_end|>', special_tokens_map.json says "
        "'<|pad|>'; transformers reads '<|pad|>'"
    )
    assert said(folder, "eos_token_id").words == (
        "a generation stops at 422 (generation_config.json), and not at the "
        "tokenizer's eos_token '<|pad|>' (423)"
    )


def test_a_stale_map_is_not_read_where_the_configuration_lists_added_tokens(folder):
    token = {"content": "<|im_end|>", "special": True, "normalized": False}
    edit(folder / CONFIG, added_tokens_decoder={"422": token})
    edit(folder / MAP, eos_token="<|pad|>")
    assert AutoTokenizer.from_pretrained(folder).eos_token == "<|im_end|>"
    assert said(folder, "eos_token").words.endswith("transformers reads '<|im_end|>'")


def test_a_token_that_one_file_names_and_nobody_reads_is_told(folder):
    token = {"content": "<|im_end|>", "special": True, "normalized": False}
    edit(folder / CONFIG, added_tokens_decoder={"422": token})
    edit(folder / MAP, unk_token="<|pad|>")
    assert AutoTokenizer.from_pretrained(folder).unk_token is None
    assert said(folder, "unk_token").words == (
        "special_tokens_map.json says '<|pad|>'; transformers reads none"
    )


def test_a_template_that_another_file_hides_is_told(folder):
    edit(folder / CONFIG, chat_template=BRACKETS)
    found = said(folder, "chat template")
    assert found.status == "differs"
    assert found.words.endswith("transformers loads has that of chat_template.jinja")
    edit(folder / CONFIG, chat_template=byte_level().chat_template)
    assert said(folder, "chat template").status == "agrees"


def test_a_template_that_only_a_processor_reads_is_told(folder):
    (folder / "chat_template.jinja").unlink()
    edit(folder / "chat_template.json", chat_template=BRACKETS)
    assert said(folder, "chat template").words == (
        "chat_template.json holds one; the tokenizer that transformers loads has none"
    )


def test_a_switch_that_is_not_heeded_is_told(folder):
    edit(folder / CONFIG, add_bos_token=True)
    found = said(folder, "add_bos_token")
    assert found.status == "differs"
    assert "transformers puts none before a text" in found.words
    edit(folder / CONFIG, add_bos_token=False)
    assert said(folder, "add_bos_token").status == "agrees"


def test_ids_beyond_the_embedding_fail(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["<new>"])
    tokenizer.save_pretrained(folder)
    found = said(folder, "embedding")
    assert found.status == "fails"
    assert (
        "ids up to 424, but there are rows for 424 in model.safetensors" in found.words
    )
    live = model(424)
    assert found.words.count("424 in") == 2
    assert "424 in the model" in said(folder, "embedding", model=live).words


def test_rows_beyond_the_tokenizer_are_healthy(folder):
    model(448).save_pretrained(folder)
    assert said(folder, "embedding").status == "agrees"


def test_a_configuration_of_another_size_is_told(folder):
    edit(folder / "config.json", vocab_size=512)
    found = said(folder, "embedding")
    assert found.status == "differs"
    assert found.words == "rows: 424 in model.safetensors, 512 in config.json"


def test_an_end_that_generation_does_not_heed_is_told(folder):
    edit(folder / "generation_config.json", eos_token_id=[420])
    assert said(folder, "eos_token_id").words == (
        "a generation stops at 420 (generation_config.json), and not at the "
        "tokenizer's eos_token '<|im_end|>' (422)"
    )
    edit(folder / "generation_config.json", eos_token_id=[420, 422])
    assert said(folder, "eos_token_id").status == "agrees"


def test_an_end_that_only_the_model_names_is_told(folder):
    edit(folder / "config.json", eos_token_id=[422, 7])
    found = said(folder, "eos_token_id")
    assert found.status == "differs"
    assert found.words.endswith("a generation reads generation_config.json")


def test_a_configuration_may_name_a_bos_that_the_tokenizer_has_not(folder):
    edit(folder / CONFIG, bos_token=None)
    (folder / MAP).unlink(missing_ok=True)
    view = ftlab.tokenizer_files(folder)
    assert view.ok
    assert "bos_token_id" not in {each.subject for each in view.files.agreements}


def test_another_padding_id_is_told(folder):
    edit(folder / "config.json", pad_token_id=0)
    edit(folder / "generation_config.json", pad_token_id=423)
    found = said(folder, "pad_token_id")
    assert found.words == (
        "config.json says 0, generation_config.json says 423, the tokenizer 423"
    )


def test_added_tokens_under_two_ids_are_told(folder):
    edit(folder / "added_tokens.json", **{"<|pad|>": 9, "<|bos|>": 420})
    assert said(folder, "added tokens").words == (
        "'<|pad|>' is 423 in tokenizer.json, 9 in added_tokens.json, 423 as loaded"
    )


def test_a_truncation_that_a_call_has_left_is_noted_and_has_no_effect(folder):
    inner = Tokenizer.from_str(byte_level().backend_tokenizer.to_str())
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, **byte_level().special_tokens_map
    )
    tokenizer(["a b c", "d"], truncation=True, max_length=2, padding=True)
    tokenizer.save_pretrained(folder)
    loaded = AutoTokenizer.from_pretrained(folder)
    ids = loaded(["a b c d", "a"])["input_ids"]
    assert len(ids[0]) > 2 > len(ids[1])
    assert {said(folder, what).status for what in ("truncation", "padding")} == {
        "noted"
    }
    assert ftlab.tokenizer_files(folder).ok


def test_files_of_two_revisions_are_told(folder):
    kept = folder / ".cache" / "huggingface" / "download"
    kept.mkdir(parents=True)
    (kept / "tokenizer.json.metadata").write_text("ab" * 20 + "\n0\n0\n")
    (kept / f"{CONFIG}.metadata").write_text("ab" * 20 + "\n0\n0\n")
    assert said(folder, "revision").status == "agrees"
    (kept / f"{CONFIG}.metadata").write_text("cd" * 20 + "\n0\n0\n")
    assert said(folder, "revision").words == (
        "tokenizer.json is of abababab, tokenizer_config.json is of cdcdcdcd"
    )


def test_the_base_of_an_adapter_is_noted(folder):
    edit(
        folder / "adapter_config.json",
        base_model_name_or_path="some/base",
        revision="v2",
    )
    assert said(folder, "base model").words.startswith(
        "the adapter is of some/base at revision v2;"
    )
    assert ftlab.tokenizer_files(folder).ok


def test_an_empty_folder_says_that_nothing_is_loaded(tmp_path):
    view = ftlab.tokenizer_files(tmp_path)
    assert "transformers cannot load it" in repr(view)
    assert statuses(view) == {"not checked"}
    assert not view.ok


def test_bad_arguments_are_refused_in_words(folder):
    with pytest.raises(BadValueError, match="was given an int; pass the folder"):
        ftlab.tokenizer_files(3)
    with pytest.raises(BadValueError, match="model is a Linear without an embedding"):
        ftlab.tokenizer_files(folder, model=torch.nn.Linear(2, 2))


def test_the_base_of_an_adapter_tells_the_rows_of_its_embedding(folder, tmp_path):
    ends = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
    model(400, **ends).save_pretrained(tmp_path / "base")
    (folder / "model.safetensors").unlink()
    (folder / "config.json").unlink()
    edit(folder / "adapter_config.json", base_model_name_or_path=str(tmp_path / "base"))
    told = said(folder, "embedding")
    assert (told.status, told.reason) == ("fails", "rows-missing")
