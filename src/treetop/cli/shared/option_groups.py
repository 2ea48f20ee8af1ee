"""Groups of options that several commands have: spelt once, and handed to a command as one value."""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

Options = Mapping[str, tuple[Any, Any]]
"""For the name of each parameter, its annotation and its default."""


def gathers(
    parameter: str, options: Options, make: Callable[[dict[str, Any]], Any] = dict
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these options in the place of one parameter, which is then what is made of them."""

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def called(**given: Any) -> None:
            gathered = {name: given.pop(name) for name in options}
            command(**given, **{parameter: make(gathered)})

        shown: list[inspect.Parameter] = []
        for name, own in inspect.signature(command, eval_str=True).parameters.items():
            if name != parameter:
                shown.append(own.replace(kind=inspect.Parameter.KEYWORD_ONLY))
                continue
            shown += [
                inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
                for each, (annotation, default) in options.items()
            ]
        called.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        return called

    return with_options
