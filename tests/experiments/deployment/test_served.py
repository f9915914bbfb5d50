"""Servers, by what is wrong with them; in the manner of three real ones.

`tests/servers` asks the real ones.
"""

import copy

import pytest
import torch

import ftlab
from ftlab.experiments.deployment.outside import FewBits
from ftlab.records.errors import BadValueError
from tests.experiments.deployment.deployed import PROMPTS, base, edit, loaded, tuned
from tests.experiments.deployment.small_server import Served, serving
from tests.servers.lesson import STOP
from tests.versions import older_than

MANNERS = pytest.mark.parametrize("manner", ["ids", "texts", "bare"])


def asked(home, manner, served, live=None, **given):
    """Hold a server against the live model and tokenizer."""
    served.manner = manner
    with serving(served) as url:
        made = home.live() if live is None else live
        settings = {"tokens": 24, "only": "served", "served": url}
        trip = ftlab.roundtrip(made, home.tokens, PROMPTS, **settings, **given)
    return trip[0]


@pytest.fixture(scope="module")
def whole(home):
    return home.live().merge_and_unload()


@MANNERS
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_merged_model_holds(home, whole, manner, dtype):
    there = copy.deepcopy(whole).to(dtype)
    outcome = asked(home, manner, Served(there, home.tokens))
    assert outcome.state == "holds", outcome.says


@MANNERS
def test_bos_twice(home, whole, manner):
    bos = home.tokens.bos_token_id
    served = Served(whole, home.tokens, reads=lambda ids: [bos, *ids])
    outcome = asked(home, manner, served)
    assert outcome.says.endswith("BOS twice")
    assert "reads 18 tokens" in outcome.says


@MANNERS
def test_another_template(home, whole, manner):
    other = copy.deepcopy(home.tokens)
    other.chat_template = other.chat_template.replace("<|assistant|>", "<|system|>")
    outcome = asked(home, manner, Served(whole, other))
    assert "another chat template" in outcome.says
    assert "chat template of training" in outcome.fix


def test_no_generation_prompt(home, whole):
    other = copy.deepcopy(home.tokens)
    head, _, _ = other.chat_template.partition("{% if add_generation_prompt")
    other.chat_template = head
    outcome = asked(home, "ids", Served(whole, other))
    assert outcome.says.endswith("no generation prompt")


@MANNERS
def test_another_end(home, whole, manner):
    other = copy.deepcopy(whole)
    other.generation_config.eos_token_id = 3
    outcome = asked(home, manner, Served(other, home.tokens))
    assert f"ends its answer to 'What colour is the sky?' with {STOP}" in outcome.says


def test_an_end_one_token_later(home, whole):
    other = copy.deepcopy(whole)
    other.generation_config.eos_token_id = 5  # what follows the end is this
    outcome = asked(home, "ids", Served(other, home.tokens))
    assert "and the server goes on" in outcome.says


@MANNERS
def test_no_adapter(home, manner):
    outcome = asked(home, manner, Served(loaded(home.base), home.tokens))
    assert outcome.says.startswith(
        "the server answers as the live model without its adapter"
    )


@pytest.mark.parametrize("manner", ["ids", "texts"])
def test_an_adapter_that_counts_twice(home, manner):
    other = home.live()
    for module in other.modules():
        if isinstance(vars(module).get("scaling"), dict):
            module.scaling["default"] *= 2
    outcome = asked(home, manner, Served(other, home.tokens))
    assert "with its adapter added twice" in outcome.says


def test_a_head_that_the_server_does_not_take(home):
    live = home.live(modules_to_save=["lm_head"])
    other = copy.deepcopy(live)
    head = other.get_output_embeddings()
    head.modules_to_save["default"].load_state_dict(head.original_module.state_dict())
    outcome = asked(home, "ids", Served(other, home.tokens), live)
    assert "beside its adapter (modules_to_save)" in outcome.says


@pytest.mark.skipif(
    older_than("transformers", "5"), reason="its configs have no rope_parameters"
)
def test_rope_scaling_that_is_lost(home, tmp_path):
    scaled = {"rope_type": "linear", "factor": 4.0, "rope_theta": 10000.0}
    there = base(tmp_path / "base", home.tokens, rope_parameters=scaled)
    live = tuned(loaded(there), home.tokens)
    live.merge_and_unload().save_pretrained(tmp_path / "out")
    plain = {"rope_type": "default", "rope_theta": 10000.0}
    edit(tmp_path / "out" / "config.json", rope_parameters=plain)
    live = tuned(loaded(there), home.tokens)
    outcome = asked(home, "ids", Served(loaded(tmp_path / "out"), home.tokens), live)
    assert "without its RoPE scaling" in outcome.says


def test_another_model(home, tmp_path):
    other = loaded(base(tmp_path / "other", home.tokens, seed=4))
    outcome = asked(home, "ids", Served(other, home.tokens))
    assert outcome.state == "broken"
    assert "what rounding moves" in outcome.says


def test_4_bits_want_to_be_told(home, whole):
    other = copy.deepcopy(whole)
    for module in other.modules():
        if isinstance(module, torch.nn.Linear):
            module.weight.data = FewBits(4).rounded(module.weight.data)
    served = Served(other, home.tokens)
    assert asked(home, "ids", served).state == "cannot be decided"
    outcome = asked(home, "ids", served, bits=4)
    assert outcome.state == "holds", outcome.says


def test_a_server_that_is_not_there(home):
    with pytest.raises(BadValueError, match="does not answer"):
        ftlab.roundtrip(home.live(), home.tokens, "How", served="http://127.0.0.1:9/v1")
