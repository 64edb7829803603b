"""The options of `ragcorp eval`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Option

from ragcorp.evaluation.bootstrap import Resampling
from ragcorp.evaluation.perturbation import Variant
from ragcorp.interface.cli.console.options import option


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    """The options of an evaluation; --ask uses ``profile``, ``every``, ``language`` and ``cache_dir`` only."""

    profile: Annotated[
        list[str] | None,
        option(
            "--profile",
            metavar="NAME[:KEY=NUMBER,...]",
            help="dense, sparse, hybrid, linear [these four] or code, over a tree also grep, vectors, files [dense, "
            "grep, files]; may be given again. Overrides: k, window, or the weight of a list, as in hybrid:k=20 or "
            "linear:full_text=0.1.",
        ),
    ] = None
    compare: Annotated[
        tuple[str, str] | None,
        option(
            "--compare",
            metavar="A B",
            help="Two profiles, saved runs (FILE.json or FILE.json:RUN) or TREC runs: what B changes, with the queries "
            "that gain and lose most.",
        ),
    ] = None
    every: Annotated[int, Option("--every", metavar="N", help="Take each n-th query only.")] = 1
    variant: Annotated[
        Variant | None,
        option("--variant", help="Change the queries: accents stripped, a typo each, or the two rarest words dropped."),
    ] = None
    language: Annotated[str | None, Option("--language", help="ISO 639-1 code of the set [DEFAULT_LANGUAGE].")] = None
    depth: Annotated[int, Option("--depth", min=10, max=1000, help="Passages of a ranking.")] = 100
    save: Annotated[Path | None, Option("--save", metavar="FILE.json", help="Keep the runs.")] = None
    trec: Annotated[Path | None, Option("--trec", metavar="DIR", help="Write a TREC run a profile.")] = None
    plot: Annotated[Path | None, Option("--plot", metavar="FILE.svg", help="Draw nDCG@10 by kind.")] = None
    calibrate: Annotated[
        bool, Option("--calibrate", help="Estimate fusion weights and distance threshold for the embedding model.")
    ] = False
    resamples: Annotated[int, Option("--resamples", min=100, help="Draws of the bootstrap.")] = 2000
    seed: Annotated[int, Option("--seed", help="Of the bootstrap and of the typos.")] = 1
    chunk_tokens: Annotated[
        int | None,
        option(
            "--chunk-tokens",
            min=65,
            max=2048,
            help="Longer passages are cut [1024; a tree of files: CHUNK_MAX_TOKENS].",
        ),
    ] = None
    cache_dir: Annotated[
        Path | None, option("--cache-dir", help="Keeps embeddings between evaluations [~/.cache/ragcorp/embeddings].")
    ] = None

    @property
    def profiles(self) -> tuple[str, ...]:
        return tuple(self.profile or ())

    @property
    def resampling(self) -> Resampling:
        return Resampling(resamples=self.resamples, seed=self.seed)
