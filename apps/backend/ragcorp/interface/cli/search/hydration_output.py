"""Prints the hydration of a turn, of this search or recorded."""

from collections.abc import Sequence

from rich.console import Console

from ragcorp.domain.structure.hydration import Hydration, HydrationUse, HydrationWarning, RecordedTurn
from ragcorp.interface.cli.console.output import print_line


def print_hydration(console: Console, hydration: Hydration) -> None:
    _print_head(console, hydration.episode_id, hydration.turn, hydration.use)
    for hydrated in hydration.entities:
        planned = hydrated.planned
        _print_entity(console, planned.position, planned.entity.key, planned.reasons, planned.tokens, cut=planned.cut)
    for dropped in hydration.dropped:
        _print_dropped(console, dropped.entity.key, dropped.reasons, dropped.tokens)
    _print_warnings(console, hydration.warnings)


def print_turn(console: Console, turn: RecordedTurn) -> None:
    _print_head(console, turn.episode_id, turn.turn, turn.use, turns=turn.turns)
    print_line(console, f"  query: {turn.query}")
    print_line(console, f"  at {turn.created_at.isoformat()}, model {turn.model or 'none'}", style="dim")
    for entity in turn.entities:
        _print_entity(console, entity.position, entity.identity.key, entity.reasons, entity.tokens, cut=entity.cut)
        text = "its document holds it no longer" if entity.content is None else " ".join(entity.content.split())
        print_line(console, f"       {text}", style="dim")
    for entity in turn.dropped:
        _print_dropped(console, entity.identity.key, entity.reasons, entity.tokens)
    _print_warnings(console, turn.warnings)
    if turn.withheld:
        print_line(console, f"  {turn.withheld} withheld: you may not read their documents now", style="yellow")


def _print_head(
    console: Console, episode_id: str, turn: int | None, use: HydrationUse, *, turns: int | None = None
) -> None:
    number = "not recorded" if turn is None else f"turn {turn}" if turns is None else f"turn {turn} of {turns}"
    print_line(
        console,
        f"episode {episode_id}, {number}: {use.entities} of {use.limits.max_entities} entities, "
        f"{use.tokens} of {use.limits.max_tokens} tokens",
        style="bold",
    )


def _print_entity(console: Console, position: int, key: str, reasons: Sequence[str], tokens: int, *, cut: bool) -> None:
    described = f"  {', '.join(reasons)}  {tokens} tokens{', cut' if cut else ''}"
    print_line(console, f"{position:>5}. ", (key, "cyan"), (described, "dim"))


def _print_dropped(console: Console, key: str, reasons: Sequence[str], tokens: int) -> None:
    print_line(console, f"  dropped: {key}  {', '.join(reasons)}  {tokens} tokens", style="yellow")


def _print_warnings(console: Console, warnings: Sequence[HydrationWarning]) -> None:
    for warning in warnings:
        print_line(console, f"  warning: {warning.message}", style="yellow")
