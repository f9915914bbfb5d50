"""Judging a run log without views."""

import math
import shutil
from pathlib import Path

from ftlab.records.finding import Finding, Place, Severity
from ftlab.records.step import StepRecord
from ftlab.rules.engine import Engine
from ftlab.rules.registry import all_rules
from ftlab.runlog.reader import open_log
from ftlab.runlog.writer import LogWriter
from ftlab.session.verdict import Verdict, judge

SICK = Path(__file__).parents[1] / "golden" / "schema-1"


def finding(**evidence):
    return Finding(
        code="NUM001",
        name="non-finite-loss",
        severity=Severity.ERROR,
        message="m",
        cause="c",
        fix="f",
        places=(Place("object", "loss"),),
        first_step=1,
        last_step=2,
        evidence=evidence,
    )


def test_every_rank_is_judged():
    verdict = judge(SICK)
    assert verdict.steps == 80
    assert verdict.worst is Severity.ERROR
    assert {each.rank for each in verdict.findings} == {0}


def test_a_rule_that_fails_is_told_as_what_was_left_out(monkeypatch):
    found = judge(SICK).findings[0].code
    rule = next(each for each in all_rules() if each.code == found)
    monkeypatch.setattr(type(rule), "applies", lambda *_: 1 / 0)
    (told,) = judge(SICK).left_out
    assert told.startswith(f"Rule {rule.code} {rule.name} failed")


def test_a_rule_that_one_rank_could_check_is_not_reported_as_unchecked(tmp_path):
    for rank, loss in ((0, 1.0), (1, None)):
        writer = LogWriter.create(tmp_path / "run", rank=rank, config={})
        for step in range(4):
            writer.write(StepRecord(step, 0.0, loss=loss))
            writer.commit()
        writer.close("finished")
    alone = Engine().check(open_log(tmp_path / "run", rank=1)).not_checked
    unsure = {each.code for each in alone}
    codes = [each.code for each in judge(tmp_path / "run").not_checked]
    assert "NUM001" in unsure
    assert "NUM001" not in codes
    assert codes == sorted(set(codes))


def test_what_is_damaged_is_named_and_the_rest_is_judged(tmp_path):
    shutil.copytree(SICK, tmp_path / "run")
    path = tmp_path / "run" / "rank-00000" / "facts.json"
    path.write_text("{")
    verdict = judge(tmp_path / "run")
    (damage,) = verdict.left_out
    assert str(path) in damage
    assert verdict.worst is Severity.ERROR
    assert verdict.to_json()["left_out"] == [damage]
    assert judge(SICK).left_out == ()


def test_steps_far_beyond_the_first_take_no_longer(tmp_path):
    writer = LogWriter.create(tmp_path / "run", config={})
    for step in (0, 1, 10**12, 10**12 + 1):
        writer.write(StepRecord(step, 0.0, loss=1.0))
    writer.close("finished")
    assert judge(tmp_path / "run").steps == 4


def test_an_empty_verdict_has_no_worst():
    assert Verdict(Path("run"), 3, (), ()).worst is None


def test_json_holds_no_nan():
    sick = finding(loss=math.nan, limit=-math.inf, step=3, kind="NaN", norm=1.5)
    told = Verdict(Path("run"), 3, (sick,), ()).to_json()["findings"][0]
    assert told["evidence"] == {
        "loss": "nan",
        "limit": "-inf",
        "step": 3,
        "kind": "NaN",
        "norm": 1.5,
    }
    assert told["severity"] == "error"
