"""The base of the numbers that the library answers with."""

from __future__ import annotations

from enum import IntEnum
from typing import TypeVar

_N = TypeVar("_N", bound="Number")


class Number(IntEnum):
    """A number that has a name. A later library may know more of them: those are `UNKNOWN_<number>`."""

    def __str__(self) -> str:
        return self.name.lower()

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    @classmethod
    def _missing_(cls: type[_N], value: object) -> _N | None:
        if not isinstance(value, int):
            return None
        number = int.__new__(cls, value)
        number._name_ = f"UNKNOWN_{value}"
        number._value_ = value
        return number
