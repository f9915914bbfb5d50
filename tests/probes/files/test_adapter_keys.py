"""Why keys of a file are not read."""

import pytest

from ftlab.probes.files.adapter_keys import why_lost, why_unread

LIVE = [
    f"base_model.model.model.layers.{layer}.self_attn.{part}.lora_{factor}.weight"
    for layer in range(2)
    for part in ("q_proj", "v_proj")
    for factor in "AB"
]
PEFT = "base_model.model."


def changed(change):
    return [change(key) for key in LIVE]


CASES = {
    "compiled": lambda key: key.replace("layers.0.", "layers.0._orig_mod."),
    "parallel": lambda key: f"module.{key}",
    "adapter-name": lambda key: key.replace(".weight", ".mine.weight"),
    "wrapped-twice": lambda key: PEFT + key,
    "other-class": lambda key: key.replace("model.model.layers", "model.layers"),
    "other-model": lambda key: key.replace("self_attn", "attention"),
}


@pytest.mark.parametrize("reason", CASES)
def test_tells_the_reasons_apart(reason):
    unread = [key for key in changed(CASES[reason]) if key not in LIVE]
    assert why_unread(unread, LIVE) == (reason, len(unread))


def test_the_bare_transformer_lacks_a_head_of_its_paths():
    bare = [key.replace("model.model.layers", "model.layers") for key in LIVE]
    assert why_unread(LIVE, bare)[0] == "other-class"


def test_a_compiled_model_that_reads_a_clean_file():
    live = changed(CASES["compiled"])
    unread = [key for key in LIVE if key not in live]
    assert why_unread(unread, live)[0] == "compiled"


def test_nothing_unread_has_no_reason():
    assert why_unread([], LIVE) == ("", 0)


NAMED = [key.replace(".weight", ".default.weight") for key in LIVE]


@pytest.mark.parametrize(
    "reason", ["compiled", "parallel", "wrapped-twice", "adapter-name"]
)
@pytest.mark.parametrize("whole", [True, False])
def test_a_load_lost_what_the_model_waits_for(reason, whole):
    unread = [key for key in changed(CASES[reason]) if key not in LIVE]
    assert why_lost(unread, LIVE, whole=whole) == (reason, unread)


def test_the_files_own_keys_have_no_name_and_the_models_have_one():
    assert why_lost(LIVE, NAMED, whole=True) == ("adapter-name", list(LIVE))


def test_the_bare_models_keys_are_those_before_peft():
    wanted = [f"{PEFT}model.layers.0.self_attn.q_proj.base_layer.weight"]
    given = ["model.layers.0.self_attn.q_proj.weight"]
    assert why_lost(given, wanted, whole=True) == ("wrapped-twice", given)


def test_another_beginning_counts_only_where_nothing_was_read():
    unread = [f"net.{key}" for key in LIVE]
    assert why_lost(unread, LIVE, whole=True) == ("prefix", unread)
    assert why_lost(unread, LIVE, whole=False) == ("", [])


def test_what_fits_nothing_is_another_models():
    assert why_lost(["a.b.c"], LIVE, whole=True) == ("other-model", ["a.b.c"])


def test_an_adapter_that_the_model_does_not_have_is_not_lost_beside_its_own():
    other = [key.replace(".default.", ".second.") for key in NAMED]
    assert why_lost(other, [], whole=False) == ("", [])
