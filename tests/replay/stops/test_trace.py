"""The trace of a stop, against its report and the live tensors."""

import math

import pytest
import torch

import ftlab
from ftlab.replay.stops.trace import trace_of
from ftlab.replay.tracing.lineage import COUNTED
from tests.replay.breakage import NanBackward, Setup, overflow


def stopped(setup, **options):
    dbg = ftlab.debug(
        setup.step, setup.feed, model=setup.model, optimizer=setup.optimizer, **options
    )
    with dbg:
        report = dbg.run()
        return report, trace_of(dbg._stop), dbg._stop


def test_it_has_every_operation_and_ends_in_the_culprit_of_the_report():
    setup = Setup()
    report, trace, stop = stopped(setup)
    assert len(trace.ops) == report.operations == len(stop.sites)
    culprit = trace.ops[trace.culprit]
    assert (culprit.op, culprit.module) == (report.op, setup.module)
    assert (culprit.user_line, culprit.phase) == (report.user_line, "forward")
    assert trace.headline == report.headline().partition(": ")[2]
    assert trace.text == repr(report)
    assert trace.report["cause"] == report.cause


def test_ranges_and_counts_are_those_of_the_live_tensors():
    setup = Setup(fault=overflow)
    with ftlab.debug(setup.step, setup.feed, model=setup.model) as dbg:
        dbg.run()
        trace = dbg.trace.trace
        for index in range(trace.culprit - 3, trace.culprit + 1):
            while dbg.where.site.index > index:
                dbg.back()
            while dbg.where.site.index < index:
                dbg.step()
            op, tensor = trace.ops[index], dbg.tensor
            if op.making == "view":
                continue
            assert op.shape == tuple(tensor.shape)
            assert op.dtype == str(tensor.dtype).removeprefix("torch.")
            assert op.infs == int(tensor.isinf().sum())
            assert op.high == tensor.max().item()
            assert op.low == tensor.min().item()


def test_parents_are_the_operations_that_made_the_inputs():
    _, trace, _ = stopped(Setup())
    culprit = trace.ops[trace.culprit]
    assert [trace.ops[i].op for i in culprit.parents] == ["aten.mul.Tensor"]
    embedding = trace.ops[0]
    assert {trace.sources[-parent - 1] for parent in embedding.parents} == {
        "parameter base_model.model.model.embed_tokens.weight",
        "batch 'input_ids'",
    }
    assert all(p < each.index for each in trace.ops for p in each.parents)


def test_backward_operations_know_their_forward_one():
    setup = Setup(fault=NanBackward.apply)
    report, trace, _ = stopped(setup)
    culprit = trace.ops[trace.culprit]
    assert (report.phase, culprit.phase) == ("backward", "backward")
    assert culprit.module == setup.module
    assert trace.ops[culprit.forward].phase == "forward"
    assert culprit.node == report.site.node


def test_counts_of_nan_and_infinity_are_apart_and_end_where_they_would_cost_much():
    _, trace, _ = stopped(Setup())
    bad = [op for op in trace.ops if op.non_finite]
    assert bad[0].infs > 0 == bad[0].nans
    assert bad[0].low == bad[0].high == -math.inf
    size = math.prod(bad[COUNTED - 1].shape)
    assert 0 < bad[COUNTED - 1].nans + bad[COUNTED - 1].infs <= size
    assert {(op.nans, op.low) for op in bad[COUNTED:] if op.nans} == {(-1, None)}
    assert repr(bad[-1]).endswith(", NaN")


def test_views_and_what_computes_nothing_are_told_apart():
    _, trace, _ = stopped(Setup())
    making = {op.op: op.making for op in trace.ops}
    assert making["aten.t.default"] == "view"
    assert making["aten.mm.default"] == ""
    assert {op.dtype for op in trace.ops if op.making == "view"} == {""}


class Tokenizer:
    def decode(self, ids):
        return f"<{ids[0]}>"


def test_batch_source_and_chain_come_with_it():
    _, trace, stop = stopped(Setup(), tokenizer=Tokenizer())
    assert trace.batch_text[0].pieces[0].startswith("<")
    marked = trace.source[0]
    assert "log()" in marked.lines[marked.marked - marked.first]
    assert [link.index for link in trace.chain] == [
        link.site.index for link in stop.report.chain
    ]
    assert repr(trace.chain[0]) == repr(stop.report.chain[0])


@pytest.mark.parametrize("foreach", [False, True])
def test_an_update_knows_whose_weights_it_writes(foreach):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    optimizer = torch.optim.Adam(model.parameters(), foreach=foreach)

    def step(batch):
        optimizer.zero_grad()
        model(batch).sum().backward()
        model[1].weight.grad.mul_(1e24)
        optimizer.step()

    feed = [torch.ones(1, 2)]
    with ftlab.debug(step, feed, model=model, optimizer=optimizer) as dbg:
        report = dbg.run()
        trace = dbg.trace.trace
    culprit = trace.ops[trace.culprit]
    assert culprit.phase == report.phase == "optimizer"
    assert culprit.parameter == ("" if foreach else "1.weight")
    assert "1.weight" in trace.headline
    if not foreach:
        # All but the counts of steps, which the first step makes of nothing.
        named = [op.parameter for op in trace.ops if op.shape]
        assert list(dict.fromkeys(named)) == [n for n, _ in model.named_parameters()]


def test_a_stop_without_a_survey_has_no_trace():
    setup = Setup()

    def step(batch):
        dbg.interrupt()
        return setup.step(batch)

    dbg = ftlab.debug(step, setup.feed[:1], model=setup.model)
    assert dbg.trace is None
    with dbg:
        assert dbg.run().reason == "interrupt"
        assert dbg.trace is None


def test_where_the_run_has_been_taken_the_trace_stands_too():
    setup = Setup()
    with ftlab.debug(setup.step, setup.feed, model=setup.model) as dbg:
        dbg.run()
        dbg.back(count=2)
        replay = dbg.trace
        assert replay.op.index == dbg.where.site.index == replay.culprit.index - 2
        assert replay.culprit.op == "aten.log.default"
        assert "log()" in repr(replay.source)
        assert "it begins with aten.log.default" in replay.trace.headline.lower()
