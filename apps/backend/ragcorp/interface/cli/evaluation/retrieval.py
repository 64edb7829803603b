"""`ragcorp eval`: makes, reads and writes runs of retrieval."""

from collections.abc import Sequence
from pathlib import Path

from ragcorp.application.evaluation.profile import STANDARD, STANDARD_OF_TREES, EvaluatedProfile, parse_profile
from ragcorp.domain.exceptions import ConfigurationError, InvalidInputError
from ragcorp.domain.search.requests import SearchMode
from ragcorp.evaluation.calibration import Calibration
from ragcorp.evaluation.comparison import Comparison, compare
from ragcorp.evaluation.perturbation import varied
from ragcorp.evaluation.report import Measured, report
from ragcorp.evaluation.runs import Run
from ragcorp.evaluation.sets import EvaluationSet
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.services import Evaluation, EvaluationFiles, EvaluationOptions
from ragcorp.interface.cli.evaluation.options import EvaluateOptions
from ragcorp.interface.cli.evaluation.output import Evaluated, evaluation_document, print_evaluation

WHOLE_PASSAGES = 1024
"""Passages of a set up to this many tokens are not cut. Files are cut as in the service."""


async def evaluate_retrieval(call: Call, folder: Path, options: EvaluateOptions) -> None:
    """Run the evaluation and write the result. Wrong input is refused before anything is ingested.

    Raises InvalidInputError, NotFoundError, MissingExtraError or ConfigurationError.
    """
    files = call.services.evaluation_files()
    evaluation_set = files.read_set(folder).every(options.every)
    if options.variant is not None:
        evaluation_set = varied(evaluation_set, options.variant, seed=options.resampling.seed)
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
            await opened.load.load(
                evaluation_set,
                principal=opened.session.principal,
                language=opened.session.use_cases.default_language,
                progress=call.progress,
            )
            await opened.settle.settle(principal=opened.session.principal, progress=call.progress)
            measured += await opened.retrieve.evaluate(
                evaluation_set,
                _possible(profiles, opened, call, chosen=bool(options.profiles or options.compare)),
                principal=opened.session.principal,
                depth=options.depth,
                progress=call.progress,
            )
            if options.calibrate:
                calibration = await opened.calibrate.calibrate(
                    evaluation_set, principal=opened.session.principal, progress=call.progress
                )
    measured += [Measured(run=run) for run in saved.values()]
    runs = {result.run.name: result for result in measured}
    comparison: Comparison | None = None
    if options.compare is not None:
        first, second = options.compare
        rest = [name for name in runs if name not in options.compare]
        runs = {name: runs[name] for name in (first, second, *rest)}
        comparison = compare(evaluation_set, runs[first].run, runs[second].run, resampling=options.resampling)
    evaluated = Evaluated(
        evaluation_set=evaluation_set,
        reports=report(evaluation_set, list(runs.values()), resampling=options.resampling),
        comparison=comparison,
        calibration=calibration,
    )
    new_runs = [result.run for result in measured if result.run.name not in saved]
    if options.save:
        files.save_runs(options.save, new_runs, evaluation_set.name)
    if options.trec:
        files.write_trec(options.trec, new_runs)
    if options.plot and plotter:
        plotter(options.plot, evaluation_set.name, evaluated.reports)
    conditions = {
        "every": options.every,
        "variant": options.variant,
        "depth": options.depth,
        "resamples": options.resampling.resamples,
        "seed": options.resampling.seed,
    }
    call.output.result(evaluation_document(evaluated, conditions), lambda console: print_evaluation(console, evaluated))


def _opening(options: EvaluateOptions, evaluation_set: EvaluationSet) -> EvaluationOptions:
    default = WHOLE_PASSAGES if evaluation_set.tree is None else None
    return EvaluationOptions(
        tree=None if evaluation_set.tree is None else Path(evaluation_set.tree),
        cache_dir=options.cache_dir,
        language=options.language,
        chunk_tokens=options.chunk_tokens or default,
    )


def _saved_runs(names: Sequence[str], files: EvaluationFiles, evaluation_set: EvaluationSet) -> dict[str, Run]:
    """Return the runs of those ``names`` that are files, by that name. Raises InvalidInputError."""
    runs: dict[str, Run] = {}
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
        runs[name] = Run(name=name, rankings=run.rankings)
    return runs


def _profiles(options: EvaluateOptions, saved: dict[str, Run], evaluation_set: EvaluationSet) -> list[EvaluatedProfile]:
    """Return the profiles to run: those of the comparison and of the options, else the standard ones.

    Raises InvalidInputError, also for a profile that searches files where the set is no tree.
    """
    named = [*(name for name in options.compare or () if name not in saved), *options.profiles]
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
    """Return the profiles that can run: without a model, not the dense one."""
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
