"""Which entities and facts a principal may read, as SQL predicates."""

from __future__ import annotations

from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.visibility.predicates import Predicate, visibility


def readable_facts(principal: Principal, *, alias: str = "f") -> Predicate:
    """A fact by its own columns, by both its entities' and by its document's; an extracted one while its chunk stands.

    Entities that were never declared carry the columns that everyone passes, so here they say nothing.
    """
    own = visibility(principal, alias=alias)
    # scalar subqueries: of EXISTS under OR the planner may make a hash of the whole other table
    document = visibility(principal, alias="behind").sql
    ends = [
        f"(SELECT {visibility(principal, alias=end).sql} FROM entities {end} WHERE {end}.id = {alias}.{end}_id)"
        for end in ("subject", "object")
    ]
    return Predicate(
        clauses=[
            *own.clauses,
            f"NOT ({alias}.extracted AND {alias}.chunk_id IS NULL)",
            (
                f"({alias}.document_id IS NULL OR (SELECT behind.deleted_at IS NULL AND {document}"
                f" FROM documents behind WHERE behind.id = {alias}.document_id))"
            ),
            *ends,
        ],
        values=own.values,
    )


def readable_entities(principal: Principal, *, alias: str = "e") -> Predicate:
    """A declared entity by its own columns; one that only facts name, through a readable fact."""
    own = visibility(principal, alias=alias)
    # the order is that of an index: the first readable fact ends the look, however many there are
    facts = readable_facts(principal, alias="naming").sql
    named = [
        f"(SELECT true FROM facts naming WHERE naming.{end}_id = {alias}.id AND {facts}"
        f" ORDER BY naming.weight DESC, naming.id DESC LIMIT 1)"
        for end in ("subject", "object")
    ]
    return Predicate(clauses=[*own.clauses, f"({alias}.declared OR {' OR '.join(named)})"], values=own.values)
