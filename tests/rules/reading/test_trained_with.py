"""Whether training went on in the state that the latest facts tell of."""

from ftlab.rules.reading.trained_with import (
    idle_since,
    missing_in,
    same_adapters,
    steps_since,
    was_trained_with,
)
from tests.runs import RunBuilder


def steps(count, missing):
    """Build a run whose facts are read again when some of its steps are over.

    ``missing`` gives the parameters in no group by step; -1 is before the first one.
    """
    builder = RunBuilder()
    for step in range(-1, count):
        if step in missing:
            lost = ({"missing": missing[step]},)
            builder.facts(step=max(step, 0), optimizers=lost)
        if step >= 0:
            builder.step()
    return builder.run


def has_a(facts):
    return "a" in missing_in(facts)


def test_what_held_before_the_run_counts_at_once():
    assert was_trained_with(RunBuilder().run, has_a)
    assert was_trained_with(steps(0, {-1: "a"}), has_a)
    assert was_trained_with(steps(4, {-1: "a", 3: "ab"}), has_a)


def test_what_came_later_counts_after_one_more_step():
    assert not was_trained_with(steps(4, {-1: "", 3: "a"}), has_a)
    assert was_trained_with(steps(5, {-1: "", 3: "a"}), has_a)


def test_facts_that_are_read_at_each_step_tell_since_when_it_holds():
    run = steps(5, {-1: "a", 0: "", 1: "a", 2: "ab", 3: "ac", 4: "a"})
    assert was_trained_with(run, has_a)
    assert steps_since(run, has_a) == (2, 4)
    assert steps_since(steps(5, {-1: "a", 2: "ab"}), has_a) == (0, 4)
    assert steps_since(steps(3, {-1: "", 2: "a"}), has_a) == (3, 3)


def test_adapters_are_the_same_whatever_else_has_changed():
    builder = RunBuilder().facts(model={"adapters": {"layers": 2}, "class": "One"})
    first = builder.run.facts
    builder.facts(step=1, model={"adapters": {"layers": 2}, "class": "Other"})
    assert same_adapters(builder.run)(first)
    builder.facts(step=2, model={"adapters": {"layers": 3}})
    assert not same_adapters(builder.run)(first)


def gradients(*rows):
    builder = RunBuilder()
    builder.tensor("a")
    builder.tensor("b")
    for row in rows:
        builder.step({"has_grad": row})
    return builder.run


def test_what_never_had_a_gradient_is_idle():
    assert idle_since(gradients((1, 0), (0, 0)), 0) == {"b"}


def test_gradients_of_before_do_not_count():
    assert idle_since(gradients((1, 0), (1, 0), (0, 1)), 2) == {"a"}


def test_nothing_is_idle_that_was_not_measured():
    assert idle_since(steps(3, {}), 0) == frozenset()
    assert idle_since(gradients((0, 0), (0, 0)), 2) == frozenset()
