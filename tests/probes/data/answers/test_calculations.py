"""Calculations between the marks of GSM8K, right and wrong."""

import pytest

from ftlab.probes.data.answers.calculations import wrong_calculations
from ftlab.probes.data.rows.row_parts import parts_of
from tests.probes.data.glanced import glanced


def found(work, prompt="How many are there?"):
    row = parts_of({"question": prompt, "answer": f"So <<{work}>> it is."})
    return [(fault.name, fault.says) for _, fault in glanced(wrong_calculations, row)]


@pytest.mark.parametrize(
    ("work", "value"),
    [
        ("3+4=9", "7"),
        ("1,000*3=3300", "3000"),
        ("$5*3=$16", "15"),
        ("7/2=5", "3.5"),
        ("-3+5=3", "2"),
        ("(2+3)*4=14", "20"),
        ("10/4=2.6", "2.5"),
        ("0.5*90=44", "45"),
        ("77//4=20", "19"),
    ],
)
def test_another_result_is_found(work, value):
    assert found(work) == [("calculation-wrong", f"{work!r}, which is {value}")]


@pytest.mark.parametrize(
    "work",
    [
        "3+4=7",
        "74/7=10.57",
        "74/7=10.58",
        "7/2=4",
        "0.333*3=1",
        "33.3*30=1000",
        "2/3*9=6",
        "05+1=7",
        "48=49",
        "1/0=3",
        "3*(2=6",
        "100*20%=21",
        "2**3=9",
        "x+1=3",
    ],
)
def test_right_and_rounded_results_and_what_is_none_are_left(work):
    assert found(work) == []


def test_mistakes_may_be_asked_for():
    assert found("3+4=9", "Write an answer with one mistake.") == []


def test_shifts_of_code_are_no_calculations():
    row = parts_of({"prompt": "Go on.", "completion": "cout << 3+4 << endl; x <<= 2;"})
    assert list(glanced(wrong_calculations, row)) == []


def test_one_is_told_of_each_answer():
    row = parts_of({"question": "How many?", "answer": "<<1+1=2>> <<1+1=3>> <<2+2=5>>"})
    ((part, fault),) = glanced(wrong_calculations, row)
    assert (part.where, fault.char) == ("answer", 10)
