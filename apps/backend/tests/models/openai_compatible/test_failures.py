"""What a call that is not streamed is counted as where it fails, whoever makes it."""

from __future__ import annotations

import pytest

from ragcorp.domain.exceptions import AnswererUnavailableError
from ragcorp.infrastructure.openai_compatible.client import Endpoint
from ragcorp.infrastructure.openai_compatible.fact_extractor import OpenAIFactExtractor
from ragcorp.infrastructure.openai_compatible.question_rewriter import OpenAIQuestionRewriter
from support.models.counted_tokens import Counted
from support.models.openai_server import openai_server

pytestmark = pytest.mark.anyio

FAULTS = [("hang", True), ("broken_json", True), ("401", False), ("429", False), ("500", False)]


@pytest.mark.parametrize(("fault", "counts"), FAULTS)
@pytest.mark.parametrize("caller", [OpenAIFactExtractor, OpenAIQuestionRewriter])
async def test_a_call_that_fails_is_counted_once_unless_the_server_refused_it(
    caller: type[OpenAIFactExtractor | OpenAIQuestionRewriter], fault: str, *, counts: bool
) -> None:
    tokens = Counted()
    async with openai_server() as server:
        server.always = fault
        seconds = 0.5 if fault == "hang" else 30.0
        endpoint = Endpoint(base_url=server.base_url, api_key="k", timeout_seconds=seconds, max_retries=0)
        model = caller(endpoint=endpoint, model="chat-test", tokens=tokens)
        with pytest.raises(AnswererUnavailableError):
            if isinstance(model, OpenAIFactExtractor):
                await model.extract(title="Contrato", text="Acme compra.")
            else:
                await model.rewrite("¿y cuándo vence?", [])
        await model.aclose()
    assert [(prompt > 0, completion) for prompt, completion in tokens.calls] == [(True, 0)] * counts
