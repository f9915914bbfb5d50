"""The one watch over a run's tokenizer, for all probes that ask for its fingerprint."""

import weakref

from ftlab.probes.subject import Subject
from ftlab.probes.tokenizers.tokenizer_watch import TokenizerWatch

_watches: "weakref.WeakKeyDictionary[Subject, TokenizerWatch]"
_watches = weakref.WeakKeyDictionary()


def watch_of(subject: Subject) -> TokenizerWatch:
    """Return the watch over a subject's tokenizer: the vocabulary is read once.

    Where the run has got another tokenizer, it is a new watch.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.subject import Subject
    >>> from ftlab.probes.tokenizers.subject_watch import watch_of
    >>> model = torch.nn.Linear(2, 1)
    >>> subject = Subject(model)
    >>> watch_of(subject) is watch_of(subject)
    True
    """
    known = _watches.get(subject)
    if known is None or not known.is_of(subject.tokenizer):
        known = _watches[subject] = TokenizerWatch(subject.tokenizer)
    return known
