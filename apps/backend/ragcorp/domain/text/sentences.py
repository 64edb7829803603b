"""Where a sentence ends in running text."""

from __future__ import annotations

import re

SENTENCE_END = re.compile(r"(?<=[.!?…])[\"»”)\]]*\s+(?=[\"«“¿¡(\[]*[A-ZÁÉÍÓÚÜÑ0-9])|\n+")
