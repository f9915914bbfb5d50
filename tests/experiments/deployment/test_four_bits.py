"""Fine-tunings that 4 bits keep, and those that they do not."""

import torch

import ftlab
from tests.experiments.deployment.deployed import PROMPTS, base, loaded, tuned
from tests.models import tiny_4bit


def station(live, tokens):
    return ftlab.roundtrip(live, tokens, PROMPTS, tokens=6, only="four-bits")[0]


def test_a_fine_tuning_that_is_large_enough(home):
    outcome = station(home.live(), home.tokens)
    assert outcome.state == "holds", outcome.says
    assert outcome.evidence["share of the effect"] > 0.9


def test_one_that_is_less_than_what_4_bits_tell_apart(home, tmp_path):
    model = loaded(base(tmp_path / "base", home.tokens, steps=0))
    outcome = station(shrunk(tuned(model, home.tokens)), home.tokens)
    assert outcome.state == "broken", outcome.says
    assert "4 bits" in outcome.cause


def test_without_an_adapter_nobody_can_tell(home):
    outcome = station(loaded(home.base), home.tokens)
    assert outcome.state == "cannot be decided"


def test_an_adapter_that_is_merged_into_4_bits(home, tmp_path):
    model = tiny_4bit(tmp_path / "base", vocab_size=len(home.tokens))
    trip = ftlab.roundtrip(shrunk(tuned(model, home.tokens)), home.tokens, PROMPTS)
    assert trip["four-bits"].state == "broken", trip["four-bits"].says
    assert trip["saved-files"].state == "holds"
    assert trip["merged-files"].state == "does not apply"


def shrunk(live):
    """Leave a hundredth of what an adapter does."""
    with torch.no_grad():
        for name, weight in live.named_parameters():
            if "lora_B" in name:
                weight.mul_(0.01)
    return live
