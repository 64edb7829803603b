"""Questions over an office's files: the right value, from the right file and page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.anyio

FILES = Path(__file__).parents[2] / "sets" / "oficina-es"

CONTRACT, BUDGET, SALES = "Contrato mantenimiento almazara", "Presupuesto 2026", "Presentación ventas"
ORDER, DEPOSIT, INSPECTION = "Pedido 8812", "Carta fianza", "Informe inspección"
FORM, SUBSIDY = "Solicitud de alta", "Expediente mixto"

ANSWERS = (
    ("¿Cuál es el plazo de reparación en el contrato de mantenimiento de la almazara?", "25 días", CONTRACT, None),
    ("¿A cuántos días se amplía el plazo de reparación en agosto?", "40 días", CONTRACT, None),
    ("¿Cuánto cuesta al mes el servicio Total riesgo?", "310", CONTRACT, None),
    ("¿Qué plazo de respuesta tiene el servicio Total riesgo?", "8 horas", CONTRACT, None),
    ("¿Qué número de expediente tiene el contrato de mantenimiento de la almazara?", "VLD-2031", CONTRACT, None),
    ("¿Qué penalización se habló con Talleres Monegro según la gestoría?", "3 %", CONTRACT, None),
    ("¿Qué extensión tiene Remedios Aldana?", "214", CONTRACT, None),
    ("¿Cuál es el total del presupuesto 2026?", "48.350,75", BUDGET, None),
    ("¿Cuál es la fecha límite de la partida Maquinaria?", "15/03/2026", BUDGET, None),
    ("¿Qué porcentaje del presupuesto se va en maquinaria?", "44,5 %", BUDGET, None),
    ("¿Quién tiene pendiente de aprobar el gasto de publicidad?", "Lucía Ferrando", BUDGET, None),
    ("¿Qué importe tiene la factura FAC-1207?", "2.260,80", BUDGET, None),
    ("¿De qué fecha es la factura FAC-1215?", "18/02/2026", BUDGET, None),
    ("¿Cuál es el PVP de la lata de 5 litros?", "41,90", SALES, 3),
    ("¿Cuántas unidades lleva el palet de la lata de 5 litros?", "96", SALES, 3),
    ("¿Cuál es el margen mínimo aceptable?", "18 %", SALES, 2),
    ("¿Cuántos miles de litros se vendieron en el tercer trimestre?", "61", SALES, 4),
    ("¿En qué muelle recoge el transportista el pedido 8812?", "muelle 4", ORDER, None),
    ("¿A qué hora recoge el transportista el pedido?", "7:30", ORDER, None),
    ("¿A cuánto asciende la fianza del almacén?", "2.750", DEPOSIT, None),
    ("¿Qué plazo dio la inspectora para sellar el depósito 3?", "45 días", INSPECTION, None),
    ("¿En qué año se fabricó el depósito 3?", "1998", INSPECTION, None),
    ("¿Quién presenta la solicitud de alta de socio?", "Rigoberta Samper", FORM, 1),
    ("¿Qué superficie figura en la solicitud de alta?", "12,75", FORM, 1),
    ("¿Qué importe se solicitó en la subvención?", "61.900", SUBSIDY, 1),
    ("¿De cuánto es la ayuda que se concede a la cooperativa?", "47.250", SUBSIDY, 2),
)
ATTACHED = (
    ("¿Cuántos palets salen según el albarán 8812?", "14", "/albarán 8812.pdf", 1),
    ("¿Cuál es la matrícula del camión del pedido 8812?", "4410 KHB", "/albarán 8812.pdf", 1),
    ("¿De cuánto es la franquicia del seguro?", "900", "/condiciones.txt", None),
)
UNANSWERED = (
    "¿Cuál es el CIF de la cooperativa?",
    "¿Quién ganó el mundial de fútbol de 2010?",
    "¿Cuánto cobra el gerente?",
    "¿Cuál es el sueldo de Covadonga Ripoll?",
    "¿Cuál es el importe de la factura FAC-9999?",
    "¿Cuántos miles de litros se vendieron en noviembre?",
)


async def test_office_questions(open_rag: Callable[..., Any]) -> None:
    rag = await open_rag(enable_hybrid_search=True)
    result = await rag.ingest_folder(FILES)
    assert not result.failures
    counts = await rag.recognize_pending()
    assert (counts.done, counts.failed) == (1, 0)
    for question, value, name, page in ANSWERS:
        answer = await rag.ask(question)
        assert value in answer.text, question
        (citation, *_) = answer.citations
        assert name in citation.external_id, question
        assert citation.page == page, question
    for question, value, name, page in ATTACHED:
        answer = await rag.ask(question)
        assert value in answer.text, question
        (citation, *_) = answer.citations
        assert citation.external_id.endswith(f"{ORDER}.eml{name}"), question
        assert citation.page == page, question
    for question in UNANSWERED:
        assert (await rag.ask(question)).abstained, question
