"""`ftlab.fingerprint`: one digest over all that a tokenizer is made of."""

from typing import Any

from ftlab.session.tokenizer_sources import source_of
from ftlab.views.tokenizers.fingerprint import FingerprintView


def fingerprint(tokenizer: Any) -> FingerprintView:
    """Read the fingerprint of a tokenizer.

    Two tokenizers with one digest turn every text into the same ids, back into the same
    text, and write conversations and padding alike.

    Parameters
    ----------
    tokenizer
        Of transformers, fast or slow, with SentencePiece, tiktoken or mistral-common in
        it or these bare; a processor that holds one; the folder of a model, an adapter
        or a tokenizer; or the file that a fingerprint was saved to.

    Returns
    -------
    FingerprintView
        ``digest``, ``parts`` by name, ``table()``, ``figure()`` and ``widget()``;
        ``save(path)`` keeps it, `ftlab.tokenizer_diff` compares it. Of a checkpoint
        that was saved under a watch, ``trained`` is that of the run's tokenizer: where
        the files of the folder hold another one, the view says so.

    Raises
    ------
    BadValueError
        Something else was passed, or transformers cannot load what is in the folder.

    Notes
    -----
    Parts are the vocabulary, merges, the model's settings, normaliser, pre-tokeniser,
    decoder, post-processor, special tokens, added tokens, chat template, padding and
    truncation, and switches. What a call leaves in a fast tokenizer, its last padding
    and truncation, is no part. Of tokenizers written in Python the class stands for
    their code.

    Examples
    --------
    >>> import ftlab
    >>> from tokenizers import Tokenizer, models
    >>> one, two = (Tokenizer(models.WordLevel({"a": 0, e: 1}, "a")) for e in "bc")
    >>> ftlab.fingerprint(one).digest == ftlab.fingerprint(two).digest
    False
    >>> ftlab.fingerprint("no/such/folder")
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: 'no/such/folder' is neither a folder nor a \
file; ...
    """
    source = source_of(tokenizer, "fingerprint(tokenizer)")
    return FingerprintView(source.fingerprint, source.trained)
