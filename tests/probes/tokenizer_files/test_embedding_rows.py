"""Rows of embeddings, of live models and of files that may be anything."""

import json
import os

import pytest
import torch
from safetensors.torch import save_file

from ftlab.faults.builders.tiny import llama
from ftlab.probes.tokenizer_files.embedding_rows import broken_headers, embedding_rows


def test_a_saved_model_tells_them_like_the_live_one(tmp_path):
    model = llama()
    model.save_pretrained(tmp_path)
    rows = model.get_input_embeddings().num_embeddings
    found = embedding_rows(tmp_path, model)
    assert found == {"the model": rows, "model.safetensors": rows}


@pytest.mark.parametrize(
    "key",
    [
        "transformer.wte.weight",
        "base_model.model.model.embed_tokens.weight",
        "base_model.model.model.embed_tokens.modules_to_save.default.weight",
        "model.embed_tokens.base_layer.weight",
        "shared.weight",
        "gpt_neox.embed_in.weight",
    ],
)
def test_embeddings_are_known_by_their_names(tmp_path, key):
    save_file({key: torch.zeros(7, 2)}, tmp_path / "model.safetensors")
    assert embedding_rows(tmp_path) == {"model.safetensors": 7}


@pytest.mark.parametrize(
    "key",
    [
        "model.embed_tokens_per_layer.weight",
        "model.layers.0.mlp.shared_expert.gate_proj.weight",
        "base_model.model.model.embed_tokens.lora_embedding_A.weight",
        "model.embed_tokens.token_adapter.trainable_tokens_delta.weight",
        "model.lm_head.weight",
    ],
)
def test_other_tensors_are_none(tmp_path, key):
    save_file({key: torch.zeros(7, 2)}, tmp_path / "model.safetensors")
    assert embedding_rows(tmp_path) == {}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 8,
        (2).to_bytes(8, "little") + b"[]",
        (9).to_bytes(8, "little") + b'{"a": 1}',
        (4).to_bytes(8, "little") + b"\xff\xff\xff\xff",
    ],
)
def test_a_file_that_is_broken_tells_nothing(tmp_path, content):
    (tmp_path / "model.safetensors").write_bytes(content)
    assert embedding_rows(tmp_path) == {}


def test_shapes_that_are_none_tell_nothing(tmp_path):
    told = {"wte.weight": {"shape": ["a", 2]}, "x.wte.weight": {"shape": 3}}
    header = json.dumps(told | {"y.wte.weight": 3}).encode()
    size = len(header).to_bytes(8, "little")
    (tmp_path / "model.safetensors").write_bytes(size + header)
    assert embedding_rows(tmp_path) == {}


def test_what_is_no_file_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "model.safetensors")
    (tmp_path / "other.safetensors").symlink_to(tmp_path / "other.safetensors")
    assert embedding_rows(tmp_path) == {}


def header(said):
    return len(said).to_bytes(8, "little") + said


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "it ends within its first 8 bytes"),
        (header(b"{}")[:-1], "its header should have 2 bytes, which it has not"),
        (b"\xff" * 9, "bytes, which it has not"),
        (header(b"[]"), "its header is no JSON object"),
        (header(b"x"), "it is no JSON"),
        (header(b"\xff{}"), "it is no UTF-8"),
    ],
)
def test_weights_that_cannot_be_read_are_named(tmp_path, content, says):
    (tmp_path / "model.safetensors").write_bytes(content)
    ((name, problem),) = broken_headers(tmp_path)
    assert name == "model.safetensors"
    assert says in problem
    assert embedding_rows(tmp_path) == {}


def test_whole_weights_and_folders_are_not_named(tmp_path):
    save_file({"a": torch.zeros(7, 2)}, tmp_path / "model.safetensors")
    (tmp_path / "folder.safetensors").mkdir()
    assert list(broken_headers(tmp_path)) == []
