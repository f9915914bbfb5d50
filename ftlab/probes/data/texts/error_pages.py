"""Pages of errors and of checks for robots, kept as texts of a crawl."""

import re

LONGEST = 600
"""Characters that such a page has at most."""

_BEGINS = re.compile(
    r"\s*(?:(?:Error:? ?|HTTP(?:/\d\.\d)? ?(?:Error ?)?)?"
    r"(?:400 Bad Request|401 Unauthorized|403 Forbidden|404 Not Found"
    r"|429:? Too Many Requests|500 Internal Server Error|502 Bad Gateway"
    r"|503 Service (?:Temporarily )?Unavailable|504 Gateway Time-?out)"
    r"|Access Denied|Just a moment\.\.\.|Attention Required! \| Cloudflare"
    r"|One more step|Please verify you are (?:a )?human|Verifying you are human"
    r"|Checking (?:your browser before|if the site connection is secure)"
    r"|(?:Please |You need to )?(?:enable|turn on) JavaScript"
    r"|We (?:value|respect|care about) your privacy)",
    re.IGNORECASE,
)
"""How such pages begin."""

_SIGNED = re.compile(
    r"\bRay ID: ?\w|\bReference #[\w.]+|nginx(?:/[\d.]+)?(?: \(\w+\))?\s*\Z"
    r"|\bApache/\d|openresty|enable JavaScript and cookies to continue"
    r"|checking your browser before"
    r"|you don't have permission to access|needs to review the security of"
    r"|the requested URL .{0,200} was not found on this server"
    r"|You need to enable JavaScript to run this app|retry after \d+ seconds"
    r"|\bcookies\b.{0,200}\b(?:accept|reject|manage)\b",
    re.IGNORECASE,
)
"""What the servers write into them, and people do not."""

_TITLE = re.compile(
    r"(?:<\?xml[^>]{0,100}\?>\s*)?(?:<!DOCTYPE[^>]{0,200}>\s*)?"
    r"(?:<!--.{0,200}?-->\s*)*<html\b.{0,600}?<title>",
    re.IGNORECASE | re.DOTALL,
)
"""What stands before the title of a page of HTML."""

_OF_STORES = re.compile(r"(?:<\?xml[^>]{0,100}\?>\s*)?<Error>\s*<Code>\w+</Code>")
"""How the stores of clouds say no."""


def html_error(text: str) -> str:
    """Say what a page of an error has for a title; nothing where a text is none.

    Examples
    --------
    >>> from ftlab.probes.data.texts.error_pages import html_error
    >>> html_error("<html><head><title>502 Bad Gateway</title></head></html>")
    "a page of HTML with the title '502 Bad Gateway'"
    """
    if _OF_STORES.match(text):
        return f"begins with {text[:40]!r}"
    found = _TITLE.match(text)
    title = found and _BEGINS.match(text, found.end())
    if not title or text.rstrip()[-7:].lower() != "</html>":
        return ""
    return f"a page of HTML with the title {title.group().strip()!r}"


def error_page(text: str) -> str | None:
    """Say how a page of an error begins, where a whole text is one.

    Examples
    --------
    >>> from ftlab.probes.data.texts.error_pages import error_page
    >>> error_page("502 Bad Gateway. Ray ID: 52062f7ae5")
    "begins with '502 Bad Gateway'"
    >>> error_page("502 Bad Gateway is what a proxy says.")
    """
    if len(text) > LONGEST:
        return None
    found = _BEGINS.match(text)
    if found is None or not _SIGNED.search(text):
        return None
    return f"begins with {found.group().strip()!r}"
