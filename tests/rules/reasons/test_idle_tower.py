"""Parts of the model that no batch has run, with adapters in their blocks."""

from ftlab.records.names import NameRecord
from ftlab.rules.reasons.idle_tower import KIND, idle_tower, no_more_to_come
from ftlab.rules.reasons.missing import Missing
from ftlab.rules.reasons.unreached_call import Call
from tests.runs import RunBuilder


def tensor(path, end="q_proj", adapter="default"):
    module = f"{path}.{end}"
    meta = {"adapter": adapter, "module": module, "role": "lora_B"}
    name = f"{module}.lora_B.default.weight"
    return NameRecord(0, "tensors", name, "param", path, (2, 2), "float32", meta=meta)


def reason(lost, calls=("m.vision",), reached=("m.text.layers.0",)):
    missing = Missing(True, lost, [tensor(path) for path in reached])
    return idle_tower(missing, [Call(c, "not-called", "m", "Clip") for c in calls])


TOWER = [tensor(f"m.vision.layers.{n}") for n in range(2)]


def test_a_part_with_adapters_in_its_blocks_is_told_with_what_hit_it():
    found = reason(TOWER)
    assert found.kind == KIND
    assert "called q_proj too" in found.cause
    places = [str(place) for place in found.places]
    assert places == [
        "module m.vision",
        "config target_modules",
        "config exclude_modules",
    ]


def test_names_that_are_not_shared_are_not_given_as_the_cause():
    other = reason([tensor(f"m.vision.layers.{n}", "query") for n in range(2)])
    assert other.kind == KIND
    assert "fits the ends" not in other.cause


def test_experts_lone_blocks_and_weights_of_the_model_itself_are_no_tower():
    experts = [tensor(f"m.layers.0.experts.{n}") for n in range(2)]
    assert reason(experts, calls=["m.layers.0.experts"]) is None
    assert reason(TOWER[:1]) is None
    assert reason(TOWER, reached=()) is None  # the whole model was not called
    assert reason([*TOWER, tensor("m.vision.layers.2", adapter="")]) is None


def rows(steps, planned, size=4):
    builder = RunBuilder().facts(training={"max_steps": planned} if planned else {})
    builder.steps(steps, values={"batch_size": float(size)})
    return builder.run


def test_no_batch_is_to_come_once_a_trainer_has_made_all_its_steps():
    assert no_more_to_come(rows(5, 5))
    assert not no_more_to_come(rows(5, 50))
    assert not no_more_to_come(rows(5, None))
    assert not no_more_to_come(rows(5, 5, size=2))
