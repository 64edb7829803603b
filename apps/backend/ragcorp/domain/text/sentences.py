"""Where a sentence ends in running text."""

import re

SENTENCE_END = re.compile(r"(?<=[.!?…])[\"»”)\]]*\s+(?=[\"«“¿¡(\[]*[A-ZÁÉÍÓÚÜÑ0-9])|\n+")
