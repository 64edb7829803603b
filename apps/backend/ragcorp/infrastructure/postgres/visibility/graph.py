"""Which entities and facts a principal may read, as SQL predicates."""

from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.visibility.predicates import Predicate, visibility


def readable_facts(principal: Principal, *, alias: str = "f") -> Predicate:
    """Return the condition on the columns of the fact, its entities and its document; extracted facts need a chunk."""
    own = visibility(principal, alias=alias)
    # scalar subqueries: the planner may hash the whole other table for EXISTS under OR
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
    """Return the condition: a declared entity by its own columns, an undeclared one through a readable fact."""
    own = visibility(principal, alias=alias)
    # in the order of an index: the scan stops at the first readable fact
    facts = readable_facts(principal, alias="naming").sql
    named = [
        f"(SELECT true FROM facts naming WHERE naming.{end}_id = {alias}.id AND {facts}"
        f" ORDER BY naming.weight DESC, naming.id DESC LIMIT 1)"
        for end in ("subject", "object")
    ]
    return Predicate(clauses=[*own.clauses, f"({alias}.declared OR {' OR '.join(named)})"], values=own.values)
