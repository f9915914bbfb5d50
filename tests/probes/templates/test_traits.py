"""What becomes of messages in a template: dropped, stripped, printed, dated."""

from tests.probes.templates import styles
from tests.probes.templates.reading import facts_of


def test_the_date_is_found_by_another_clock():
    assert facts_of(styles.CHANNELS).date == "2024-02-03"
    assert facts_of(styles.MARKED).date == ""


def test_a_template_that_draws_at_random_is_told_as_that_alone():
    drawn = "{{ range(100000) | random }}" + styles.CHANNELS
    facts = facts_of(drawn)
    assert facts.unsettled
    assert (facts.date, facts.system_text) == ("", "")
    assert facts.prompt_difference is facts.history_difference is None
    assert any("another text each time" in each for each in facts.words)
    assert not facts_of(styles.CHANNELS).unsettled


def test_what_is_dropped_and_printed_as_python_is_named():
    plain = facts_of(styles.MARKED)
    assert plain.drops == ("reasoning", "tool calls", "tools")
    assert plain.reprs == ("list content",)
    assert facts_of(styles.THINKING).drops == (
        "reasoning in history",
        "tool calls",
        "tools",
    )
    assert facts_of(styles.CALLING).drops == ("reasoning",)
    silent = styles.MARKED.replace(
        "{% for m in messages %}", "{% for m in messages if m.role != 'system' %}", 1
    )
    assert "system" in facts_of(silent).drops
    once = styles.MARKED.replace(
        "{{ m.content }}",
        "{% if m.role != 'system' or messages[-1].role == 'user' %}{{ m.content }}"
        "{% endif %}",
    )
    assert "system once answered" in facts_of(once).drops


def test_what_ends_a_reasoning_is_found_without_a_list():
    for template in (styles.THINKING, styles.MARKED):
        assert facts_of(template).reasoning_end.strip() == "</think>"
    own = styles.MARKED.replace(
        "{{ m.content }}",
        "{% if m.reasoning_content %}[[{{ m.reasoning_content }}]] {% endif %}"
        "{{ m.content }}",
    )
    assert facts_of(own).reasoning_end == "]] "
    assert facts_of(own).drops == ("tool calls", "tools")


def test_calls_printed_as_python_are_named():
    written = styles.CALLING.replace("call.function | tojson", "call.function")
    assert "tool calls" in facts_of(written).reprs
    assert "tool calls" not in facts_of(styles.CALLING).reprs


def test_roles_that_are_stripped_are_named():
    assert facts_of(styles.HEADS).trims == ("system", "user", "assistant")
    assert facts_of(styles.MARKED).trims == ()


def test_a_system_message_that_has_to_be_the_first():
    late = styles.MARKED.replace(
        "{% for m in messages %}",
        "{% for m in messages %}{% if m.role == 'system' and not loop.first %}"
        "{{ raise_exception('late') }}{% endif %}",
    )
    assert facts_of(late).system_first
    assert not facts_of(styles.MARKED).system_first
    assert not facts_of(styles.NO_SYSTEM).system_first
