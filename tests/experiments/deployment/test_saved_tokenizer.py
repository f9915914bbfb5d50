"""Tokenizers of a folder, by what is wrong with them."""

import copy
import json

import pytest

import ftlab
from tests.experiments.deployment.deployed import PROMPTS, merged
from tests.servers.lesson import STOP


def station(live, tokens, prompts=PROMPTS, **given):
    return ftlab.roundtrip(
        live, tokens, prompts, tokens=2, only="saved-tokenizer", **given
    )[0]


@pytest.fixture(scope="module")
def folder(home, tmp_path_factory):
    return merged(home.live(), home.tokens, tmp_path_factory.mktemp("there") / "out")


def test_the_same_tokenizer_holds(home, folder):
    assert station(home.live(), home.tokens, merged=folder).state == "holds"


def test_one_that_is_saved_here_holds(home):
    assert station(home.live(), home.tokens).state == "holds"


def test_a_folder_without_a_tokenizer(home, tmp_path):
    home.live().save_pretrained(tmp_path / "out")
    outcome = station(home.live(), home.tokens, saved=tmp_path / "out")
    assert outcome.state == "does not apply"


def test_another_template(home, folder):
    other = copy.deepcopy(home.tokens)
    other.chat_template = other.chat_template.replace("<|assistant|>", "<|system|>")
    outcome = station(home.live(), other, merged=folder)
    assert "is '<|assistant|>' (5) there, '<|system|>' (6)" in outcome.says
    assert "another chat template" in outcome.says


def test_a_template_that_the_prompts_do_not_show(home, folder):
    other = copy.deepcopy(home.tokens)
    other.chat_template += "{# a later version #}"
    outcome = station(home.live(), other, "How many legs", merged=folder)
    assert outcome.says == "another chat template"


def test_another_revision(home, folder, tmp_path):
    made = json.loads((folder / "tokenizer.json").read_text())
    made["model"]["merges"] = made["model"]["merges"][:-20]
    older = tmp_path / "older"
    merged(home.live(), home.tokens, older)
    (older / "tokenizer.json").write_text(json.dumps(made))
    outcome = station(home.live(), home.tokens, merged=older)
    assert outcome.says.startswith("token ")
    assert "by the live tokenizer" in outcome.says


def test_another_end(home, folder):
    other = copy.deepcopy(home.tokens)
    other.eos_token = "<pad>"
    outcome = station(home.live(), other, "How many legs", merged=folder)
    assert outcome.says == f"its eos_token is {STOP!r}, not '<pad>'"
