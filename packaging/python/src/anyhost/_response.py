"""The answer to a call."""

from __future__ import annotations

import json
from ctypes import byref, c_char_p, c_size_t
from dataclasses import dataclass
from typing import Any, Iterable, Iterator, Mapping

from ._attempt import Attempt
from ._library import lib, take_bytes, told


class Headers(Mapping[str, str]):
    """Headers in order of arrival, found in any case; of several of one name the first.

    Bytes above 0x7F have no agreed meaning (RFC 9110, 5.5). They come as Latin-1, which loses none:
    `value.encode("latin-1")` are the bytes.
    """

    def __init__(self, fields: Iterable[tuple[str, str]]) -> None:
        self.fields = tuple(fields)

    def all(self, name: str) -> list[str]:
        """The values of every header of this name."""
        return [value for key, value in self.fields if key == name.lower()]

    def __getitem__(self, name: str) -> str:
        for value in self.all(name):
            return value
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self.fields))

    def __len__(self) -> int:
        return len(dict(self.fields))

    def __repr__(self) -> str:
        return f"Headers({self.fields!r})"

    @classmethod
    def read(cls, handle: Any) -> Headers:
        """Copies those of an answer of the library's."""
        name, value, size = c_char_p(), c_char_p(), c_size_t()

        def at(i: int) -> tuple[str, str]:
            lib.anyhost_response_header_at(handle, i, byref(name), byref(value), byref(size))
            return told(name.value), (value.value or b"").decode("latin-1")

        return cls(at(i) for i in range(lib.anyhost_response_header_count(handle)))


@dataclass(frozen=True, repr=False)
class Head:
    """An answer without its body. Any status of HTTP is an answer, unless an option says no.

    `endpoint` is the label of the endpoint that answered. `content_length` is None where it is not
    known. Times are seconds: how long it took, and how long the service wants to be left alone.
    """

    status: int
    headers: Headers
    content_length: int | None
    url: str
    endpoint: str
    elapsed: float
    retry_after: float
    attempts: tuple[Attempt, ...]

    def __repr__(self) -> str:
        """On one line, and without what may be long or secret: the URL, the headers, the body."""
        count = len(self.attempts)
        attempts = "1 attempt" if count == 1 else f"{count} attempts"
        return f"<{type(self).__name__} {self.status} of {self.endpoint}, {attempts}{self._more()}>"

    def _more(self) -> str:
        return ""

    @classmethod
    def facts(cls, handle: Any) -> dict[str, Any]:
        length = lib.anyhost_response_content_length(handle)
        return {
            "status": lib.anyhost_response_status(handle),
            "headers": Headers.read(handle),
            "content_length": None if length < 0 else length,
            "url": told(lib.anyhost_response_url(handle)),
            "endpoint": told(lib.anyhost_response_endpoint(handle)),
            "elapsed": lib.anyhost_response_elapsed_us(handle) / 1e6,
            "retry_after": lib.anyhost_response_retry_after_ms(handle) / 1e3,
            "attempts": Attempt.read_all(
                lib.anyhost_response_attempt_count, lib.anyhost_response_attempt, handle
            ),
        }


@dataclass(frozen=True, repr=False)
class Response(Head):
    """An answer, whole. It is a copy: there is nothing to close."""

    body: bytes

    def _more(self) -> str:
        return f", {len(self.body)} bytes"

    @property
    def text(self) -> str:
        """The body as UTF-8; what is none becomes U+FFFD."""
        return self.body.decode(errors="replace")

    def json(self) -> Any:
        """The body as what its JSON says."""
        return json.loads(self.body)

    @classmethod
    def read(cls, handle: Any) -> Response:
        """Copies one of the library's. A judge of a stream sees it before its body: that is empty."""
        return cls(**cls.facts(handle), body=take_bytes(lib.anyhost_response_body, handle, None))
