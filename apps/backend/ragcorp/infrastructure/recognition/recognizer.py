"""Recognition with PP-OCRv6, whose models are in the package ``rapidocr``. Blocking and slow; uses no network."""

from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import rapidocr

from ragcorp.domain.documents import SourceFile
from ragcorp.domain.exceptions import RagcorpError, UnreadableDocumentError
from ragcorp.domain.recognition import RecognizedPage
from ragcorp.infrastructure.recognition.layout import Piece, page_text
from ragcorp.infrastructure.recognition.pictures import picture

_MODELS = Path(rapidocr.__file__).parent / "models"
_OPTIONS = {
    "Global.use_cls": False,
    "Global.log_level": "critical",
    "Global.max_side_len": 4000,
    # a named file is never downloaded
    "Det.model_path": str(_MODELS / "PP-OCRv6_det_small.onnx"),
    "Rec.model_path": str(_MODELS / "PP-OCRv6_rec_small.onnx"),
    "Det.limit_type": "max",
    "Det.limit_side_len": 1280,
    "Rec.rec_batch_num": 1,
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}
"""Lines are found on a smaller picture, and read one by one on the whole: a third of the memory, and no worse."""


class PageRecognizer:
    """Recognises printed text in Latin script, and in Chinese and Japanese."""

    def __init__(self) -> None:
        self._engine: Any = rapidocr.RapidOCR(params=_OPTIONS)

    def recognize(self, file: SourceFile, page: int) -> RecognizedPage:
        """Return the text of page ``page`` (from 1). Raises UnreadableDocumentError."""
        try:
            image = picture(file, page)
            found = self._engine(np.asarray(image)[:, :, ::-1], use_cls=False)
        except (RagcorpError, MemoryError):
            raise
        except Exception as error:
            raise UnreadableDocumentError(
                "The picture of the page cannot be read: it is damaged, or of another kind.",
                field="content",
                remedy="Open the file in its own program, save it again and send the new file.",
            ) from error
        if not found.txts:
            return RecognizedPage(page=page, text="", confidence=0.0)
        pieces = [_piece(box, text) for box, text in zip(found.boxes, found.txts, strict=True)]
        length = sum(map(len, found.txts))
        confidence = sum(len(text) * score for text, score in zip(found.txts, found.scores, strict=True)) / length
        return RecognizedPage(
            page=page, text=page_text(pieces, width=image.width), confidence=round(min(1.0, float(confidence)), 3)
        )


def _piece(corners: Any, text: str) -> Piece:
    (left, top), (right, bottom) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    return Piece(left, top, right, bottom, normalize("NFC", text))
