"""All that files are compared in, in one order."""

from ftlab.probes.tokenizer_files.file_agreements import file_agreements
from ftlab.probes.tokenizers.reader_of import reader_of
from tests.probes.tokenizer_files.told import files
from tests.probes.tokens.vocabularies import byte_level


def test_special_tokens_come_before_contents():
    made = byte_level()
    found = files(
        tokenizer_config__json={"eos_token": made.eos_token},
        chat_template__jinja=made.chat_template,
    )
    told = file_agreements(found, reader_of(made), {"the model": 424})
    assert [(each.subject, each.status) for each in told] == [
        ("eos_token", "agrees"),
        ("chat template", "agrees"),
        ("embedding", "agrees"),
    ]


def test_nothing_is_said_of_nothing():
    assert file_agreements(files(), None, {}) == ()
