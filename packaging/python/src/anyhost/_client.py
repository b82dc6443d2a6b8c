"""The client, and its calls."""

from __future__ import annotations

import contextlib
import json as json_text
import os
from typing import Any, Callable, Iterable, Mapping, Union

from ._attempt import Attempt
from ._body import Body, set_body
from ._call import Call, relay
from ._cancel import Cancel
from ._config import settings_of
from ._contract import (
    EventCallback,
    FreeCallback,
    JudgeCallback,
    ProgressCallback,
    Retry,
    RetryCallback,
    Verdict,
)
from ._endpoint import (
    Endpoints,
    Proxies,
    each_header,
    list_endpoints,
    list_proxies,
    natural,
)
from ._errors import Error, check, error_of, make
from ._event import Event
from ._library import Handle, lib, text
from ._options import Option, check_known, check_option, set_option
from ._response import Response
from ._snapshot import Snapshot
from ._stream import Stream

#: Told how many bytes of the bodies were sent and received, and how many will be received, None where that
#: is not known. True ends the call.
Progress = Callable[[int, int, Union[int, None]], Union[bool, None]]

#: By name, or as pairs, of which several may have the same name. Bytes go out as they are.
RequestHeaders = Union[Mapping[str, Union[str, bytes]], Iterable["tuple[str, str | bytes]"]]


#: No `json` was given: None is a value of JSON.
_NOTHING = object()


