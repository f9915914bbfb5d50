"""One look at a folder."""

from ftlab.probes.tokenizer_files.folder_look import look_at_folder
from tests.probes.tokens.vocabularies import byte_level


def test_a_healthy_folder_is_loaded_and_agrees(tmp_path):
    byte_level().save_pretrained(tmp_path)
    look = look_at_folder(tmp_path, {"the model": 512})
    assert look.reader.size() == len(byte_level())
    assert look.agreements
    assert [each for each in look.agreements if each.status != "agrees"] == []
    assert "tokenizer.json" in [each.name for each in look.files.states]


def test_a_file_that_cannot_be_read_keeps_the_tokenizer_from_being_loaded(tmp_path):
    byte_level().save_pretrained(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("no JSON")
    look = look_at_folder(tmp_path, {})
    assert look.reader is None
    assert look.agreements[0].words == (
        "tokenizer_config.json cannot be read, so the tokenizer was not loaded"
    )


def test_odd_values_and_broken_weights_are_told(tmp_path):
    byte_level().save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"vocab_size": "many"}')
    (tmp_path / "model.safetensors").write_bytes(b"abc")
    told = {e.subject: e.status for e in look_at_folder(tmp_path, {}).agreements}
    assert told["values of config.json"] == "fails"
    assert told["model.safetensors"] == "fails"
