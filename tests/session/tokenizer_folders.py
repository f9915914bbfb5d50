"""Folders of a tokenizer and its model, to break in one way each."""

import json

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

import ftlab
from tests.probes.tokens.vocabularies import byte_level

CONFIG, MAP = "tokenizer_config.json", "special_tokens_map.json"


@pytest.fixture
def folder(tmp_path):
    """A tokenizer and a model that go together."""
    tokenizer = byte_level()
    tokenizer.save_pretrained(tmp_path)
    model(len(tokenizer)).save_pretrained(tmp_path)
    return tmp_path


def model(rows: int, **settings) -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=rows,
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        **{"bos_token_id": 420, "eos_token_id": 422, "pad_token_id": 423} | settings,
    )
    return LlamaForCausalLM(config)


def edit(file, **changes):
    """Change a JSON file, as one does by hand."""
    told = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps(told | changes))


def said(folder, subject, **given):
    """Return what is said of one subject, and whether all is well."""
    view = ftlab.tokenizer_files(folder, **given)
    (found,) = [each for each in view.files.agreements if each.subject == subject]
    return found


def statuses(view):
    return {each.status for each in view.files.agreements}
