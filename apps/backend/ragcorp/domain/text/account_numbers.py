"""Account numbers (IBAN) as they are printed, in groups of four: ``ES91 2100 0418 4502 0005 1332``. Pure."""

import re

_COUNTRIES = {
    15: "NO", 16: "BE", 18: "DK|FI|NL", 19: "SI", 20: "AT|EE|LT|LU", 21: "CH|HR|LI|LV", 22: "BG|DE|GB|IE",
    24: "AD|CZ|ES|MD|RO|SE|SK", 25: "PT", 26: "IS|TR", 27: "FR|GR|IT|MC|SM", 28: "AL|CY|HU|PL", 29: "BR", 31: "MT",
}  # fmt: skip
"""By the characters of their numbers (ISO 13616), without spaces."""


def _grouped(characters: int, countries: str) -> str:
    """Return the pattern of a country's numbers: groups of four, the last of what is left."""
    whole, rest = divmod(characters - 4, 4)
    last = rf"[ \u00a0][0-9A-Z]{{{rest}}}" if rest else ""
    return rf"(?:{countries})[0-9]{{2}}(?:[ \u00a0][0-9A-Z]{{4}}){{{whole}}}{last}"


_ACCOUNT = re.compile(rf"(?:{'|'.join(_grouped(*row) for row in _COUNTRIES.items())})(?![^\W_])")


def account_at(text: str, start: int) -> str:
    """Return the account number in groups that begins at ``start`` as it is written; "" where there is none."""
    match = _ACCOUNT.match(text, start)
    return match[0] if match else ""
