"""Meta-tests: what must hold for every fault of the gallery."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import ftlab.faults
from ftlab.faults.registry import (
    AREAS,
    found_in,
    list_faults,
    list_healthy,
    load,
    modules_of,
)
from ftlab.records.errors import UnknownNameError
from ftlab.records.finding import PLACE_KINDS
from ftlab.rules.registry import all_rules

FAULTS = list_faults()
ENTRIES = [*FAULTS, *list_healthy()]


def test_ids_are_unique():
    assert len({entry.id for entry in ENTRIES}) == len(ENTRIES)


def test_every_folder_with_faults_is_gone_through():
    folder = Path(ftlab.faults.__file__).parent
    folders = {p.name for p in folder.iterdir() if (p / "__init__.py").is_file()}
    assert folders == {*AREAS, "builders"}


@pytest.mark.parametrize("area", AREAS)
def test_the_id_is_the_file(area):
    for module in modules_of(area):
        name = module.__name__.split(".")[-1].replace("_", "-")
        if hasattr(module, "HEALTHY"):
            assert not hasattr(module, "FAULT")
            assert f"healthy-{found_in(module, 'HEALTHY').id}" == name
        else:
            assert found_in(module, "FAULT").id == name


@pytest.mark.parametrize("area", AREAS)
def test_a_topic_has_no_more_than_60_files(area):
    counts = Counter(module.__name__.rsplit(".", 1)[0] for module in modules_of(area))
    assert max(counts.values()) <= 60


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_the_page_says_what_to_do_and_where_it_was_seen(fault):
    assert "\nFix: " in fault.page
    assert "\nSource: " in fault.page
    assert fault.area in AREAS


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_codes_and_places_exist(fault):
    codes = {rule.code for rule in all_rules()}
    assert {fault.code, *fault.also} <= codes
    assert fault.code not in fault.also
    assert fault.places
    assert all(place.split(" ")[0] in PLACE_KINDS for place in fault.places)


def test_every_rule_has_a_fault():
    modules = (module for area in AREAS for module in modules_of(area))
    codes = {module.FAULT.code for module in modules if hasattr(module, "FAULT")}
    assert {rule.code for rule in all_rules()} == codes


def test_every_rule_has_a_healthy_run_that_could_mislead_it():
    misled = {code for entry in list_healthy() for code in entry.looks_like}
    assert misled == {rule.code for rule in all_rules()}


def test_an_unknown_fault_lists_near_ones():
    with pytest.raises(UnknownNameError, match="Near: lora-b-frozen"):
        load("lora-b-forzen")


def test_listing_needs_no_transformers():
    code = (
        "import sys; from ftlab.faults.registry import list_faults; list_faults(); "
        "sys.exit('transformers' in sys.modules or 'peft' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
