"""What a finding says of itself."""

from ftlab.records.finding import Finding, Place, Severity


def finding(*places):
    return Finding("AAA001", "n", Severity.INFO, "m", "c", "f", places, 0, 1)


def test_where_is_brief_and_places_stay_exact():
    names = [
        f"base_model.model.model.layers.{n}.q.lora_A.default.weight" for n in (0, 1)
    ]
    places = [Place("param", name) for name in names]
    found = finding(Place("optimizer", "optimizer 0"), *places, Place("step", "3"))
    assert found.where == "optimizer 0, param layers.0-1.q.lora_A, step 3"
    assert [place.name for place in found.places[1:3]] == names


def test_the_text_of_a_finding_shows_the_first_of_many_places():
    places = [Place("data", f"row {at}") for at in range(99)]
    shown = repr(finding(*places))
    assert "name='row 2'), ... 96 more), first_step=0" in shown
    assert "row 3" not in shown
    few = repr(finding(*places[:3]))
    assert "name='row 2')), first_step=0" in few
    assert "severity=<Severity.INFO" in few
