"""Canaries: each private name of Dynamo that the probes need still does what it did."""

import torch

from ftlab.probes import dynamo_private


def test_dynamo_is_suspended_and_resumed():
    torch._dynamo.reset()
    compiled = []

    def backend(graph, inputs):
        compiled.append(graph)
        return graph.forward

    def inside(x):
        return x + 1

    def outer(x):
        callback = dynamo_private.suspend_dynamo()
        inside(x)
        dynamo_private.resume_dynamo(callback)
        return x

    dynamo_private.leave_to_python(outer)
    torch.compile(outer, backend=backend)(torch.ones(1))
    assert compiled == []
    torch.compile(inside, backend=backend)(torch.ones(1))
    assert len(compiled) == 1


def test_the_stance_tells_whether_guards_are_looked_at():
    assert not dynamo_private.skips_guards()
    with torch.compiler.set_stance(skip_guard_eval_unsafe=True):
        assert dynamo_private.skips_guards()
    assert not dynamo_private.skips_guards()


def test_a_stance_other_than_the_default_is_told():
    torch.compile(torch.sin, backend="eager")(torch.ones(1))
    assert dynamo_private.compiles_as_asked()
    with torch.compiler.set_stance("force_eager"):
        assert not dynamo_private.compiles_as_asked()
    assert dynamo_private.compiles_as_asked()


def failing(graph, inputs):
    raise RuntimeError("no tool chain")


def test_dynamo_notes_where_compiling_failed_and_whether_it_was_swallowed():
    torch._dynamo.reset()

    def square(x):
        return x * x

    with torch._dynamo.config.patch(suppress_errors=True):
        torch.compile(square, backend=failing)(torch.ones(1))
    noted = dynamo_private.compilations()[-1]
    assert noted.config_suppress_errors
    assert noted.fail_type == "BackendCompilerFailed"
    assert "no tool chain" in noted.fail_reason
    assert noted.co_filename == __file__
    assert noted.co_firstlineno == square.__code__.co_firstlineno


def test_dynamo_notes_which_guard_failed_and_that_the_limit_is_reached():
    torch._dynamo.reset()
    kept = torch.nn.Module()

    def times(x):
        return x * kept.factor

    compiled = torch.compile(times, backend="eager")
    with torch._dynamo.config.patch(recompile_limit=2):
        for kept.factor in range(5, 8):
            compiled(torch.ones(1))
    first, second, limit = dynamo_private.compilations()[-3:]
    assert first.recompile_reason is None
    assert "kept.factor == 5" in second.recompile_reason
    assert "kept.factor == 6" in limit.recompile_reason
    assert limit.fail_reason.startswith("Dynamo recompile limit exceeded")
    frames = {each.compile_id.split("/")[0] for each in (first, second, limit)}
    assert len(frames) == 1
