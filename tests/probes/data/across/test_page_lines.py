"""Lines that pages have around their texts, and those that texts have."""

import pytest

from ftlab.probes.data.across.page_lines import is_around_text, page_number


@pytest.mark.parametrize(
    "line",
    [
        "We use cookies to improve your experience. Accept all | Reject",
        "This site uses cookies. Learn more",
        "Wir verwenden Cookies, um die Seite zu verbessern.",
        "Nous utilisons des cookies.",
        "\u00a9 2018 All rights reserved. Privacy Policy | Terms of Use",
        "Alle Rechte vorbehalten | Impressum | AGB",
        "Subscribe to our weekly newsletter for more!",
        "Share on Facebook  Share on Twitter",
        "Skip to main content",
        "Home | News | Contact | Login",
        "| Startseite \u2022 Kontakt \u2022 Impressum \u2022 Presse |",
        "You must be logged in to post a comment.",
    ],
)
def test_a_line_of_a_page_is_known(line):
    assert is_around_text(line)


@pytest.mark.parametrize(
    "line",
    [
        "# Copyright 2019 A. Smith | All rights reserved | see Privacy",
        "Copyright (C) The IETF Trust (2008). All Rights Reserved.",
        "All rights reserved under the terms of use.",
        "| Home | Away | Score | Date |",
        "| Name | Age | City | Job |",
        "We use cookies and milk for the cake.",
        "The newsletter was sent to our members.",
        "He shared it on Facebook.",
        "With kind regards, Ana",
        "See also and references",
    ],
)
def test_a_line_of_a_text_is_not(line):
    assert not is_around_text(line)


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("Page 7 of 312", (7, "page 0 of 0", True)),
        ("ACME Guide | page 12", (12, "acme guide | page 0", False)),
        ("Seite 3 von 10", (3, "seite 0 von 0", True)),
        ("P\u00e1gina 12", (12, "p\u00e1gina 0", False)),
        ("Page 7/9", (7, "page 0/0", True)),
    ],
)
def test_the_number_of_a_page_is_read(line, read):
    assert page_number(line) == read


@pytest.mark.parametrize(
    "line", ["Chapter 7", "Homepage 3", "7 of 312", "Page one", "3"]
)
def test_other_numbers_are_not(line):
    assert page_number(line) is None
