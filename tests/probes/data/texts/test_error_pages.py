"""Pages of errors, and texts that begin as they do."""

import pytest

from ftlab.probes.data.answers.no_answers import no_answers
from ftlab.probes.data.rows.row_parts import parts_of
from ftlab.probes.data.texts.error_pages import error_page, html_error
from tests.probes.data.glanced import glanced


@pytest.mark.parametrize(
    "text",
    [
        "502 Bad Gateway\n\nThe server reported an error. Ray ID: 52062f7ae5b7710a",
        "403 Forbidden\n\nnginx/1.20.2",
        "403 Forbidden\nnginx\n",
        "Just a moment...\nEnable JavaScript and cookies to continue",
        "Access Denied\nYou don't have permission to access / on this server.",
        "Please enable JavaScript. Checking your browser before accessing a.example.",
        "404 Not Found\nThe requested URL /a was not found on this server.",
        "You need to enable JavaScript to run this app.",
        "Access Denied. Reference #18.2f4d",
        "Error 429: Too Many Requests. Retry after 958 seconds.",
        "We value your privacy. We store cookies. Accept all | Reject all",
    ],
)
def test_a_page_of_an_error_is_found(text):
    ((part, fault),) = glanced(no_answers, parts_of({"text": text}))
    assert (part.where, fault.name, fault.char) == ("text", "error-page-as-text", 0)


@pytest.mark.parametrize(
    "text",
    [
        "Access Denied",
        "404 Not Found",
        "Just a moment... he said.",
        "502 Bad Gateway is what a proxy like nginx says to its clients.",
        "The page said 403 Forbidden, nginx/1.20.2",
        "403 Forbidden " + "and so on " * 60 + "Ray ID: 5",
    ],
)
def test_other_texts_are_none(text):
    assert error_page(text) is None


def test_an_answer_may_be_such_a_page():
    said = "Just a moment...\nEnable JavaScript and cookies to continue"
    row = parts_of({"prompt": "What does the page say?", "completion": said})
    assert list(glanced(no_answers, row)) == []


@pytest.mark.parametrize(
    "text",
    [
        "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body></body></html>",
        '<!DOCTYPE html>\n<!--[if IE]>--><html lang="en">\n<head><meta charset="utf-8">'
        "<title>Just a moment...</title></head></html>\n",
        "<HTML><HEAD><TITLE>Error 403 Forbidden</TITLE></HEAD></HTML>",
        '<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code></Error>',
    ],
)
def test_a_page_of_html_whose_title_is_an_error_is_found(text):
    row = parts_of({"prompt": "Say it in French: a file", "completion": text})
    ((_, fault),) = glanced(no_answers, row)
    assert (fault.name, fault.char) == ("error-as-answer", 0)


@pytest.mark.parametrize(
    "text",
    [
        "<html><head><title>A river</title></head><body>502 Bad Gateway</body></html>",
        "<html><head><title>502 Bad Gateway</title></head> is how it begins.",
        "<b>502 Bad Gateway</b>",
        "<Error>",
    ],
)
def test_other_pages_are_none(text):
    assert html_error(text) == ""


def test_a_page_of_an_error_may_be_asked_for():
    text = "<html><head><title>502 Bad Gateway</title></head></html>"
    for prompt in ("Write the page of a 502.", "Make an HTML page for the proxy."):
        row = parts_of({"prompt": prompt, "completion": text})
        assert list(glanced(no_answers, row)) == []
