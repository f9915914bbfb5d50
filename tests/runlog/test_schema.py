import dataclasses

from ftlab.records.step import StepRecord
from ftlab.runlog.schema import STEP_COLUMNS, STEP_MEANINGS, STEP_VALUES, TABLES


def test_every_field_of_a_step_has_a_column_and_a_meaning():
    fields = [field.name for field in dataclasses.fields(StepRecord)]
    assert set(fields) - {"values"} == set(STEP_MEANINGS)
    assert set(STEP_MEANINGS) == {"step", "lr", *STEP_COLUMNS}


def test_every_declared_column_says_what_it_is():
    for columns in (STEP_MEANINGS, STEP_VALUES, *TABLES.values()):
        for name, column in columns.items():
            assert column.name == name
            assert column.unit
            assert column.meaning.endswith(".")
