"""Adapters beside their base on real servers: what goes wrong with them is named."""

import copy

import pytest

from tests.servers import lesson
from tests.servers.asking import asked, assert_says
from tests.servers.exports import lora_to_gguf
from tests.servers.kinds import llama_server, vllm

pytestmark = pytest.mark.servers
LLAMA = pytest.mark.xdist_group("server-llama-server")
VLLM = pytest.mark.xdist_group("server-vllm")


def on_llama_server(tuned, learnt, work, base=None):
    """Serve an adapter with llama.cpp, beside the model that it was trained on."""
    tuned.save_pretrained(work / "adapter")
    file = lora_to_gguf(work / "adapter", learnt.folder, work / "adapter.gguf")
    with llama_server(base or learnt.folder, work, "--lora", str(file)) as server:
        return asked(server, tuned, learnt.tokens)


@LLAMA
def test_an_adapter_that_was_converted_passes(learnt, tuned, tmp_path):
    found = on_llama_server(tuned, learnt, tmp_path)
    assert found.state == "holds", found.says


@LLAMA
def test_an_adapter_that_is_merged_and_loaded_is_there_twice(learnt, tuned, tmp_path):
    merged = copy.deepcopy(tuned).merge_and_unload()
    folder = lesson.save(tmp_path / "merged", merged, learnt.tokens)
    found = on_llama_server(tuned, learnt, tmp_path, folder)
    assert found.state == "broken"
    assert_says(found, "answers as the live model with its adapter added twice")


@LLAMA
def test_the_converter_of_llama_cpp_forgets_how_an_adapter_is_scaled(learnt, tmp_path):
    """It reads alpha, and not ``use_rslora``."""
    base = copy.deepcopy(learnt.model)
    scaled = lesson.adapter(base, learnt.tokens, use_rslora=True)
    found = on_llama_server(scaled, learnt, tmp_path)
    assert found.state == "broken"
    assert_says(found, "with its adapter scaled by alpha / r;")


@VLLM
def test_an_adapter_passes_by_its_own_name(learnt, tuned, tmp_path):
    tuned.save_pretrained(tmp_path / "adapter")
    options = ["--enable-lora", "--lora-modules", f"tuned={tmp_path / 'adapter'}"]
    with vllm(learnt.folder, tmp_path, *options) as server:
        by_name = {
            name: asked(server, tuned, learnt.tokens, served_name=name)
            for name in (None, "tuned", "another")
        }
    assert by_name["tuned"].state == "holds", by_name["tuned"].says
    assert_says(by_name[None], "answers as the live model without its adapter")
    assert_says(by_name["another"], "the server refuses a prompt: 404")


@VLLM
def test_an_adapter_passes_that_is_scaled_by_the_root_of_its_rank(learnt, tmp_path):
    base = copy.deepcopy(learnt.model)
    scaled = lesson.adapter(base, learnt.tokens, use_rslora=True)
    scaled.save_pretrained(tmp_path / "adapter")
    options = ["--enable-lora", "--lora-modules", f"tuned={tmp_path / 'adapter'}"]
    with vllm(learnt.folder, tmp_path, *options) as server:
        found = asked(server, scaled, learnt.tokens, served_name="tuned")
    assert found.state == "holds", found.says
