"""ADP056."""

from ftlab.records.finding import Place, Severity
from ftlab.rules.adapter.adapter_off_its_start import AdapterOffItsStart
from ftlab.rules.engine import Engine
from tests.runs import RunBuilder, healthy_lora

KEY = {"projection_prng_key": [7, 0]}
PISSA = {"init_lora_weights": ["pissa", True]}


def check(off, slopes=(), sigma=0.01, loads=(), **more):
    file = {"folder": "a", "keys": 8, "adapter": "default", "start": off} | more
    row = {
        "slope": list(slopes),
        "sigma": [sigma] * len(slopes),
        "modules": [f"layers.{index}.q" for index in range(len(slopes))],
    }
    start = {"file": file, "delta_in_base": {"default": row}}
    builder = RunBuilder().facts(model={"peft": {"default": {}}, "start": start})
    builder.step(ops=loads)
    return Engine([AdapterOffItsStart()]).check(builder.run).findings


def test_is_quiet_on_a_healthy_run():
    assert Engine([AdapterOffItsStart()]).check(healthy_lora().run).findings == ()
    assert check({}) == ()


def test_names_the_key_that_is_another_one():
    (finding,) = check(KEY)
    assert finding.severity is Severity.ERROR
    assert finding.place == Place("config", "projection_prng_key")
    assert finding.evidence["reason"] == "drawn"
    assert "saved with projection_prng_key=7, but the model has 0" in finding.message


def test_a_start_that_was_not_taken_from_the_base_is_told_by_the_base():
    (finding,) = check(PISSA, slopes=[0.5, 0.4, 0.6])
    assert finding.evidence["reason"] == "residual"
    assert finding.evidence["slope"] == 0.5
    assert finding.place == Place("config", "init_lora_weights")
    assert Place("param", "layers.0.q.base_layer.weight") in finding.places


def test_a_base_that_lacks_it_is_fine():
    assert check(PISSA, slopes=[0.0, 0.01, -0.2]) == ()
    assert check(PISSA, slopes=[0.5, 0.0, 0.0]) == ()


def test_one_module_or_an_uncertain_slope_proves_nothing():
    assert check(PISSA, slopes=[0.9]) == check(PISSA) == ()
    assert check(PISSA, slopes=[0.9, 0.9], sigma=0.3) == ()


def test_an_adapter_without_the_files_values_is_another_rules_matter():
    assert check(KEY, different=["q.lora_B"]) == ()
    assert check(KEY, keys=0) == ()


def test_a_load_in_the_run_is_told_at_its_step():
    detail = {"adapter": "default", "folder": "b", "start": KEY}
    (finding,) = check({}, loads=[("load", "adapter settings", detail)])
    assert finding.message.startswith("step 0: b was saved with")
    pissa = detail | {"start": PISSA}
    assert check({}, loads=[("load", "adapter settings", pissa)]) == ()
