"""The codes of languages: ISO 639-1, and a few of ISO 639-3 for languages without a code of two letters."""

from ragcorp.domain.exceptions import InvalidInputError

ANALYSED = ("es", "en", "pt", "ca", "fr", "it", "de")
"""Languages whose words are indexed by their stems, those of all others as they are (migration 004)."""

_ISO_639_1 = """
    aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo es
    et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki
    kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no
    nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te
    tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""
_ISO_639_3 = "ast ceb cmn ext fil gsw haw lad mul mwl nah quc scn und yue"

CODES = frozenset(f"{_ISO_639_1} {_ISO_639_3}".split())
LIMIT = f"{', '.join(ANALYSED)}, or another code of ISO 639-1"


def require_language(code: str) -> None:
    """Raise InvalidInputError unless ``code`` is the code of a language."""
    if code not in CODES:
        raise InvalidInputError(
            "language is not the code of a language.",
            field="language",
            limit=LIMIT,
            remedy="Use the code of the text's language, such as 'es'; 'und' if it is not known.",
        )
