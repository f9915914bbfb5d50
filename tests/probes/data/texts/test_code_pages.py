# ruff: noqa: RUF001  letters that look like others are what this is about
"""Code pages that were read as Latin-1, and languages that have such letters."""

import pytest

from ftlab.probes.data.texts.code_pages import of_another_page

TURKISH = [
    "Lütfen dosyaları seçin ve kapatın.",
    "kimlik doğrulaması gereklidir",
    "işlem başarıyla bitti, sağlıklı",
    "İÇİNDEKİLER VE SAYFALARIN LİSTESİ",
]
OTHERS = [
    ("Привет, сегодня хорошая погода", "cp1251"),
    ("Γειά σας, σήμερα είναι ωραία μέρα", "cp1253"),
    ("шалом עולם שלום וברכה לכולם מאוד".replace("шалом", ""), "cp1255"),
    ("książka była miała została", "cp1250"),
    ("książka była miała została", "iso-8859-2"),
]
HEALTHY = [
    "Þýðing er góð, það er nýlegt og ský.",
    "Þýðing og lýðveldi",
    "Hýr ný ský, þið",
    "cwæþ se cyning, and oð þone dæg wiþ",
    "Ýokary ýerde täze ýyl geçirýäris",
    "ýyl, öý, geçýän",
    "být nový dobrý český výkon",
    "Dobrý den, zelený les",
    "Garçon: þýðing og lýðveldi, það á að",
    "für den garçon nýr",
    "François met Nýr and Davið, " + "and the rest of them went on " * 5,
    "Müller, Guðrún Þórsdóttir og François",
    "Müller, Davið and François",
    "Tiếng Việt có ý nghĩa đồng ý",
    "C’est déjà l’été à Montréal, naïve, œuvre",
    "àáâãäå èéêë ìíîï òóôõö ùúûü",
    "àâäéèêëïîôöùûüÿç and òèìùàé",
    "[ëàèïù] 'ïàëèô' `ëàïùè` ëà-ïùèà",
    "x³y³z m³a, 5 m³, km², note¹ and note²",
    "¿Qué es? hola¿como estas¿bien",
    "Größe äöüß",
    "Привет, как дела? Γειά σου Κόσμε",
    "dosyaları seçin, sağlıklı işlem",
]


@pytest.mark.parametrize("good", TURKISH)
def test_turkish_read_as_latin_1_is_found_and_shown_repaired(good):
    at, says = of_another_page(good.encode("cp1254").decode("cp1252"))
    word = good[at:].split()[0].strip(".,")
    assert says == f"reads {word} when repaired"


@pytest.mark.parametrize(("good", "page"), OTHERS)
def test_other_alphabets_read_as_latin_1_are_found(good, page):
    at, _ = of_another_page("So: " + good.strip().encode(page).decode("latin-1"))
    assert at >= 4


@pytest.mark.parametrize("text", HEALTHY)
def test_is_silent_on_languages_with_such_letters(text):
    assert of_another_page(text) is None
