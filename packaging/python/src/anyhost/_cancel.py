"""Ends calls early."""

from __future__ import annotations

from ._errors import check
from ._library import Handle, lib


class CancelHandle(Handle):
    """The library's handle that ends one call."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(lib.anyhost_cancel_free)
        check(lib.anyhost_cancel_new(self.out))

    def trigger(self) -> None:
        lib.anyhost_cancel_trigger(self)


class Cancel:
    """Ends calls early, from any thread and from signal handlers.

    It can be given to any number of calls. Triggered, it ends them all with CancelledError, and at once
    those that begin later: a new one is made then.
    """

    def __init__(self) -> None:
        self._is_triggered = False
        self._calls: set[CancelHandle] = set()

    def trigger(self) -> None:
        """Ends the calls. Does not wait for them; a second time does nothing."""
        self._is_triggered = True
        for handle in self._calls.copy():
            handle.trigger()

    @property
    def is_triggered(self) -> bool:
        return self._is_triggered

    def link(self, handle: CancelHandle) -> None:
        # First on the list, then a look at the flag: the other way round one could be missed.
        self._calls.add(handle)
        if self._is_triggered:
            handle.trigger()

    def unlink(self, handle: CancelHandle) -> None:
        self._calls.discard(handle)
