"""Which passes of a step are a teacher's."""

import pytest
import torch
from torch import nn

from ftlab.probes.modes.mode_passes import Passes, repeated


class Net(nn.Module):
    def forward(self, given, *more, **named):
        return given


IDS = torch.arange(6)
FEATURES, OTHERS = torch.ones(6), torch.zeros(6)


def listened(*calls):
    """Make the calls, each of a path, with or without a graph, and what it is given."""
    passes, nets = Passes(), {}
    for path, *_ in calls:
        if path not in nets:
            nets[path] = Net()
            passes.listen(nets[path], path, lambda: 2)
    for path, graph, *given in calls:
        with torch.set_grad_enabled(graph):
            nets[path](*given)
    return passes


def teacher_calls(*calls):
    passes = listened(*calls)
    found = len(passes.of_teacher("teacher", ["student", "head"]))
    passes.close()
    return found


ANSWER = ("teacher", False, IDS)


@pytest.mark.parametrize(
    "calls",
    [
        [ANSWER, ("student", True, IDS)],
        [("student", True, IDS), ANSWER],
        [("student", True, IDS), ("head", True, FEATURES), ANSWER],
        [("teacher", False, IDS, FEATURES), ("student", True, IDS, FEATURES)],
        [ANSWER, ("student", True, IDS.view(6))],
    ],
    ids=["before", "behind", "behind a head", "with numbers", "a view"],
)
def test_what_is_given_the_same_and_feeds_nothing_is_a_teacher(calls):
    assert teacher_calls(*calls) == 1


@pytest.mark.parametrize(
    "calls",
    [
        [ANSWER],
        [ANSWER, ("student", False, IDS)],
        [ANSWER, ("student", True, FEATURES)],
        [ANSWER, ("student", True, IDS, FEATURES)],
        [ANSWER, ("student", True, IDS), ("head", True, FEATURES)],
        [("teacher", True, IDS), ("student", True, IDS)],
        [ANSWER, ("student", True, IDS[1:])],
    ],
    ids=["alone", "no learner", "a tower", "features", "a head", "graph", "others"],
)
def test_what_may_feed_what_learns_is_none(calls):
    assert teacher_calls(*calls) == 0


def test_dropouts_are_counted_without_a_graph_alone():
    passes = listened(("teacher", False, IDS), ("student", True, IDS))
    assert [call.dropouts for call in passes.calls] == [2, 0]
    passes.close()


def test_a_second_answer_to_the_same_is_repeated():
    passes = listened(ANSWER, ("teacher", False, OTHERS), ANSWER)
    assert repeated(passes.of_teacher("teacher", [])) == 1
    passes.close()


def test_hooks_and_tensors_go():
    net, passes = Net(), Passes()
    passes.listen(net, "teacher", lambda: 0)
    net(IDS)
    passes.close()
    net(IDS)
    assert not passes.calls
    assert not net._forward_pre_hooks


def test_a_script_is_made_without_the_hooks():
    net, passes = nn.Linear(2, 2), Passes()
    passes.stop_while_scripting()
    passes.listen(net, "teacher", lambda: 0)
    torch.jit.script(net)(torch.ones(1, 2))
    assert not net._forward_pre_hooks
    passes.close()
