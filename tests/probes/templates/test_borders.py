"""The border between two turns is found by comparing what stands in it."""

import pytest

from ftlab.probes.templates.borders import Controls, border, common

BORDERS = {
    "an end that is the same everywhere": (
        ("</s>", "[ASK] "),
        "</s>",
        "<s>[ASK] ",
    ),
    "a newline that only follows within": (
        ("<|c|>\n", "<|o|>user\n"),
        "<|c|>",
        "<|o|>user\n",
    ),
    "no end at all": (("", "<|user|>\n"), "", "[mask]<|user|>\n"),
    "an end that only follows within": (
        ("<|c|>", "<|user|>"),
        "",
        "<|x|><|user|>",
    ),
    "another end at the end": (
        ("<|end|>", "<|start|>user<|message|>"),
        "<|return|>",
        "<|start|>system<|message|>Be.<|end|><|start|>user<|message|>",
    ),
    "one more end at the end": (("<|e|>\n", "<|user|>\n"), "<|e|>\n</s>", "<|user|>\n"),
    "a prompt behind the end": (
        ("<|e|>", "<|s|><|user|>"),
        "<|e|><|s|><|bot|>",
        "<s><|s|><|sys|>x<|e|><|s|><|user|>",
    ),
    "a text of the template between": (
        ("</s>", "<tools>what there is</tools>[ASK]"),
        "</s>",
        "<s>[ASK]",
    ),
    "an opening that nobody has seen": (("<|e|>", "<|tool|>"), "<|e|>", None),
}


@pytest.mark.parametrize("kind", BORDERS)
def test_the_border_lies_between_end_and_opening(kind):
    (end, opening), tail, before = BORDERS[kind]
    place = border(end + opening, tail, before, Controls())
    assert (end + opening)[:place] == end


def test_control_strings_of_a_vocabulary_are_not_cut():
    gap = "@@end@@user"
    assert border(gap, "@@end@@stop", None, Controls()) == len("@@end@@")
    controls = Controls(["@@end", "@@user", "@@stop"])
    assert border(gap, "@@end@@stop", None, controls) == len("@@end")


def test_common_counts_equal_beginnings():
    assert common("abc", "abd") == 2
    assert common([1, 2], [1, 2, 3]) == 2
    assert common("", "a") == 0
