"""`ftlab.roundtrip` and real servers: what is right passes, what is wrong is named."""

import copy
import json
import shutil
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.servers import lesson, planted
from tests.servers.asking import ASKED, TEXTS, asked, assert_says, served
from tests.servers.kinds import KINDS, transformers

pytestmark = pytest.mark.servers


class Fault(NamedTuple):
    """A mistake, and what `roundtrip` says of it.

    Attributes
    ----------
    plant
        Makes the mistake in the folder that is served.
    says
        Where the server tells log-probabilities.
    else_says
        Where it does not; ``None`` where nothing can be seen of it there.
    """

    plant: Callable[[Path], None]
    says: str
    else_says: str | None


def alike(plant: Callable[[Path], None], says: str) -> Fault:
    """A mistake that no log-probabilities are needed for."""
    return Fault(plant, says, says)


def other_weights(folder: Path) -> None:
    """Serve what another run learnt from the same chats."""
    lesson.model(lesson.tokenizer(), seed=5).save_pretrained(folder)


FAULTS = {
    "bos-twice": alike(planted.bos_twice, "BOS twice"),
    "system-prompt": alike(planted.system_prompt, "another chat template"),
    "never-ends": alike(planted.never_ends, "and the server goes on"),
    "ends-early": alike(planted.ends_early, "the server ends its answer to .* early"),
    "scaled-rope": Fault(
        planted.scaled_rope,
        "log-probabilities differ",
        "the server answers .*, the live model",
    ),
    "other-weights": Fault(other_weights, "log-probabilities differ", None),
    "other-roles": Fault(planted.other_roles, "another chat template", None),
}


def test_the_model_in_hand_passes(kind, healthy, learnt):
    for prompts in (ASKED, TEXTS):
        found = asked(healthy, learnt.model, learnt.tokens, prompts)
        assert found.state == "holds", found.says
        told = "it tells no probabilities" in found.says
        assert told is not KINDS[kind].logprobs


@pytest.mark.parametrize("name", FAULTS)
def test_a_mistake_at_the_server_is_named(kind, learnt, tmp_path, name):
    fault = FAULTS[name]
    folder = shutil.copytree(learnt.folder, tmp_path / "served")
    fault.plant(folder)
    found = served(kind, tmp_path, folder, learnt.model, learnt.tokens)
    says = fault.says if KINDS[kind].logprobs else fault.else_says
    if says is None:  # the greedy answers are the same, and nothing else is told
        assert found.state == "holds"
        assert "it tells no probabilities" in found.says
        return
    assert found.state == "broken", found.says
    assert_says(found, says)


def test_an_adapter_that_is_not_served_is_missed(kind, healthy, learnt, tuned):
    found = asked(healthy, tuned, learnt.tokens)
    assert found.state == "broken"
    assert_says(found, "answers as the live model without its adapter")


def test_a_merged_adapter_passes(kind, learnt, tuned, tmp_path):
    merged = copy.deepcopy(tuned).merge_and_unload()
    folder = lesson.save(tmp_path / "merged", merged, learnt.tokens)
    found = served(kind, tmp_path, folder, tuned, learnt.tokens)
    assert found.state == "holds", found.says


def test_a_rope_scaling_that_is_not_served_is_missed(kind, learnt, tmp_path):
    scaling = {"rope_type": "linear", "factor": 4.0, "rope_theta": 10000.0}
    scaled = lesson.model(learnt.tokens, rope_parameters=scaling)
    folder = lesson.save(tmp_path / "scaled", scaled, learnt.tokens)
    right = served(kind, tmp_path / "right", folder, scaled, learnt.tokens)
    assert right.state == "holds", right.says
    planted.rope(folder)
    wrong = served(kind, tmp_path / "wrong", folder, scaled, learnt.tokens)
    if KINDS[kind].logprobs:
        assert wrong.state == "broken"
        assert_says(wrong, "without its RoPE scaling")
    else:  # it moves probabilities, and no greedy answer
        assert_says(wrong, "the same answers .* it tells no probabilities")


def test_a_bos_that_training_had_not_is_named(kind, healthy, learnt):
    tokens = lesson.tokenizer(bos=False)
    found = asked(healthy, learnt.model, tokens, TEXTS)
    assert found.state == "broken"
    assert_says(found, "a BOS that training had not")


@pytest.mark.xdist_group("server-transformers")
def test_a_list_of_other_models_is_no_hindrance(learnt, tmp_path):
    """`transformers serve` lists what lies in the hub's cache, not what it serves."""
    cached = tmp_path / "hub/hub/models--some--other"
    snapshot = cached / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    shutil.copy(learnt.folder / "config.json", snapshot)
    (cached / "refs").mkdir()
    (cached / "refs/main").write_text("0" * 40)
    with transformers(learnt.folder, tmp_path) as server:
        with urllib.request.urlopen(f"{server.url}/models") as listed:
            assert json.load(listed)["data"][0]["id"] == "some/other"
        assert asked(server, learnt.model, learnt.tokens).state == "holds"
