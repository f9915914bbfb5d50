"""How messages say steps, numbers and lists, alike in every rule."""

from ftlab.records.name_words import in_words as in_words, listed as listed


def at_steps(first: int, last: int) -> str:
    """Return ``"step 3"`` or ``"steps 3-17"``.

    Examples
    --------
    >>> from ftlab.rules.words import at_steps
    >>> at_steps(3, 3), at_steps(3, 17)
    ('step 3', 'steps 3-17')
    """
    return f"step {first}" if first == last else f"steps {first}-{last}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return ``"1 tensor"`` or ``"3 tensors"``, or ``plural`` where ``s`` is wrong."""
    return f"{count} {noun}" if count == 1 else f"{count} {plural or f'{noun}s'}"


def an(noun: str) -> str:
    """Return the noun with its article.

    Examples
    --------
    >>> from ftlab.rules.words import an
    >>> an("AdamW"), an("Linear"), an("SGD"), an("SFTTrainer"), an("list")
    ('an AdamW', 'a Linear', 'an SGD', 'an SFTTrainer', 'a list')
    """
    # An abbreviation is spoken letter by letter: an S, an F, but a T and a D.
    spoken = noun[:2].isupper() and noun[0] in "AEFHILMNORSX"
    return f"{'an' if spoken or noun[:1] in 'AEIOaeiou' else 'a'} {noun}"


def number(value: float) -> str:
    """Return three significant digits."""
    return f"{value:.3g}"
