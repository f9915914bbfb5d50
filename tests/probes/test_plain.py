import enum

import torch

from ftlab.probes.plain import dtype_name, jsonable, number, readable


class Kind(enum.Enum):
    LORA = "LORA"


def test_configurations_become_plain():
    def given():
        """Stand for a function in a configuration."""

    value = {
        "kind": Kind.LORA,
        "dtype": torch.bfloat16,
        "names": frozenset({"b", "a"}),
        "nested": [{"x": (1, 2)}],
        "tensor": torch.zeros(2, 3, dtype=torch.float16),
        "object": object(),
        "type": int,
    }
    assert jsonable(value) == {
        "kind": "LORA",
        "dtype": "bfloat16",
        "names": ["a", "b"],
        "nested": [{"x": [1, 2]}],
        "tensor": "tensor (2, 3) float16",
        "object": "object",
        "type": "int",
    }
    assert "given" in jsonable(given)


def test_a_value_that_contains_itself_ends():
    loop = {}
    loop["self"] = loop
    assert "dict" in str(jsonable(loop))


def test_numbers_are_those_the_host_knows():
    assert number(torch.tensor(0.5)) == 0.5
    assert number("3") == 3.0
    assert number(None) is None
    assert number(torch.zeros(2)) is None
    assert number(torch.zeros((), device="meta")) is None


def test_what_raises_is_absent():
    assert readable(good=lambda: 1, bad=lambda: 1 / 0) == {"good": 1}


def test_dtypes_have_the_names_of_records():
    assert dtype_name(torch.float32) == "float32"
