"""State dicts that are kept while the weights change."""

import copy
import gc

from torch import nn

from ftlab.probes.files.held_states import HeldStates


def held(updates=1):
    model, states = nn.Linear(2, 2), HeldStates()
    for _ in range(updates):
        states.weights_updated()
    return model, states


def take(model, states):
    state = model.state_dict()
    states.taken(state.values())
    return state


def test_what_is_written_after_an_update_is_old_wherever_it_lies():
    model, states = held()
    best = {"epoch": 3, "state": take(model, states)}
    states.weights_updated()
    states.weights_updated()
    take(model, states)
    assert states.written(model, best) == {"stale": 2, "updates": 2}
    adapter = {"weight": best["state"]["weight"]}
    assert states.written(model, [adapter]) == {"stale": 1, "updates": 2}


def test_what_is_written_at_once_is_new():
    model, states = held()
    state = take(model, states)
    assert states.written(model, state) == {}
    states.weights_updated()
    assert states.written(model, model.state_dict()) == {}


def test_a_copy_is_no_part_of_the_model():
    model, states = held()
    state = take(model, states)
    best = copy.deepcopy(state)
    states.weights_updated()
    assert states.written(model, best) == {}
    assert states.written(model, dict(model.named_parameters())) == {}


def test_what_was_taken_before_the_first_update_shows_the_weights_of_now():
    model, states = held(updates=0)
    state = take(model, states)
    states.weights_updated()
    states.weights_updated()
    assert states.written(model, state) == {}


def test_frozen_weights_do_not_change():
    model, states = held()
    model.weight.requires_grad_(False)
    state = take(model, states)
    states.weights_updated()
    assert states.written(model, state) == {"stale": 1, "updates": 1}


def test_nothing_is_kept_alive():
    model, states = held()
    state = take(model, states)
    states.weights_updated()
    kept = [each for each, _ in states._old]
    del state
    gc.collect()
    assert len(kept) == 2
    assert [each() for each in kept] == [None, None]
    take(model, states)
    states.weights_updated()
    assert states._old == []
