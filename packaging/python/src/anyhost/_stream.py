"""An answer whose body is read as it comes."""

from __future__ import annotations

import io
from ctypes import byref, c_char, c_size_t
from typing import Any

from ._call import Call
from ._errors import error_of
from ._library import Handle, lib
from ._response import Head


class _Raw(io.RawIOBase):
    """The body as the library gives it, unbuffered."""

    def __init__(self, handle: Handle, call: Call) -> None:
        self._handle: Handle | None = handle
        self._call = call

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        handle = self._handle
        if handle is None:
            raise ValueError("the stream is closed")
        view = memoryview(buffer).cast("B")
        n, into = c_size_t(), (c_char * len(view)).from_buffer(view)
        with Handle(lib.anyhost_error_free) as err:
            status = self._call.block(
                lib.anyhost_response_read, handle, byref(into), len(view), byref(n), err.out
            )
            if status:
                raise error_of(status, None, err)
        return n.value

    def close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            with self._call, handle:
                pass
        super().close()


class Stream(io.BufferedReader):
    """An answer at its head, and a file of its body.

    `read`, `read1`, `readinto`, lines and iteration are those of any binary file. A body that breaks off
    raises BodyError, and never looks like an end. Closing it, as the end of `with` does, drops what was
    not read. One thread at a time.
    """

    def __init__(self, handle: Handle, call: Call) -> None:
        self.head = Head(**Head.facts(handle))
        super().__init__(_Raw(handle, call), 64 * 1024)

    @property
    def status(self) -> int:
        return self.head.status

    def __repr__(self) -> str:
        return f"<Stream {self.head.status} of {self.head.url}>"