class Client:
    """A client of one service that lives under one or more base URLs. Any thread may use it.

    Options are those of the library, by name; `anyhost.options()` lists them. `preset` is a set of them,
    over which the others go. `endpoints` and `proxies` are texts with commas, or lists.

    `on_event` is told everything that happens. `on_judge` is asked about every answer, and `on_retry`
    after every attempt that was not good; None from them means what would be without them. They run on
    the thread that makes the call, and may not make one themselves. An exception that one raises comes
    out of that call once it has ended; KeyboardInterrupt and its like end the call at once.
    """

    def __init__(
        self,
        endpoints: Endpoints = (),
        *,
        preset: str | None = None,
        headers: Mapping[str, str] | None = None,
        proxies: str | Proxies = (),
        root_pem: bytes = b"",
        client_cert_pem: tuple[bytes, bytes] | None = None,
        on_event: Callable[[Event], object] | None = None,
        on_judge: Callable[[Response], Verdict | None] | None = None,
        on_retry: Callable[[Attempt], Retry | None] | None = None,
        **options: Option,
    ) -> None:
        self._handle: Handle | None = None
        client = Handle(lib.anyhost_client_free)

        def register(function: Any, callback: Any) -> None:
            # Kept with the client, or ctypes would let go of it and C call into nothing.
            client.keep.append(callback)
            function(builder, callback, None, FreeCallback(0))

        with Handle(lib.anyhost_builder_free) as builder:
            check(lib.anyhost_builder_new(builder.out))
            # The status of a setter need not be looked at: build tells the first mistake.
            if preset is not None:
                lib.anyhost_builder_preset(builder, text(preset, "a preset"))
            if isinstance(proxies, str):
                options["proxies"] = proxies
                proxies = ()
            for name, value in options.items():
                setters = lib.anyhost_builder_set, lib.anyhost_builder_set_int
                # What else is wrong the builder tells in the end.
                check_known(set_option(*setters, builder, name, value), name)
            list_endpoints("builder", builder, endpoints)
            list_proxies("builder", builder, proxies)
            for header in each_header(headers):
                lib.anyhost_builder_add_header(builder, *header)
            lib.anyhost_builder_add_root_pem(builder, root_pem, len(root_pem))
            if client_cert_pem is not None:
                cert, key = client_cert_pem
                lib.anyhost_builder_set_client_cert_pem(builder, cert, len(cert), key, len(key))
            if on_event is not None:
                register(lib.anyhost_builder_on_event, relay(EventCallback, _tell(on_event), None))
            if on_judge is not None:
                register(lib.anyhost_builder_on_judge, relay(JudgeCallback, _judge(on_judge), 0))
            if on_retry is not None:
                register(lib.anyhost_builder_on_retry, relay(RetryCallback, _advise(on_retry), 0))
            self._handle = make(client, lib.anyhost_builder_build, builder)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], **more: Any) -> Client:
        """A client of what a file says, TOML (Python 3.11) or JSON; `more` goes over that.

        Every option is a key of its name. Beside them there are `preset`; `endpoints`, a list of tables
        with `url` and perhaps `label`, `weight`, `priority`, `server_name`, `headers`, `secret_headers`;
        `headers` and `secret_headers`; `root_pem_files`, `client_cert_file` and `client_key_file`, whose
        paths are relative to the file. It is what Rust programs read by the feature `config`.
        """
        settings = settings_of(path)
        try:
            return cls(**{**settings, **more})
        except Error as error:
            raise type(error)(
                **{**vars(error), "message": f"{os.fspath(path)}: {error.message}"}
            ) from None

    def get(self, path: str, **more: Any) -> Response:
        """request("GET", ...)"""
        return self.request("GET", path, **more)

    def head(self, path: str, **more: Any) -> Response:
        """request("HEAD", ...)"""
        return self.request("HEAD", path, **more)

    def delete(self, path: str, **more: Any) -> Response:
        """request("DELETE", ...)"""
        return self.request("DELETE", path, **more)

    def post(self, path: str, body: Body = b"", **more: Any) -> Response:
        """request("POST", ...)"""
        return self.request("POST", path, body, **more)

    def put(self, path: str, body: Body = b"", **more: Any) -> Response:
        """request("PUT", ...)"""
        return self.request("PUT", path, body, **more)

    def patch(self, path: str, body: Body = b"", **more: Any) -> Response:
        """request("PATCH", ...)"""
        return self.request("PATCH", path, body, **more)

    def request(
        self,
        method: str,
        path: str,
        body: Body | None = None,
        *,
        json: object = _NOTHING,
        headers: RequestHeaders = (),
        cancel: Cancel | None = None,
        progress: Progress | None = None,
        **options: Option,
    ) -> Response:
        """Makes a call and reads the whole answer. Raises CallError where it ends without one.

        `json` is what the body shall say, instead of `body`. Options hold for it alone. `progress` is called ten times a second, also while nothing comes.
        """
        client = self._open
        if json is not _NOTHING:
            body, headers = _as_json(json, body, headers)
        with Call(cancel) as call, _request(call, method, path, body, headers, progress, options) as request:
            with _block(call, lib.anyhost_client_send, client, request) as response:
                return Response.read(response)

    def stream(
        self,
        method: str,
        path: str,
        body: Body | None = None,
        *,
        headers: RequestHeaders = (),
        cancel: Cancel | None = None,
        progress: Progress | None = None,
        **options: Option,
    ) -> Stream:
        """Makes a call and hands the answer out at its head; its body is read from what this returns."""
        client, held = self._open, contextlib.ExitStack()
        with held:
            call = held.enter_context(Call(cancel))
            request = held.enter_context(_request(call, method, path, body, headers, progress, options))
            response = held.enter_context(_block(call, lib.anyhost_client_stream, client, request))
            # Their callbacks have to be there for as long as the body is read.
            response.keep += [client, request]
            stream = Stream(response, call)
            held.pop_all()  # The stream's from here on.
        return stream

    def probe(
        self,
        key: str,
        method: str = "GET",
        path: str = "/",
        *,
        headers: RequestHeaders = (),
        cancel: Cancel | None = None,
        **options: Option,
    ) -> Response:
        """A health check of your own: one attempt at this endpoint only, whatever its state.

        `key`, here and below, is the label of an endpoint or its URL as it was given.
        """
        client, name = self._open, text(key, "key")
        with Call(cancel) as call, _request(call, method, path, None, headers, None, options) as request:
            with _block(call, lib.anyhost_client_probe, client, name, request) as response:
                return Response.read(response)

    def snapshot(self) -> Snapshot:
        """Every endpoint and proxy as it is now."""
        handle = Handle(lib.anyhost_snapshot_free)
        check(lib.anyhost_client_snapshot(self._open, handle.out))
        return Snapshot.read(handle)

    def set_weight(self, key: str, weight: int) -> None:
        """Sets the live and the maximum weight; 0 = the option weight_max."""
        self._tell(lib.anyhost_client_set_weight, text(key, "key"), natural(weight, "weight"))

    def disable(self, key: str, why: str = "") -> None:
        """Takes an endpoint out of service until `enable`. `why` is what snapshots say of it."""
        self._tell(lib.anyhost_client_disable, text(key, "key"), text(why, "why"))

    def enable(self, key: str) -> None:
        """Puts an endpoint back into service."""
        self._tell(lib.anyhost_client_enable, text(key, "key"))

    def drop_idle(self) -> None:
        """Closes the idle connections, because the network has changed, say."""
        self._tell(lib.anyhost_client_drop_idle)

    def apply(self, endpoints: Endpoints = (), proxies: Proxies = ()) -> None:
        """Replaces the endpoints, or the proxies, at once. Those that stay keep what is known of them.

        An empty list leaves what there is. A mistake changes nothing.
        """
        with Handle(lib.anyhost_update_free) as update, Handle(lib.anyhost_error_free) as err:
            check(lib.anyhost_update_new(update.out))
            # A mistake is remembered, and told by apply.
            list_endpoints("update", update, endpoints)
            list_proxies("update", update, proxies)
            with Call() as call:
                status = call.run(lib.anyhost_client_apply, self._open, update, err.out)
            if status:
                raise error_of(status, None, err)

    def shutdown(self) -> None:
        """Ends every call under way, and every later one, with ShutDownError."""
        self._tell(lib.anyhost_client_shutdown)

    def close(self) -> None:
        """Lets go of the client. Calls under way end first, new ones raise ValueError."""
        self._handle = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _open(self) -> Handle:
        handle = self._handle
        if handle is None:
            raise ValueError("the client is closed")
        return handle

    def _tell(self, function: Any, *arguments: object) -> None:
        """What makes no call, but may cause events."""
        with Call() as call:
            check(call.run(function, self._open, *arguments))


