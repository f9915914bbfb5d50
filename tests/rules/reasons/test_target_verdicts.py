"""How much an entry matters that matched nothing."""

from ftlab.records.finding import Severity
from ftlab.rules.reasons.target_verdicts import judge


def block(end, adapted=0):
    pattern = f"layers.#.{end}"
    return {"pattern": pattern, "count": 2, "adapted": adapted, "names": [pattern]}


def test_a_name_that_is_spelled_nearly_like_a_layer():
    bare = [block("wonder")]
    verdict = judge("wodner", bare, bare)
    assert verdict.severity is Severity.WARNING
    assert verdict.missed == ("layers.#.wonder",)


def test_a_role_that_another_name_carries_out():
    bare, done = block("mlp.up_proj"), block("self_attn.q_proj", adapted=2)
    assert judge("c_attn", [bare, done], [bare]).severity is Severity.INFO


def test_the_name_of_a_head():
    bare = [block("wonder")]
    assert judge("lm_head", bare, bare).severity is Severity.INFO
