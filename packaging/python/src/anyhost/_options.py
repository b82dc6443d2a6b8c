"""Options, which are the library's own, by name."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Callable, Union

from ._contract import Status
from ._errors import OptionError, check
from ._library import Handle, lib, text, told

#: Text as "250ms" or "off", a number (of milliseconds, or bytes), a flag, or None for the default.
Option = Union[str, int, bool, timedelta, None]


@dataclass(frozen=True)
class OptionInfo:
    """An option: its default as text, what it means, and whether a request may set it for itself."""

    name: str
    default: str
    help: str
    for_requests: bool


def options() -> tuple[OptionInfo, ...]:
    """Every option of the library, in the order of its manual."""
    return tuple(
        OptionInfo(
            name=told(lib.anyhost_option_name(i)),
            default=told(lib.anyhost_option_default(i)),
            help=told(lib.anyhost_option_help(i)),
            for_requests=bool(lib.anyhost_option_scope(i) & 2),
        )
        for i in range(lib.anyhost_option_count())
    )


def set_option(
    set_text: Callable[..., int], set_int: Callable[..., int], handle: Handle, option: str, value: Any
) -> int:
    """Sets an option with the function that takes its kind of value; the status of that."""
    name = text(option, "an option")
    if isinstance(value, timedelta):
        value = round(value / timedelta(milliseconds=1))
    if isinstance(value, int):  # A flag is one, too.
        if not -(2**63) <= value < 2**63:  # ctypes would cut it without a word.
            raise OverflowError(f"{option}: {value} is no 64-bit number")
        return set_int(handle, name, value)
    return set_text(handle, name, None if value is None else text(value, option))


def check_known(status: int, option: str) -> None:
    """Raises where there is no such option, naming those that look like it."""
    there = [it.name for it in options()] if status == Status.OPTION else [option]
    if option not in there:
        near = difflib.get_close_matches(option, there)
        message = f"there is no option `{option}`" + (f"; near to it: {', '.join(near)}" if near else "")
        raise OptionError(status=Status.OPTION, message=message, option=option)


def check_option(status: int, option: str) -> None:
    """Raises what the status says of an option."""
    check_known(status, option)
    check(status, option)
