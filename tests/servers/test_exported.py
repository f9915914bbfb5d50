"""`ftlab.roundtrip` and CTranslate2: what is right passes, what is wrong is named."""

import copy
import sys

import pytest

import ftlab
from tests.servers import lesson
from tests.servers.environments import environment
from tests.servers.exports import to_ctranslate2
from tests.servers.lesson import CHATS, messages

pytestmark = [pytest.mark.servers, pytest.mark.xdist_group("exports")]


@pytest.fixture(autouse=True)
def engine(monkeypatch):
    """Lend ctranslate2 of its own environment to this one, behind what is here."""
    (packages,) = environment("transformers").glob("lib/python*/site-packages")
    monkeypatch.setattr(sys, "path", [*sys.path, str(packages)])
    pytest.importorskip("ctranslate2")


def exported(folder, made, model, tokens):
    """Convert a folder, and hold what is made of it against the model in hand."""
    (found,) = ftlab.roundtrip(
        model,
        tokens,
        [messages(question) for question, _ in CHATS],
        exported=to_ctranslate2(folder, made),
        only="exported",
        tokens=24,
    )
    return found


def test_the_model_in_hand_passes(learnt, tmp_path):
    found = exported(learnt.folder, tmp_path / "made", learnt.model, learnt.tokens)
    assert found.state == "holds", found.says


def test_other_weights_are_named(learnt, tmp_path):
    other = lesson.model(learnt.tokens, seed=5)
    folder = lesson.save(tmp_path / "other", other, learnt.tokens)
    found = exported(folder, tmp_path / "made", learnt.model, learnt.tokens)
    assert found.state == "broken"
    assert "log-probabilities differ" in found.says


def test_an_adapter_that_was_not_converted_is_missed(learnt, tmp_path):
    tuned = lesson.adapter(copy.deepcopy(learnt.model), learnt.tokens)
    found = exported(learnt.folder, tmp_path / "made", tuned, learnt.tokens)
    assert found.state == "broken"
    assert "answers as the live model without its adapter" in found.says
