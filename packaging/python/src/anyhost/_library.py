"""Finds the shared library and speaks to it: texts, handles, outputs."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import sys
import weakref
from ctypes import byref, c_size_t, c_void_p
from typing import Any, Callable, TypeVar

from ._contract import ABI, FUNCTIONS

_H = TypeVar("_H", bound="Handle")

_NAMES = {"darwin": [f"libanyhost.{ABI}.dylib", "libanyhost.dylib"], "win32": ["anyhost.dll"]}


def _load() -> ctypes.CDLL:
    """What ANYHOST_LIBRARY names; else the file beside this one, as in a wheel; else the system's."""
    names = _NAMES.get(sys.platform, [f"libanyhost.so.{ABI}", "libanyhost.so"])
    folder = os.path.dirname(os.path.abspath(__file__))
    beside = filter(os.path.exists, (os.path.join(folder, name) for name in names))
    named = os.environ.get("ANYHOST_LIBRARY") or next(beside, None)
    try:
        loaded = ctypes.CDLL(named or ctypes.util.find_library("anyhost") or names[0])
        loaded.anyhost_abi.restype = ctypes.c_uint32
        abi = loaded.anyhost_abi()
        if abi == ABI:
            for name, (restype, *argtypes) in FUNCTIONS.items():
                function = getattr(loaded, name)
                function.restype, function.argtypes = restype, argtypes
            return loaded
    except (OSError, AttributeError) as reason:
        raise ImportError(
            f"no libanyhost that fits this package: {reason}; "
            "ANYHOST_LIBRARY may name the file, and a wheel has it inside"
        ) from reason
    raise ImportError(f"libanyhost has ABI {abi}; this package knows {ABI}")


lib: Any = _load()


def text(value: object, what: str) -> bytes:
    """For C. It would read up to a NUL only."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a str, not {type(value).__name__}")
    if "\0" in value:
        raise ValueError(f"{what} has a NUL in it")
    return value.encode()


def optional_text(value: str | None, what: str) -> bytes | None:
    return None if value is None else text(value, what)


def told(value: bytes | None) -> str:
    """A text of the library where there always is one."""
    return (value or b"").decode()


def maybe_told(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


class Handle:
    """A thing of the library's that is ours to free: it goes when nobody here holds it any more.

    So a call that is under way keeps its client, whoever closes that meanwhile, without a lock that a
    fork could leave locked. What belongs to one call is freed by `with`: Python runs code of ours when
    a thing is collected, too, but there it would print and forget a Ctrl-C. `keep` is what has to live as
    long: callbacks, and bytes that were lent.
    """

    __slots__ = ("_as_parameter_", "free", "keep", "__weakref__")

    def __init__(self, free: Callable[[c_void_p], None]) -> None:
        self._as_parameter_ = c_void_p()
        self.free = weakref.finalize(self, free, self._as_parameter_)
        self.free.atexit = False
        self.keep: list[object] = []

    def __bool__(self) -> bool:
        return bool(self._as_parameter_)

    @property
    def out(self) -> Any:
        """For the argument through which the library hands the thing out."""
        return byref(self._as_parameter_)

    def __enter__(self: _H) -> _H:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()


def take_bytes(function: Callable[..., int], handle: object, *more: object) -> bytes:
    """A copy of what a function lends as a pointer and a length; empty where it has none."""
    start, size = c_void_p(), c_size_t()
    function(handle, byref(start), byref(size), *more)
    return ctypes.string_at(start, size.value) if start else b""


def take_text(function: Callable[..., int], *arguments: object) -> str:
    """The text that a function writes to a buffer, whose size it tells first."""
    needed = c_size_t()
    function(*arguments, None, 0, byref(needed))
    buffer = ctypes.create_string_buffer(needed.value)
    function(*arguments, buffer, needed, byref(needed))
    return buffer.value.decode()


def version() -> str:
    """The version of the library."""
    return told(lib.anyhost_version())


def build_info() -> str:
    """One line on the build of the library, for bug reports."""
    return told(lib.anyhost_build_info())
