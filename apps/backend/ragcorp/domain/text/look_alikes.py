"""The skeleton of a text (Unicode UTS 39): the plain small letters that its characters look like.

Pure. A skeleton is for finding words that are written in other letters. What is found is changed in the text itself,
by its place.
"""

import re
import unicodedata

_LETTERS = (
    "a\u0430\u03b1\u0391\u13aa\ua4ee\u0251 b\u0432\u0392\u13f4\ua4d0 c\u0441\u03f2\u13df\ua4da "
    "d\u0501\u13a0\ua4d3 e\u0435\u03b5\u0395\u13ac\ua4f0 f\ua4dd g\u0581\ua4d6 "
    "h\u04bb\u043d\u0397\u0570\u13bb\ua4e7 i\u0456\u03b9\u0399\ua4f2 j\u0458\u03f3\u13ab\ua4d9 "
    "k\u043a\u03ba\u039a\u13e6\ua4d7 l\u04cf\u13de\ua4e1 m\u043c\u039c\u13b7\ua4df "
    "n\u043f\u03b7\u039d\u0578\ua4e0 o\u043e\u03bf\u039f\u0585\ua4f3 p\u0440\u03c1\u03a1\u13e2\ua4d1 q\u051b "
    "r\u0433\u13a1\ua4e3 s\u0455\u13da\ua4e2 t\u0442\u03c4\u03a4\u13a2\ua4d4 u\u03c5\u057d\ua4f4 "
    "v\u0475\u03bd\u13d9\ua4e6 w\u051d\u03c9\u13b3\ua4ea x\u0445\u03c7\u03a7\ua4eb "
    "y\u0443\u04af\u03b3\u03a5\u13a9\ua4ec z\u0396\u13c3\ua4dc "
    ":\u02d0\u02f8\u0589\u05c3\u0703\u0704\u0903\u0a83\u1361\u16ec\u1803\u1809\u205a\u2236\u2237\u2982\ua4fd\ua789\ufe30"
)
"""Plain letters and the colon, each before the Cyrillic, Greek, Armenian, Cherokee and Lisu letters and signs that look
like it."""

_LIKE = {character: group[0] for group in _LETTERS.split() for character in group[1:]}
_NAMED_LETTER = re.compile(r".*\bLATIN\b.* LETTER (?:SMALL CAPITAL |DOTLESS |SCRIPT |LONG )?([A-Z])(?: WITH .+)?")


class Skeleton(dict[int, str]):
    """Table for ``str.translate``: characters to their skeletons. One per text: a shared one would grow forever."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        self[code] = skeleton = _LIKE.get(character) or "".join(
            _plain(part) for part in unicodedata.normalize("NFKD", character)
        )
        return skeleton

    def of(self, text: str) -> str:
        return text.translate(self)

    def place(self, text: str, end: int) -> int:
        """Return how many characters of ``text`` make the first ``end`` of its skeleton."""
        made = 0
        for index, character in enumerate(text):
            if made >= end:
                return index
            made += len(self[ord(character)])
        return len(text)


def _plain(part: str) -> str:
    if part.isascii():
        return part.lower()
    if plain := _LIKE.get(part) or _LIKE.get(part.casefold()):
        return plain
    if unicodedata.category(part)[0] == "M":
        return ""
    named = _NAMED_LETTER.fullmatch(unicodedata.name(part, ""))
    return named[1].lower() if named else part.casefold()
