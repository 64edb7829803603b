"""Background work of a service: vectors, text recognition, entities and purging."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from ragcorp.application.documents.recognize import RecognitionWorker
from ragcorp.application.embedding.embed_pending import EmbeddingWorker
from ragcorp.application.structure.refresh import StructureWorker
from ragcorp.main.wiring.container import Container

logger = logging.getLogger(__name__)

CANCEL_AGAIN_SECONDS = 0.5


@asynccontextmanager
async def run_background(container: Container) -> AsyncIterator[EmbeddingWorker]:
    """Yield the worker that makes vectors; all background work runs until the end of the block."""
    worker = EmbeddingWorker(embed_pending=container.use_cases.embed_pending)
    tasks = []
    if container.embedder.model.dimensions > 0:
        tasks.append(asyncio.create_task(worker.run(), name="embedding worker"))
    recognition = RecognitionWorker(recognition=container.use_cases.recognize)
    tasks.append(asyncio.create_task(recognition.run(), name="text recognition worker"))
    structure = StructureWorker(refresh=container.use_cases.refresh_structure)
    tasks.append(asyncio.create_task(structure.run(), name="structure worker"))
    tasks += [
        asyncio.create_task(purge.run(), name=f"purge worker of {purge.what}") for purge in container.purge_workers
    ]
    for task in tasks:
        task.add_done_callback(_log_death)
    try:
        yield worker
    finally:
        await _ended(tasks)


async def _ended(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel repeatedly: before Python 3.12 ``wait_for``, which the pool uses, may swallow a cancellation."""
    running = set(tasks)
    while running:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=CANCEL_AGAIN_SECONDS)


def _log_death(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.critical("the %s died: its work waits for a restart", task.get_name(), exc_info=error)
