"""anyhost from Python: one call, any host that can answer, and no write sent twice.

Speaks to libanyhost by ctypes, so there is nothing to compile. The library is the file named by the
environment variable ANYHOST_LIBRARY, or the one beside this file, or the system's. Python 3.8 or later.

    from anyhost import Client, Error

    with Client("https://api.example.com, https://fallback.example.com", deadline="4s") as client:
        try:
            answer = client.post("/orders", b"one coffee", headers={"Content-Type": "text/plain"})
        except Error as error:
            print(error, error.delivery)  # "not_sent": nobody has it, so it may be sent again
        else:
            print(answer.status, answer.text, *answer.attempts, sep="\\n")

Options are those of the library, by name: text ("250ms", "off"), a number (of milliseconds, or bytes),
a flag, a timedelta, or None for the default. Times that come out are seconds. Answers and errors are
copies: nothing but the client has to be closed.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import sys
import threading
from ctypes import byref, c_char_p, c_size_t, c_void_p
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Callable, Iterable, Iterator, Mapping

__all__ = ["Answer", "Attempt", "Client", "Error", "Event", "Headers", "version"]

_ABI = 0
_OnEvent = ctypes.CFUNCTYPE(None, c_void_p, c_void_p)
_TYPES = {
    "-": None, "h": c_void_p, "H": ctypes.POINTER(c_void_p), "t": c_char_p,
    "T": ctypes.POINTER(c_char_p), "n": c_size_t, "N": ctypes.POINTER(c_size_t), "e": _OnEvent,
    "i": ctypes.c_int32, "u": ctypes.c_uint32, "l": ctypes.c_int64, "q": ctypes.c_uint64,
}
# What a function returns and takes, by the letters above, and which functions those are.
_FUNCTIONS = """
    u    abi
    t    version
    iH   builder_new
    ihtt builder_set request_set request_add_header
    ihtl builder_set_int request_set_int
    ihtti builder_add_header
    ihtn builder_add_root_pem request_set_body
    ihehh builder_on_event
    ihHH builder_build
    ittHH request_new
    ihhHH client_send
    ihHNH response_body
    ihHN error_body
    ihnTTN response_header_at
    hhn  response_attempt error_attempt
    hh   event_attempt
    nh   response_header_count response_attempt_count error_attempt_count
    ih   response_status error_status error_reason error_phase error_delivery error_http_status
         attempt_phase attempt_reason attempt_delivery attempt_http_status attempt_os_error
         attempt_reused_connection event_kind
    uh   attempt_number
    qh   response_elapsed_us response_retry_after_ms error_retry_after_ms attempt_retry_after_ms
         attempt_started_us attempt_elapsed_us attempt_bytes_sent attempt_bytes_received
         event_call_id event_wait_ms
    th   response_url response_endpoint error_message error_option event_endpoint
         attempt_endpoint attempt_proxy attempt_message
    ti   status_name status_text phase_name reason_name delivery_name event_name
    -h   builder_free client_free request_free response_free error_free
