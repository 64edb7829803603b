"""The process of one variant: answers lines of JSON on stdin with lines of JSON on stdout.

    python -m benchmarks.side_by_side.worker MODULE < requests

It imports only the module of its variant, so that other libraries run in an interpreter without ragcorp.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
import time
from typing import Any

from benchmarks.side_by_side.variant import CLIENTS, Question, Variant

Reply = dict[str, Any]


async def timed(variant: Variant, question: Question) -> Reply:
    cpu, wall = variant.cpu(), time.perf_counter()
    ids = await variant.search(question)
    wall, cpu = time.perf_counter() - wall, variant.cpu() - cpu
    return {"ids": ids, "wall_ms": wall * 1000, "cpu_ms": cpu * 1000}


async def throughput(variant: Variant, questions: list[Question], *, seconds: float) -> Reply:
    end = time.perf_counter() + seconds
    done = 0

    async def client(number: int) -> None:
        nonlocal done
        while time.perf_counter() < end:
            await variant.concurrent(questions[number % len(questions)])
            number += CLIENTS
            done += 1

    started = time.perf_counter()
    await asyncio.gather(*(client(first) for first in range(CLIENTS)))
    return {"per_second": done / (time.perf_counter() - started)}


async def answer(requests: Any, say: Any) -> None:
    """Open the variant that the first request describes, then answer the others until stdin ends."""
    loop = asyncio.get_running_loop()
    first = json.loads(await loop.run_in_executor(None, requests.readline))
    questions = [Question(**question) for question in first["questions"]]
    try:
        module = importlib.import_module(f"benchmarks.side_by_side.{sys.argv[1]}")
    except ModuleNotFoundError as missing:
        say({"missing": str(missing)})
        return
    if first["prepare"]:
        await module.prepare(first["dsn"])
    async with module.opened(first["dsn"], questions, **first["options"]) as variant:
        say({"opened": True})
        while line := await loop.run_in_executor(None, requests.readline):
            request = json.loads(line)
            if "seconds" in request:
                say(await throughput(variant, questions, seconds=request["seconds"]))
            else:
                question = questions[request["number"]]
                if request["filters"]:
                    question = Question(text=question.text, vector=question.vector, filters=request["filters"])
                say(await timed(variant, question))


def main() -> None:
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not be taken for a reply

    def say(reply: Reply) -> None:
        replies.write(json.dumps(reply) + "\n")
        replies.flush()

    asyncio.run(answer(sys.stdin, say))


if __name__ == "__main__":
    main()
