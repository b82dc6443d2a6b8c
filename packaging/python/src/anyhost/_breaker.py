"""A circuit breaker by itself, for dependencies that are not HTTP."""

from __future__ import annotations

from ctypes import byref, c_int32, c_uint64
from datetime import timedelta

from ._errors import check
from ._library import Handle, lib, text


class Breaker:
    """Keeps attempts away from what is down, for each key by itself. Any thread may use it.

    `threshold` failures in a row open the circuit of a key. It stays open for `base_delay`, doubled with
    each further failure, up to `max_delay`; None is the library's default for each.
    """

    def __init__(
        self,
        threshold: int | None = None,
        base_delay: timedelta | None = None,
        max_delay: timedelta | None = None,
    ) -> None:
        self._handle = Handle(lib.anyhost_breaker_free)
        numbers = threshold or 0, _milliseconds(base_delay), _milliseconds(max_delay)
        check(lib.anyhost_breaker_new(*numbers, self._handle.out))

    def allow(self, key: str) -> float:
        """0.0 if an attempt may be made now, else for how many seconds none may, at least.

        Of an open circuit one attempt in each window may be made. Report the outcome of every attempt.
        """
        allowed, wait = c_int32(), c_uint64()
        check(lib.anyhost_breaker_allow(self._handle, text(key, "key"), byref(allowed), byref(wait)))
        # A wait below a millisecond is still one.
        return 0.0 if allowed.value else max(wait.value, 1) / 1e3

    def record_failure(self, key: str) -> float:
        """Counts a failure; for how many seconds to stay away from it."""
        backoff = c_uint64()
        check(lib.anyhost_breaker_record_failure(self._handle, text(key, "key"), byref(backoff)))
        return backoff.value / 1e3

    def record_success(self, key: str) -> None:
        """Counts a success: the circuit of the key is closed, and its failures are forgotten."""
        check(lib.anyhost_breaker_record_success(self._handle, text(key, "key")))


def _milliseconds(delay: timedelta | None) -> int:
    return 0 if delay is None else round(delay / timedelta(milliseconds=1))