def _as_json(value: object, body: Body | None, headers: RequestHeaders) -> tuple[Body, RequestHeaders]:
    """The body and the headers of a request that shall say this."""
    if body:
        raise TypeError("a request has a body or json, not both")
    pairs = list(headers.items() if isinstance(headers, Mapping) else headers)
    if not any(name.lower() == "content-type" for name, _ in pairs):
        pairs.append(("Content-Type", "application/json"))
    return json_text.dumps(value).encode(), pairs


def _request(
    call: Call,
    method: str,
    path: str,
    body: Body | None,
    headers: RequestHeaders,
    progress: Progress | None,
    options: Mapping[str, Option],
) -> Handle:
    request = Handle(lib.anyhost_request_free)
    make(request, lib.anyhost_request_new, text(method, "a method"), text(path, "a path"))
    for name, value in headers.items() if isinstance(headers, Mapping) else headers:
        field = text(name, "a header's name")
        content = value if isinstance(value, bytes) else text(value, "a header's value")
        check(lib.anyhost_request_add_header_n(request, field, len(field), content, len(content)), name)
    for option, setting in options.items():
        functions = lib.anyhost_request_set, lib.anyhost_request_set_int
        check_option(set_option(*functions, request, option, setting), option)
    if body is not None:
        set_body(request, body)
    check(lib.anyhost_request_set_cancel(request, call.handle))
    if progress is not None:
        callback = relay(ProgressCallback, _progress(progress), 1)
        request.keep.append(callback)
        check(lib.anyhost_request_set_progress(request, callback, None, 100))
    return request


def _block(call: Call, function: Any, *arguments: object) -> Handle:
    """Makes a call; the answer of the library."""
    response = Handle(lib.anyhost_response_free)
    with Handle(lib.anyhost_error_free) as err:
        status = call.block(function, *arguments, response.out, err.out)
        if status:
            raise error_of(status, None, err)
    return response


# Callbacks as C calls them.


def _tell(on_event: Callable[[Event], object]) -> Callable[[int], None]:
    def tell(event: int) -> None:
        on_event(Event.read(event))

    return tell


def _judge(on_judge: Callable[[Response], Verdict | None]) -> Callable[[int], int]:
    return lambda response: int(on_judge(Response.read(response)) or 0)


def _advise(on_retry: Callable[[Attempt], Retry | None]) -> Callable[[int], int]:
    return lambda attempt: int(on_retry(Attempt.read(attempt)) or 0)


def _progress(progress: Progress) -> Callable[[int, int, int], int]:
    return lambda sent, received, total: bool(progress(sent, received, None if total < 0 else total))
