"""What a client knows of its endpoints and proxies, at one moment."""

from __future__ import annotations

from ctypes import c_char_p, c_void_p
from dataclasses import dataclass, field
from typing import Any, Iterator, Mapping

from ._contract import Phase, Reason, State
from ._library import Handle, lib, maybe_told, take_text, text, told


@dataclass(frozen=True)
class Member:
    """An endpoint or a proxy. Times are seconds.

    `detail` is why it is in its state: the operator's words, or the last error. `cooling` is how much
    longer it rests, `since` how long it has been in its state, and `latency` that of good answers.
    """

    label: str
    url: str
    is_proxy: bool
    state: State
    reason: Reason
    phase: Phase
    detail: str
    priority: int
    weight: int
    max_weight: int
    failures_in_a_row: int
    in_flight: int
    cooling: float
    since: float
    attempts: int
    successes: int
    failures: int
    latency: float

    @classmethod
    def read(cls, handle: Any) -> Member:
        """Copies one of the library's."""
        return cls(
            label=told(lib.anyhost_member_label(handle)),
            url=told(lib.anyhost_member_url(handle)),
            is_proxy=lib.anyhost_member_kind(handle) == 2,
            state=State(lib.anyhost_member_state(handle)),
            reason=Reason(lib.anyhost_member_reason(handle)),
            phase=Phase(lib.anyhost_member_phase(handle)),
            detail=maybe_told(lib.anyhost_member_detail(handle)) or "",
            priority=lib.anyhost_member_priority(handle),
            weight=lib.anyhost_member_weight(handle),
            max_weight=lib.anyhost_member_max_weight(handle),
            failures_in_a_row=lib.anyhost_member_failures_in_a_row(handle),
            in_flight=lib.anyhost_member_in_flight(handle),
            cooling=lib.anyhost_member_cooling_ms(handle) / 1e3,
            since=lib.anyhost_member_since_ms(handle) / 1e3,
            attempts=lib.anyhost_member_attempts(handle),
            successes=lib.anyhost_member_successes(handle),
            failures=lib.anyhost_member_failures(handle),
            latency=lib.anyhost_member_latency_us(handle) / 1e6,
        )


@dataclass(frozen=True)
class Snapshot:
    """The members of a client. It iterates over them, and `snapshot["label"]` is one.

    As a text it is a table. `json` has more: counts for each reason, and the last changes of each state.
    `prometheus` makes a page of it.
    """

    members: tuple[Member, ...]
    json: str
    _handle: Handle = field(repr=False, compare=False)

    def __iter__(self) -> Iterator[Member]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, key: str) -> Member:
        """The member of this label, or at this URL as it was given."""
        found = lib.anyhost_snapshot_find(self._handle, text(key, "key"))
        if not found:
            raise KeyError(key)
        return Member.read(found)

    def __str__(self) -> str:
        """A table for a person, a line for each member."""
        return take_text(lib.anyhost_snapshot_text, self._handle)

    @classmethod
    def read(cls, handle: Handle) -> Snapshot:
        count = lib.anyhost_snapshot_count(handle)
        members = tuple(Member.read(lib.anyhost_snapshot_at(handle, i)) for i in range(count))
        return cls(members, take_text(lib.anyhost_snapshot_json, handle), handle)


def prometheus(clients: Mapping[str, Snapshot]) -> str:
    """A page for Prometheus, in its text format: clients by names of your choice, which become a label.

    Serve it as `text/plain; version=0.0.4`.
    """
    names = [text(name, "a client's name") for name in clients]
    snapshots = [snapshot._handle._as_parameter_ for snapshot in clients.values()]
    count = len(names)
    return take_text(
        lib.anyhost_prometheus, (c_char_p * count)(*names), (c_void_p * count)(*snapshots), count
    )
