"""What a model is served is compared with what it was trained on, answer by answer."""

from ftlab.probes.templates.serving import serving_of
from ftlab.records.rendering import Refusal
from tests.probes.templates import styles
from tests.probes.templates.styles import Special, assistant, user
from tests.probes.templates.vocabularies import byte_level

TALK = [user("Hi"), assistant("Hello"), user("And?"), assistant("So.")]
OPENING_A_THOUGHT = styles.MARKED.replace("assistant\n{%", "assistant\n<think>\n{%")


def test_the_same_template_serves_what_was_trained():
    turns = serving_of(byte_level(), TALK, template=styles.MARKED)
    assert [(turn.message, turn.prefix) for turn in turns] == [(1, True), (3, True)]
    assert all(turn.trained == "" for turn in turns)


def test_what_serving_adds_is_named_at_its_token():
    tokenizer = byte_level()
    first, second = serving_of(tokenizer, TALK, template=OPENING_A_THOUGHT)
    assert not first.prefix
    assert (first.served, first.trained) == ("<think>\n", "")
    plain = tokenizer("<|open|>user\nHi<|close|>\n<|open|>assistant\n")["input_ids"]
    assert first.place == len(plain)
    assert second.place > first.place
    assert "'<think>\\n'" in str(first)


def test_places_are_characters_without_a_vocabulary():
    first, _ = serving_of(None, TALK, template=OPENING_A_THOUGHT)
    assert first.place == len("<|open|>user\nHi<|close|>\n<|open|>assistant\n")


def test_another_template_and_other_switches_may_serve():
    (first, _) = serving_of(
        None, TALK, template=styles.MARKED, served_template=styles.DEFAULT_SYSTEM
    )
    assert first.served.startswith("system\nYou are Orla.")
    switched = styles.MARKED + "{% if thinking %}<think>{% endif %}"
    (first, _) = serving_of(
        None, TALK, template=switched, served_with={"thinking": True}
    )
    assert (first.served, first.trained) == ("<think>", "")


def test_history_that_is_rewritten_shows_at_the_answer_behind_it():
    written = "<think>\nOnce\n</think>\n\nHello"
    talk = [user("Hi"), assistant(written), user("And?"), assistant("So.")]
    first, second = serving_of(None, talk, template=styles.THINKING)
    assert not first.prefix
    assert second.prefix


def test_what_training_writes_before_an_answer_is_told():
    silent = styles.THINKING.replace("assistant\n<think>\n{%", "assistant\n{%")
    first = serving_of(None, TALK[:2], template=silent)[0]
    assert first.prefix
    assert first.trained == "<think>\n\n</think>\n\n"


def test_a_token_over_the_border_is_called_merged():
    tokenizer = byte_level()
    tokenizer_s = "{% for m in messages %}{{ m.role }}:{{ m.content }}\n{% endfor %}"
    template = tokenizer_s + "{% if add_generation_prompt %}assistant:{% endif %}"
    pair = max(
        (t for t in tokenizer.get_vocab() if t.startswith(":") and len(t) > 1),
        default=None,
    )
    if pair is None:  # this small vocabulary has no such token: give it one
        tokenizer = _with_token(":O")
        pair = ":O"
    (turn,) = serving_of(tokenizer, [user("x"), assistant(pair[1:])], template=template)
    assert turn.merged
    assert not turn.prefix
    assert "the token at" in str(turn)


def _with_token(text):
    made = byte_level()
    made.add_tokens([text])
    return made


def test_refusals_are_passed_on():
    refused = serving_of(Special("{{ raise_exception('no') }}"), TALK)
    assert refused == Refusal("raised", 'raised "no"')
