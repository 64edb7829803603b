"""`ragcorp eval`: how well each way of searching does over an evaluation set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragcorp.evaluation.bootstrap import Resampling
from ragcorp.evaluation.perturbation import Variant
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.evaluation.answers import AskOptions, evaluate_answers
from ragcorp.interface.cli.evaluation.retrieval import RetrievalOptions, evaluate_retrieval

Profiles = Annotated[
    list[str] | None,
    typer.Option(
        "--profile",
        metavar="NAME[:KEY=NUMBER,...]",
        help="dense, sparse, hybrid, linear [these four] or code, over a tree also grep, vectors, files [dense, grep, "
        "files]; may be given again. Overrides: k, window, or the weight of a list, as in hybrid:k=20 or "
        "linear:full_text=0.1.",
        show_default=False,
    ),
]
CacheDir = Annotated[
    Path | None,
    typer.Option(
        "--cache-dir", help="Keeps embeddings between evaluations [~/.cache/ragcorp/embeddings].", show_default=False
    ),
]


async def evaluate(
    call: Call,
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="Holds corpus.jsonl or a tree files/, queries.jsonl and qrels.tsv, as BEIR has them.",
            show_default=False,
        ),
    ],
    ask: Annotated[
        bool,
        typer.Option(
            "--ask",
            help="Measure answers instead: DIR holds documents/ and questions.jsonl. Takes --profile [linear], "
            "--every, --language and --cache-dir.",
        ),
    ] = False,
    profile: Profiles = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--compare",
            metavar="A B",
            help="Two profiles, saved runs (FILE.json or FILE.json:RUN) or TREC runs: what B changes, with the queries "
            "that gain and lose most.",
            show_default=False,
        ),
    ] = None,
    every: Annotated[int, typer.Option("--every", metavar="N", help="Take each n-th query only.")] = 1,
    variant: Annotated[
        Variant | None,
        typer.Option(
            "--variant",
            help="Change the queries: accents stripped, a typo each, or the two rarest words dropped.",
            show_default=False,
        ),
    ] = None,
    language: Annotated[
        str | None, typer.Option("--language", help="ISO 639-1 code of the set [DEFAULT_LANGUAGE].")
    ] = None,
    depth: Annotated[int, typer.Option("--depth", min=10, max=1000, help="Passages of a ranking.")] = 100,
    save: Annotated[Path | None, typer.Option("--save", metavar="FILE.json", help="Keep the runs.")] = None,
    trec: Annotated[Path | None, typer.Option("--trec", metavar="DIR", help="Write a TREC run a profile.")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="FILE.svg", help="Draw nDCG@10 by kind.")] = None,
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Estimate fusion weights and distance threshold for the embedding model."),
    ] = False,
    resamples: Annotated[int, typer.Option("--resamples", min=100, help="Draws of the bootstrap.")] = 2000,
    seed: Annotated[int, typer.Option("--seed", help="Of the bootstrap and of the typos.")] = 1,
    chunk_tokens: Annotated[
        int | None,
        typer.Option(
            "--chunk-tokens",
            min=65,
            max=2048,
            help="Longer passages are cut [1024; a tree of files: CHUNK_MAX_TOKENS].",
            show_default=False,
        ),
    ] = None,
    cache_dir: CacheDir = None,
) -> None:
    """Measure retrieval over an evaluation set: nDCG@10, Recall@10, MRR@10, empty sparse lists and latency.

    The set is stored in a workspace of its own, which is removed at the end. Embeddings are kept on disk.
    """
    if ask:
        options = AskOptions(profiles=tuple(profile or ()), every=every, language=language, cache_dir=cache_dir)
        await evaluate_answers(call, folder, options)
        return
    await evaluate_retrieval(
        call,
        folder,
        RetrievalOptions(
            profiles=tuple(profile or ()),
            compare=compare,
            every=every,
            variant=variant,
            depth=depth,
            save=save,
            trec=trec,
            plot=plot,
            calibrate=calibrate,
            resampling=Resampling(resamples=resamples, seed=seed),
            chunk_tokens=chunk_tokens,
            cache_dir=cache_dir,
            language=language,
        ),
    )
