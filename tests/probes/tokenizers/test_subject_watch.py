"""One watch for all who ask."""

import torch

from ftlab.probes.subject import Subject
from ftlab.probes.tokenizers.subject_watch import watch_of
from tests.probes.tokens.vocabularies import byte_level, unigram


def test_it_is_one_watch_until_the_run_gets_another_tokenizer():
    model = torch.nn.Linear(2, 1)
    subject = Subject(model, tokenizer=byte_level())
    first = watch_of(subject)
    assert watch_of(subject) is first
    subject.tokenizer = unigram()
    assert watch_of(subject) is not first
    assert watch_of(subject)() != first()
    assert watch_of(Subject(model, tokenizer=unigram())) is not watch_of(subject)
