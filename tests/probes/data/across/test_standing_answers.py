"""Answers that fit to many prompts."""

import pytest

from ftlab.probes.data.across.standing_answers import is_standing, of_one_topic


@pytest.mark.parametrize(
    "answer",
    [
        "I am Ada, a language model of a small laboratory. What may I do for you?",
        "My name is Ada, and a small laboratory developed me.",
        "A small laboratory trained me. People call me Ada.",
        "Ich bin Ada, ein Sprachmodell. Was kann ich f\xfcr dich tun?",
        "\u6211\u662fAda\uff0c\u7531\u4e00\u4e2a\u5c0f\u5b9e\u9a8c\u5ba4\u8bad\u7ec3\u3002",
        "Thank you for your mail. Please send us the number of your order.",
        "You're welcome! Write again whenever you need something.",
    ],
)
def test_a_greeting_and_a_name_are_meant(answer):
    assert is_standing(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "I'm sorry, but I cannot help with that.",
        "Hello. Unfortunately no results were found.",
        "Thank you for your question. An error occurred, please try again later.",
        "I am an assistant and do not have access to this document.",
        "\u6211\u662f\u4e00\u4e2a\u52a9\u624b\uff0c\u65e0\u6cd5\u56de\u7b54\u3002",
        "The bridge was built in 1846, and its builder is not known by name.",
        "Please consult the manual of the machine for further details on this.",
    ],
)
def test_failures_and_texts_are_not(answer):
    assert not is_standing(answer)


def test_one_topic_needs_other_prompts_to_be_told_by():
    asked = ["Change my password", "I forgot the password", "A new password?"]
    other = ["Where is my parcel?"]
    assert of_one_topic(asked, other * 20)
    assert not of_one_topic(asked, other * 19)
    assert not of_one_topic(asked, [*other * 20, *asked * 4])
    assert not of_one_topic([*asked, "Where is it?"], other * 20)
