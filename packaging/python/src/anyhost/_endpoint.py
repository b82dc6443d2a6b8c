"""Where requests go, and how they get there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Iterable, Mapping, Union

from ._contract import PRIORITY_AUTO
from ._library import Handle, lib, optional_text, text


class Secret(str):
    """The value of a header that no text of the library shows: `headers={"X-Token": Secret(token)}`."""

    def __repr__(self) -> str:
        return "Secret(...)"


@dataclass(frozen=True)
class Endpoint:
    """One base URL, and what belongs to it alone.

    `weight` is its share where endpoints are drawn by weight, 0 = the default. `priority` is its place
    in the order, lower numbers first; None = as the option selection says. `label` is its name in
    attempts, events and snapshots. `server_name` is the name that its certificate is for.
    """

    url: str
    weight: int = 0
    priority: int | None = None
    label: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    server_name: str | None = None


@dataclass(frozen=True)
class Proxy:
    """A proxy to draw from, by weight. "direct" stands for no proxy."""

    url: str
    weight: int = 0
    label: str | None = None


Endpoints = Union[str, Iterable[Union[str, Endpoint]]]
Proxies = Iterable[Union[str, Proxy]]


def each_endpoint(endpoints: Endpoints) -> Iterable[Endpoint]:
    """Of a text, the parts between its commas."""
    if isinstance(endpoints, str):
        endpoints = (part.strip() for part in endpoints.split(",") if part.strip())
    for it in endpoints:
        yield it if isinstance(it, Endpoint) else Endpoint(it)


def list_endpoints(kind: str, handle: Handle, endpoints: Endpoints) -> None:
    """Adds each to a "builder" or an "update", which remembers a mistake."""
    if kind == "builder":
        add, set_header = lib.anyhost_builder_add_endpoint, lib.anyhost_builder_endpoint_header
        set_server_name = lib.anyhost_builder_endpoint_server_name
    else:
        add, set_header = lib.anyhost_update_add_endpoint, lib.anyhost_update_endpoint_header
        set_server_name = lib.anyhost_update_endpoint_server_name
    for it in each_endpoint(endpoints):
        url, label = text(it.url, "a base URL"), optional_text(it.label, "a label")
        priority = PRIORITY_AUTO if it.priority is None else natural(it.priority, "priority")
        add(handle, url, natural(it.weight, "weight"), priority, label)
        for header in each_header(it.headers):
            set_header(handle, label or url, *header)
        if it.server_name is not None:
            set_server_name(handle, label or url, text(it.server_name, "a server name"))


def list_proxies(kind: str, handle: Handle, proxies: Proxies) -> None:
    """Adds each, as `list_endpoints`."""
    for it in proxies:
        it = it if isinstance(it, Proxy) else Proxy(it)
        url, label = text(it.url, "a proxy"), optional_text(it.label, "a label")
        add = lib.anyhost_builder_add_proxy if kind == "builder" else lib.anyhost_update_add_proxy
        add(handle, url, natural(it.weight, "weight"), label)


def each_header(headers: Mapping[str, str] | None) -> Iterable[tuple[bytes, bytes, int]]:
    """Name, value, and whether it is a secret."""
    for name, value in (headers or {}).items():
        yield text(name, "a header's name"), text(value, "a header's value"), isinstance(value, Secret)


def natural(value: int, what: str) -> int:
    """A number that C takes as uint32_t. ctypes would cut another without a word."""
    if not 0 <= value < 2**32:
        raise OverflowError(f"{what}: {value} is outside 0 to 2**32 - 1")
    return value
