"""`ragcorp language`."""

from typing import Annotated

from typer import Option

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.options import argument


async def language(
    call: Call,
    code: Annotated[str | None, argument(help="Language code, as es, en or pt.")] = None,
    unset: Annotated[bool, Option("--unset", help="Go back to DEFAULT_LANGUAGE.")] = False,
) -> None:
    """Show or choose the language in which queries are read first; the documents' languages follow it."""
    if code is not None and unset:
        raise InvalidInputError("Give a code or --unset, not both.", field="CODE", remedy="Leave one of them out.")
    async with call.open() as session:
        choose = session.use_cases.language
        if code is None and not unset:
            languages = await choose.current(principal=session.principal)
        else:
            languages = await choose.choose(code, principal=session.principal)
    call.output.line({"languages": list(languages)}, ", ".join(languages))
