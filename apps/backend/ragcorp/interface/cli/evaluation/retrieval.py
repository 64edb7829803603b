"""Measures retrieval for `ragcorp eval`: makes, reads and writes runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ragcorp.application.evaluation.profile import STANDARD, STANDARD_OF_TREES, EvaluatedProfile, parse_profile
from ragcorp.domain.exceptions import ConfigurationError, InvalidInputError
from ragcorp.domain.search.requests import SearchMode
from ragcorp.evaluation.bootstrap import Resampling
from ragcorp.evaluation.calibration import Calibration
from ragcorp.evaluation.comparison import compare
from ragcorp.evaluation.perturbation import Variant, varied
from ragcorp.evaluation.report import Measured, report
from ragcorp.evaluation.runs import Run
from ragcorp.evaluation.sets import EvaluationSet
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.progress import Report, progress
from ragcorp.interface.cli.console.services import Evaluation, EvaluationFiles, EvaluationOptions
from ragcorp.interface.cli.evaluation.answers import AskOptions
from ragcorp.interface.cli.evaluation.output import Evaluated, evaluation_document, print_evaluation

WHOLE_PASSAGES = 1024
"""Tokens up to which the passages of a set are kept whole. Files are cut as in the service."""


@dataclass(frozen=True, kw_only=True)
class RetrievalOptions(AskOptions):
    """The options of `ragcorp eval`."""

    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--compare",
            metavar="A B",
            help="Two profiles, saved runs (FILE.json or FILE.json:RUN) or TREC runs: what B changes, with the queries "
            "that gain and lose most.",
            show_default=False,
        ),
    ] = None
    variant: Annotated[
        Variant | None,
        typer.Option(
            "--variant",
            help="Change the queries: accents stripped, a typo each, or the two rarest words dropped.",
            show_default=False,
        ),
    ] = None
    depth: Annotated[int, typer.Option("--depth", min=10, max=1000, help="Passages of a ranking.")] = 100
    save: Annotated[Path | None, typer.Option("--save", metavar="FILE.json", help="Keep the runs.")] = None
    trec: Annotated[Path | None, typer.Option("--trec", metavar="DIR", help="Write a TREC run a profile.")] = None
    plot: Annotated[Path | None, typer.Option("--plot", metavar="FILE.svg", help="Draw nDCG@10 by kind.")] = None
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Estimate fusion weights and distance threshold for the embedding model."),
    ] = False
    resamples: Annotated[int, typer.Option("--resamples", min=100, help="Draws of the bootstrap.")] = 2000
    seed: Annotated[int, typer.Option("--seed", help="Of the bootstrap and of the typos.")] = 1
    chunk_tokens: Annotated[
        int | None,
        typer.Option(
            "--chunk-tokens",
            min=65,
            max=2048,
            help="Longer passages are cut [1024; a tree of files: CHUNK_MAX_TOKENS].",
            show_default=False,
        ),
    ] = None

    @property
    def resampling(self) -> Resampling:
        return Resampling(resamples=self.resamples, seed=self.seed)


async def evaluate_retrieval(call: Call, folder: Path, options: RetrievalOptions) -> None:
    """Run the evaluation and write the result. Wrong input fails before anything is ingested.

    Raises InvalidInputError, NotFoundError, MissingExtraError or ConfigurationError.
    """
    files = call.services.evaluation_files()
    evaluation_set = files.read_set(folder).every(options.every)
    if options.variant is not None:
        evaluation_set = varied(evaluation_set, options.variant, seed=options.seed)
    saved = _saved_runs(options.compare or (), files, evaluation_set)
    profiles = _profiles(options, saved, evaluation_set)
    plotter = files.plotter() if options.plot else None
    for path in (options.save, options.plot, options.trec and options.trec / "run.trec"):
        if path is not None:
            files.require_writable(path)

    measured: list[Measured] = []
    calibration: Calibration | None = None
    if profiles or options.calibrate:
        async with call.services.evaluation(call.target, _opening(options, evaluation_set)) as opened:
            showing = partial(_showing, call)
            await opened.load.load(
                evaluation_set,
                principal=opened.session.principal,
                language=opened.session.default_language,
                progress=showing,
            )
            await opened.settle.settle(principal=opened.session.principal, progress=showing)
            measured += await opened.retrieve.evaluate(
                evaluation_set,
                _possible(profiles, opened, call, chosen=bool(options.profile or options.compare)),
                principal=opened.session.principal,
                depth=options.depth,
                progress=showing,
            )
            if options.calibrate:
                calibration = await opened.calibrate.calibrate(
                    evaluation_set, principal=opened.session.principal, progress=showing
                )
    measured += [Measured(run=run) for run in saved.values()]
    runs = {result.run.name: result for result in measured}
    if options.compare is not None:
        first, second = options.compare
        rest = [name for name in runs if name not in options.compare]
        runs = {name: runs[name] for name in (first, second, *rest)}
    found = Evaluated(
        evaluation_set=evaluation_set,
        reports=report(evaluation_set, list(runs.values()), resampling=options.resampling),
        comparison=(
            compare(
                evaluation_set,
                runs[options.compare[0]].run,
                runs[options.compare[1]].run,
                resampling=options.resampling,
            )
            if options.compare
            else None
        ),
        calibration=calibration,
    )
    made = [result.run for result in measured if result.run.name not in saved]
    if options.save:
        files.save_runs(options.save, made, evaluation_set.name)
    if options.trec:
        files.write_trec(options.trec, made)
    if options.plot and plotter:
        plotter(options.plot, evaluation_set.name, found.reports)
    conditions = {
        "every": options.every,
        "variant": options.variant,
        "depth": options.depth,
        "resamples": options.resamples,
        "seed": options.seed,
    }
    call.output.result(evaluation_document(found, conditions), lambda console: print_evaluation(console, found))


def _opening(options: RetrievalOptions, evaluation_set: EvaluationSet) -> EvaluationOptions:
    default = WHOLE_PASSAGES if evaluation_set.tree is None else None
    return EvaluationOptions(
        tree=None if evaluation_set.tree is None else Path(evaluation_set.tree),
        cache_dir=options.cache_dir,
        language=options.language,
        chunk_tokens=options.chunk_tokens or default,
    )


def _showing(call: Call, task: str, unit: str) -> AbstractContextManager[Report]:
    return progress(call.output.notes, task, unit=unit)


def _saved_runs(names: Sequence[str], files: EvaluationFiles, evaluation_set: EvaluationSet) -> dict[str, Run]:
    """Return those of ``names`` that are files, by the name as it was given. Raises InvalidInputError."""
    found: dict[str, Run] = {}
    for name in names:
        file, _, chosen = name.rpartition(":")
        if Path(name).is_file():
            run = files.read_run(Path(name), None)
        elif file and Path(file).is_file():
            run = files.read_run(Path(file), chosen)
        else:
            continue
        if not run.rankings.keys() & {query.id for query in evaluation_set.queries}:
            raise InvalidInputError(
                "The saved run ranks none of the set's queries.",
                field="--compare",
                remedy="Name the folder of the set that the run was made on.",
            )
        found[name] = Run(name=name, rankings=run.rankings)
    return found


def _profiles(
    options: RetrievalOptions, saved: dict[str, Run], evaluation_set: EvaluationSet
) -> list[EvaluatedProfile]:
    """Return the profiles to run: those of a comparison and of --profile, else the standard ones.

    Raises InvalidInputError, also for a profile that searches files where the set is no tree.
    """
    named = [*(name for name in options.compare or () if name not in saved), *(options.profile or ())]
    if not named and options.compare is None and not options.calibrate:
        named = list(STANDARD if evaluation_set.tree is None else STANDARD_OF_TREES)
    if options.compare is not None and options.compare[0] == options.compare[1]:
        raise InvalidInputError("A comparison needs two different runs.", field="--compare")
    profiles = [parse_profile(name) for name in dict.fromkeys(named)]
    if evaluation_set.tree is None and any(profile.searches_files for profile in profiles):
        raise InvalidInputError(
            "The set holds no tree of files to be searched.",
            field="--profile",
            remedy="Name a set with the folder files/, or another profile.",
        )
    return profiles


def _possible(
    profiles: Sequence[EvaluatedProfile], opened: Evaluation, call: Call, *, chosen: bool
) -> Sequence[EvaluatedProfile]:
    """Return the profiles that can be run: without a model, not the dense one."""
    if opened.session.makes_vectors:
        return profiles
    if chosen and any(profile.mode is SearchMode.DENSE for profile in profiles):
        raise ConfigurationError(
            "The dense profile needs an embedding model.",
            field="EMBEDDING_PROVIDER",
            remedy="Set EMBEDDING_PROVIDER to local or openai, or leave the profile out.",
        )
    call.output.note(
        "No embedding model is configured (EMBEDDING_PROVIDER=none): text alone is searched.", style="yellow"
    )
    return [profile for profile in profiles if profile.mode is not SearchMode.DENSE]
