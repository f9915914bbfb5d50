"""Templates, added tokens, sizes and origins, with a tokenizer and without."""

from ftlab.probes.tokenizer_files.content_agreements import content_agreements
from ftlab.probes.tokenizers.reader_of import reader_of
from tests.probes.tokenizer_files.told import files
from tests.probes.tokens.vocabularies import CHATML, byte_level


def told(found, reader=None, rows=None) -> dict:
    every = content_agreements(found, reader, rows or {})
    return {each.subject: each for each in every}


def loaded():
    return reader_of(byte_level())  # 424 ids


def test_templates_are_compared_without_a_tokenizer_too():
    found = files(
        chat_template__jinja="1", tokenizer_config__json={"chat_template": "2"}
    )
    assert told(found)["chat template"].words == (
        "chat_template.jinja and tokenizer_config.json hold other templates"
    )
    same = files(
        chat_template__jinja="1", tokenizer_config__json={"chat_template": "1"}
    )
    assert told(same)["chat template"].status == "agrees"


def test_a_template_of_no_file_is_told():
    found = files(chat_template__jinja=CHATML + "{# newer #}")
    assert told(found, loaded())["chat template"].words.endswith("has another one")


def test_many_added_tokens_are_counted():
    listed = {f"<{at}>": at for at in range(10)}
    shifted = {"added_tokens": [{"content": t, "id": i + 1} for t, i in listed.items()]}
    found = told(files(tokenizer__json=shifted, added_tokens__json=listed))
    assert found["added tokens"].words == (
        "'<0>' is 1 in tokenizer.json, 0 in added_tokens.json; '<1>' is 2 in "
        "tokenizer.json, 1 in added_tokens.json; '<2>' is 3 in tokenizer.json, 2 in "
        "added_tokens.json; and 7 more"
    )


def test_an_added_token_that_was_not_loaded_is_told():
    found = files(added_tokens__json={"<new>": 424})
    words = told(found, loaded())["added tokens"].words
    assert words == "'<new>' is 424 in added_tokens.json, not loaded"


def test_sizes_are_compared_with_the_highest_id():
    rows = {"the model": 424}
    assert told(files(), loaded(), rows)["embedding"].status == "agrees"
    assert told(files(), loaded(), {"the model": 423})["embedding"].status == "fails"
    apart = told(files(config__json={"vocab_size": 500}), loaded(), rows)
    assert apart["embedding"].status == "differs"
    assert "embedding" not in told(files(), None, rows)
    assert "embedding" not in told(files(), loaded())


def test_revisions_and_bases_are_told():
    one, two = "ab" * 20, "cd" * 20
    assert told(files({"config.json": one}))["revision"].words == one
    apart = told(files({"config.json": one, "tokenizer.json": two}))["revision"]
    assert apart.status == "differs"
    base = files(adapter_config__json={"base_model_name_or_path": "some/base"})
    assert "some/base" in told(base)["base model"].words
    assert told(files(adapter_config__json={"base_model_name_or_path": 3})) == {}
