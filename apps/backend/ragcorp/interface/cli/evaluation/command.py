"""`ragcorp eval`: measures ways of searching, or answers, over an evaluation set."""

from pathlib import Path
from typing import Annotated

from typer import Option

from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.options import argument
from ragcorp.interface.cli.evaluation.answers import evaluate_answers
from ragcorp.interface.cli.evaluation.options import EvaluateOptions
from ragcorp.interface.cli.evaluation.retrieval import evaluate_retrieval


async def evaluate(
    call: Call,
    folder: Annotated[
        Path,
        argument(
            metavar="DIR", help="Holds corpus.jsonl or a tree files/, queries.jsonl and qrels.tsv, as BEIR has them."
        ),
    ],
    options: EvaluateOptions,
    ask: Annotated[
        bool,
        Option(
            "--ask",
            help="Measure answers instead: DIR holds documents/ and questions.jsonl. Takes --profile [linear], "
            "--every, --language and --cache-dir.",
        ),
    ] = False,
) -> None:
    """Measure retrieval over an evaluation set: nDCG@10, Recall@10, MRR@10, empty sparse lists and latency.

    The set is stored in a workspace of its own, which is removed at the end. Embeddings are kept on disk.
    """
    await (evaluate_answers if ask else evaluate_retrieval)(call, folder, options)
