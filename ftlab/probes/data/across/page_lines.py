"""Lines that stand around the text of a page: notices, menus, footers, page numbers."""

import re

_COOKIES = re.compile(
    r"(?:\bwe|\bsite|\bpage) uses? cookies\b.*\b(?:accept|agree|reject|settings|consent"
    r"|learn more|got it|experience|continu)"
    r"|\baccept (?:all )?cookies\b"
    r"|wir verwenden cookies|(?:web)?(?:site|seite) (?:ver|be)nutzt cookies"
    r"|nous utilisons des cookies|ce site utilise des cookies"
    r"|(?:utilizamos|usamos|este sitio (?:web )?utiliza) cookies"
    r"|utilizziamo (?:i )?cookie",
    re.IGNORECASE,
)
_RIGHTS = re.compile(
    r"all rights reserved|alle rechte vorbehalten|tous droits r[\xe9e]serv[\xe9e]s"
    r"|todos los derechos reservados|todos os direitos reservados"
    r"|tutti i diritti riservati",
    re.IGNORECASE,
)
_LINKS = re.compile(
    r"privacy|terms of (?:use|service)|terms (?:&|and) conditions|imprint|sitemap"
    r"|cookie|contact us|impressum|datenschutz|\bAGB\b|mentions l[\xe9e]gales"
    r"|confidentialit[\xe9e]|aviso legal|privacidad",
    re.IGNORECASE,
)
_PARTED = re.compile("[|\xb7\u2022]")

_CALLS = re.compile(
    r"(?:subscribe to|sign up (?:for|to)) (?:our|the) (?:[\w-]+ )?newsletter"
    r"|(?:unseren|zum) newsletter (?:abonnieren|anmelden)"
    r"|(?:abonnez|inscrivez)-vous [\xe0a] (?:notre|la) (?:newsletter|lettre)"
    r"|suscr[\xedi]be(?:te|se) a nuestr[oa] (?:bolet[\xedi]n|newsletter)"
    r"|(?:share|teilen|partager) (?:this )?(?:on|via|auf|sur) (?:facebook|twitter"
    r"|linkedin|whatsapp|pinterest)"
    r"|skip to (?:main )?content|toggle navigation|jump to navigation"
    r"|you are here: home|(?:please )?enable javascript (?:in|to)"
    r"|you must (?:be logged|log) in to (?:post|leave|reply|comment)"
    r"|story continues below advertisement|scroll to continue"
    r"|zum inhalt springen|aller au contenu|ir al contenido",
    re.IGNORECASE,
)
"""What pages ask their readers to do."""

_MENU = re.compile(
    r"home|about(?: us)?|contact(?: us)?|log ?in|sign ?(?:in|up)|register|news|shop"
    r"|help|faqs?|search|menu|privacy(?: policy)?|terms(?: of (?:use|service))?|imprint"
    r"|blog|careers|jobs|sitemap|cart|my account|newsletter|archive|sports?|weather"
    r"|startseite|kontakt|impressum|datenschutz|anmelden|suche|accueil|connexion|inicio"
    r"|contacto|buscar",
    re.IGNORECASE,
)
ITEMS, KNOWN_ITEMS = 4, 3
"""Items of a menu, and those that most pages have."""

_COMMENT = ("#", "//", "*", "/*", "--", ";", "%", "<!--", '"""')
"""How the lines of a licence in a file of code begin."""

_PAGE = re.compile(
    r"(?<!\w)(?:page|pg\.?|seite|p[\xe1a]gina|p[\xe1a]g\.|strona|str\.|sayfa|sid[ae]"
    r"|\u0441\u0442\u0440\u0430\u043d\u0438\u0446\u0430|\u0441\u0442\u0440\.)"
    r"\s*(?P<page>\d{1,5})"
    r"(?:\s*(?:of|/|von|de|di|sur|\u0438\u0437|z|av|af)\s*(?P<all>\d{1,5}))?\Z",
    re.IGNORECASE,
)
LAST = 24
"""Characters at the end of a line in which the number of a page stands."""

_NUMBER = re.compile(r"\d+")


def is_around_text(line: str) -> bool:
    """Tell whether a line is a notice, a menu or a footer of a web page.

    Examples
    --------
    >>> from ftlab.probes.data.across.page_lines import is_around_text
    >>> is_around_text("We use cookies. Accept all | Reject | Settings")
    True
    >>> is_around_text("# Copyright 2019 A. Smith. All rights reserved.")
    False
    """
    if line.startswith(_COMMENT):
        return False
    if _RIGHTS.search(line) and _LINKS.search(line) and _PARTED.search(line):
        return True
    return _is_menu(line) or bool(_COOKIES.search(line) or _CALLS.search(line))


def _is_menu(line: str) -> bool:
    items = [each.strip() for each in _PARTED.split(line.strip(" |"))]
    known = sum(_MENU.fullmatch(each) is not None for each in items)
    return len(items) >= ITEMS and known >= KNOWN_ITEMS


def page_number(line: str) -> tuple[int, str, bool] | None:
    """Read the number of a page, the line without it, and whether it says of how many.

    Examples
    --------
    >>> from ftlab.probes.data.across.page_lines import page_number
    >>> page_number("ACME | Page 7 of 312"), page_number("Chapter 7")
    ((7, 'acme | page 0 of 0', True), None)
    """
    found = _PAGE.search(line, max(0, len(line) - LAST))
    if found is None:
        return None
    rest = _NUMBER.sub("0", " ".join(line.split())).casefold()
    return int(found["page"]), rest, found["all"] is not None
