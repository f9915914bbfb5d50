"""The parts of a fault's page."""

from ftlab.faults.page import FaultPage
from ftlab.faults.registry import list_faults, load

DOCSTRING = """It is broken.

Because of this,
and of that.

Fix: do it
  right.
Source: somewhere.
"""


def test_a_docstring_is_taken_apart():
    page = FaultPage.of("it hurts", DOCSTRING)
    assert page.symptom == "it hurts"
    assert page.cause == "It is broken.\n\nBecause of this,\nand of that."
    assert page.fix == "do it right."
    assert page.source == "somewhere."


def test_what_is_not_said_is_left_out():
    text = FaultPage.of("it hurts", "It is broken.").text("a-fault")
    assert text == "a-fault\nSymptom: it hurts\nCause:   It is broken."


def test_text_and_markdown_say_the_same():
    page = FaultPage.of("it hurts", DOCSTRING)
    text, markdown = page.text("a-fault"), page.markdown("a-fault")
    assert text.splitlines()[0] == "a-fault"
    assert "         Because of this, and of that." in text.splitlines()
    assert markdown.startswith("### a-fault\n\n**Symptom.** it hurts\n\n**Cause.** It")
    assert markdown.endswith("**Source.** somewhere.")


def test_every_fault_has_all_parts():
    for fault in list_faults():
        assert all((fault.symptom, fault.cause, fault.fix, fault.source)), fault.id


def test_a_fault_is_shown_as_its_page():
    fault = load("lora-b-frozen")
    assert repr(fault).startswith("lora-b-frozen (adapter, found by ADP001)\nSymptom: ")
    assert fault._repr_markdown_().startswith("### lora-b-frozen")
    assert fault.file.name == "lora_b_frozen.py"