"""


def _load() -> ctypes.CDLL:
    names = [f"libanyhost.so.{_ABI}", "libanyhost.so"]
    names = {"darwin": ["libanyhost.dylib"], "win32": ["anyhost.dll"]}.get(sys.platform, names)
    folder = os.path.dirname(os.path.abspath(__file__))
    beside = filter(os.path.exists, (os.path.join(folder, name) for name in names))
    named = os.environ.get("ANYHOST_LIBRARY")
    library = ctypes.CDLL(
        named or next(beside, None) or ctypes.util.find_library("anyhost") or names[0]
    )
    letters = ""
    for word in _FUNCTIONS.split():
        if "_" in word or word in ("abi", "version"):
            function = getattr(library, "anyhost_" + word)
            function.restype, *function.argtypes = (_TYPES[letter] for letter in letters)
        else:
            letters = word
    if library.anyhost_abi() != _ABI:
        raise ImportError(f"libanyhost has ABI {library.anyhost_abi()}; this module knows {_ABI}")
    return library


_library = _load()


def _call(function: str, *arguments: Any) -> Any:
    result = getattr(_library, "anyhost_" + function)(*arguments)
    return result.decode() if isinstance(result, bytes) else result


def _text(value: Any, what: str) -> bytes:
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a str, not {type(value).__name__}")
    if "\0" in value:  # C would read up to it.
        raise ValueError(f"{what} has a NUL in it")
    return value.encode()


def version() -> str:
    """The version of the library."""
    return _call("version")


@dataclass(frozen=True)
class Attempt:
    """One attempt of a call: where it went, how far it got, and whether the request arrived."""

    number: int
    endpoint: str
    proxy: str | None
    phase: str
    reason: str
    delivery: str
    http_status: int
    reused_connection: bool
    os_error: int
    retry_after: float
    started: float
    elapsed: float
    bytes_sent: int
    bytes_received: int
    message: str

    def __str__(self) -> str:
        ended = self.http_status or f"{self.reason} at {self.phase}"
        return f"{self.number}. {self.endpoint}: {ended} ({self.delivery}), {self.elapsed * 1e3:.0f} ms"

    @classmethod
    def _read(cls, handle: int) -> Attempt:
        def of(field: str) -> Any:
            return _call("attempt_" + field, handle)

        return cls(
            of("number"), of("endpoint"), of("proxy"), _call("phase_name", of("phase")),
            _call("reason_name", of("reason")), _call("delivery_name", of("delivery")),
            of("http_status"), bool(of("reused_connection")), of("os_error"),
            of("retry_after_ms") / 1e3, of("started_us") / 1e6, of("elapsed_us") / 1e6,
            of("bytes_sent"), of("bytes_received"), of("message"),
        )

    @classmethod
    def _all(cls, owner: str, handle: c_void_p) -> list[Attempt]:
        count = _call(owner + "_attempt_count", handle)
        return [cls._read(_call(owner + "_attempt", handle, i)) for i in range(count)]


class Headers(Mapping):
    """Headers in order of arrival, found in any case; of several of one name the first."""

    def __init__(self, fields: Iterable[tuple[str, str]]) -> None:
        self.fields = list(fields)

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


@dataclass(frozen=True)
class Answer:
    """The answer to a call; any status of HTTP is one, unless the option require_success says no."""

    status: int
    headers: Headers
    body: bytes
    url: str
    endpoint: str
    elapsed: float
    retry_after: float
    attempts: list[Attempt]

    @property
    def text(self) -> str:
        """The body as UTF-8; what is none becomes U+FFFD."""
        return self.body.decode(errors="replace")

    @classmethod
    def _read(cls, handle: c_void_p) -> Answer:
        def header(i: int) -> tuple[str, str]:
            name, value, size = c_char_p(), c_char_p(), c_size_t()
            _call("response_header_at", handle, i, byref(name), byref(value), byref(size))
            # Bytes above 0x7F have no agreed meaning (RFC 9110, 5.5); this one loses none.
            return (name.value or b"").decode(), (value.value or b"").decode("latin-1")

        def of(field: str) -> Any:
            return _call("response_" + field, handle)

        body, size = c_void_p(), c_size_t()
        _call("response_body", handle, byref(body), byref(size), None)
        return cls(
            of("status"), Headers(header(i) for i in range(of("header_count"))),
            ctypes.string_at(body, size.value), of("url"), of("endpoint"), of("elapsed_us") / 1e6,
            of("retry_after_ms") / 1e3, Attempt._all("response", handle),
        )


class Error(Exception):
    """A call that ended without an answer, or a setting that is wrong.

    `status` is a name as "ATTEMPTS_SPENT". `delivery` is the most certain word on whether a server has
    the request: "not_sent", "not_processed", "maybe", "answered". `body` is what the answer said that
    was turned down.
    """

    def __init__(self, status: int, option: str | None = None, handle: c_void_p | None = None) -> None:
        def of(field: str) -> Any:
            return _call("error_" + field, handle)

        body, size = c_void_p(), c_size_t()
        _call("error_body", handle, byref(body), byref(size))
        self.status: str = _call("status_name", status)
        self.option: str | None = of("option") or option
        told = of("message") or ": ".join(filter(None, [option, _call("status_text", status)]))
        self.message: str = told
        self.reason: str = _call("reason_name", of("reason"))
        self.phase: str = _call("phase_name", of("phase"))
        self.delivery: str = _call("delivery_name", of("delivery"))
        self.http_status: int = of("http_status")
        self.retry_after: float = of("retry_after_ms") / 1e3
        self.attempts = Attempt._all("error", handle)
        self.body = ctypes.string_at(body, size.value) if body else b""
        super().__init__(f"{self.status}: {self.message}")


@dataclass(frozen=True)
class Event:
    """Something that happened in a client: its kind is a name as "failover"."""

    kind: str
    call_id: int
    endpoint: str | None
    attempt: Attempt | None
    wait: float

    @classmethod
    def _read(cls, handle: int) -> Event:
        attempt = _call("event_attempt", handle)
        return cls(
            _call("event_name", _call("event_kind", handle)), _call("event_call_id", handle),
            _call("event_endpoint", handle), Attempt._read(attempt) if attempt else None,
            _call("event_wait_ms", handle) / 1e3,
        )


def _check(status: int, option: str | None = None) -> None:
    if status:
        raise Error(status, option)


def _make(function: str, *arguments: Any) -> c_void_p:
    """Calls a function that hands out a handle, and raises its error."""
    out, err = c_void_p(), c_void_p()
    status = _call(function, *arguments, byref(out), byref(err))
    try:
        if status:
            raise Error(status, None, err)
        return out
    finally:
        _call("error_free", err)


def _set(kind: str, handle: c_void_p, option: str, value: Any) -> int:
    name = _text(option, "an option")
    if isinstance(value, timedelta):
        value = round(value.total_seconds() * 1000)
    if isinstance(value, int):  # A flag is one, too.
        return _call(kind + "_set_int", handle, name, value)
    return _call(kind + "_set", handle, name, None if value is None else _text(value, option))


class Client:
    """A client of one service that lives under one or more base URLs. Any thread may use it.

    `on_event` is called for every Event on the thread that makes the call, and may not make one
    itself. An exception that it raises comes out of that call, once the call has ended.
    """

    def __init__(
        self,
        base_urls: str | Iterable[str],
        *,
        headers: Mapping[str, str] | None = None,
        root_pem: bytes = b"",
        on_event: Callable[[Event], None] | None = None,
        **options: Any,
    ) -> None:
        self._handle: c_void_p | None = None
        self._thread = threading.local()
        urls = base_urls if isinstance(base_urls, str) else ",".join(base_urls)
        builder = c_void_p()
        _check(_call("builder_new", byref(builder)))
        try:
            # What is wrong with a setting need not be looked at: build tells the first mistake.
            _call("builder_set", builder, b"base_urls", _text(urls, "base_urls"))
            for option, value in options.items():
                _set("builder", builder, option, value)
            for name, value in (headers or {}).items():
                header = _text(name, "a header's name"), _text(value, "a header's value")
                _call("builder_add_header", builder, *header, 0)
            _call("builder_add_root_pem", builder, root_pem, len(root_pem))
            if on_event:
                # Kept, or ctypes would let go of it and C call into nothing.
                self._callback = self._guarded(on_event)
                _call("builder_on_event", builder, self._callback, None, None)
            self._handle = _make("builder_build", builder)
        finally:
            _call("builder_free", builder)

    def get(self, path: str, **more: Any) -> Answer:
        return self.request("GET", path, **more)

    def head(self, path: str, **more: Any) -> Answer:
        return self.request("HEAD", path, **more)

    def delete(self, path: str, **more: Any) -> Answer:
        return self.request("DELETE", path, **more)

    def post(self, path: str, body: bytes | str = b"", **more: Any) -> Answer:
        return self.request("POST", path, body, **more)

    def put(self, path: str, body: bytes | str = b"", **more: Any) -> Answer:
        return self.request("PUT", path, body, **more)

    def patch(self, path: str, body: bytes | str = b"", **more: Any) -> Answer:
        return self.request("PATCH", path, body, **more)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Answer:
        """Makes a call. Options hold for it alone. Raises Error where it ends without an answer."""
        if self._handle is None:
            raise ValueError("the client is closed")
        data = body.encode() if isinstance(body, str) else body
        if not isinstance(data, (bytes, type(None))):
            raise TypeError(f"a body must be bytes or str, not {type(body).__name__}")
        request = _make("request_new", _text(method, "a method"), _text(path, "a path"))
        try:
            for name, value in (headers or {}).items():
                header = _text(name, "a header's name"), _text(value, "a header's value")
                _check(_call("request_add_header", request, *header), name)
            for option, value in options.items():
                _check(_set("request", request, option, value), option)
            if data is not None:
                _check(_call("request_set_body", request, data, len(data)))
            return self._send(request)
        finally:
            _call("request_free", request)

    def _send(self, request: c_void_p) -> Answer:
        out, err = c_void_p(), c_void_p()
        status = _call("client_send", self._handle, request, byref(out), byref(err))
        try:
            raised = self._thread.__dict__.pop("raised", None)
            if raised is not None:
                raise raised
            if status:
                raise Error(status, None, err)
            return Answer._read(out)
        finally:
            _call("response_free", out)
            _call("error_free", err)

    def _guarded(self, on_event: Callable[[Event], None]) -> Any:
        """Nothing may leave a callback: ctypes would print it, and the call go on without it."""
        thread = self._thread

        def callback(_user: int | None, handle: int) -> None:
            try:
                on_event(Event._read(handle))
            except BaseException as raised:  # KeyboardInterrupt too: it belongs to the caller.
                thread.__dict__.setdefault("raised", raised)

        return _OnEvent(callback)

    def close(self) -> None:
        """Closes the connections. Calls under way end first; new ones raise ValueError."""
        handle, self._handle = self._handle, None
        _call("client_free", handle)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()
