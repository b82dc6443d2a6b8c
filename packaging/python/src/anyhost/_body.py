"""Bodies of requests: bytes, files, iterables, and functions that make them."""

from __future__ import annotations

import ctypes
import io
import os
from typing import Any, BinaryIO, Callable, Iterable, Iterator, Union

from ._call import relay
from ._contract import FreeCallback, ReadCallback, RewindCallback
from ._errors import check
from ._library import Handle, lib

#: A file is read from where it stands. An iterator can be read once, so its request makes one attempt
#: only; a list of bytes, or a function that returns an iterable, is asked again for another attempt.
Body = Union[
    bytes, bytearray, memoryview, str, BinaryIO, Iterable[bytes], Callable[[], Iterable[bytes]]
]


def set_body(request: Handle, body: Any) -> None:
    """Gives a request its body. What C has to come back to is kept with the request."""
    if isinstance(body, str):
        body = body.encode()
    elif isinstance(body, (bytearray, memoryview)):
        body = bytes(body)
    if isinstance(body, bytes):
        # Lent, not copied: nobody can change them.
        request.keep.append(body)
        no_free = FreeCallback(0)
        check(lib.anyhost_request_set_body_borrowed(request, body, len(body), None, no_free))
        return
    source = _source(body)
    read = relay(ReadCallback, source.read_into, 1)
    rewind = relay(RewindCallback, source.rewind, 1) if source.can_rewind else RewindCallback(0)
    request.keep += [read, rewind]
    length = source.length
    check(
        lib.anyhost_request_set_body_reader(request, read, rewind, None, FreeCallback(0), length), "body"
    )


class _Source:
    """Bytes in pieces of any size, out of `next`, which gives b"" at the end."""

    length = -1
    can_rewind = True

    def __init__(self) -> None:
        self._left = memoryview(b"")

    def next(self, size: int) -> bytes:
        raise NotImplementedError

    def back(self) -> None:
        raise NotImplementedError

    def read_into(self, buffer: int, capacity: int, out_n: Any) -> int:
        if not self._left:
            piece = self.next(capacity)
            if not isinstance(piece, (bytes, bytearray, memoryview)):
                raise TypeError(f"a body must give bytes, not {type(piece).__name__}")
            self._left = memoryview(piece).cast("B")
        part, self._left = self._left[:capacity], self._left[capacity:]
        ctypes.memmove(buffer, bytes(part), len(part))
        out_n[0] = len(part)
        return 0

    def rewind(self) -> int:
        self._left = memoryview(b"")
        self.back()
        return 0


class _File(_Source):
    def __init__(self, file: Any) -> None:
        super().__init__()
        self._file = file
        seekable = getattr(file, "seekable", None)
        self.can_rewind = bool(seekable and seekable())
        if self.can_rewind:
            self._start = file.tell()
            self.length = max(file.seek(0, os.SEEK_END) - self._start, 0)
            self.back()

    def next(self, size: int) -> bytes:
        return self._file.read(size)  # type: ignore[no-any-return]

    def back(self) -> None:
        self._file.seek(self._start)


class _Pieces(_Source):
    """What an iterable gives, one after the other."""

    def __init__(self, again: Callable[[], Iterator[bytes]], can_rewind: bool) -> None:
        super().__init__()
        self._again = again
        self._pieces = again()
        self.can_rewind = can_rewind

    def next(self, size: int) -> bytes:
        # An empty piece is not the end.
        return next((piece for piece in self._pieces if len(piece)), b"")

    def back(self) -> None:
        self._pieces = self._again()


def _source(body: Any) -> _Source:
    if isinstance(body, io.TextIOBase):
        raise TypeError("a file that is a body must be opened as binary")
    if hasattr(body, "read"):
        return _File(body)
    if callable(body):
        return _Pieces(lambda: iter(body()), can_rewind=True)
    if isinstance(body, Iterable) and not isinstance(body, dict):
        pieces = _Pieces(lambda: iter(body), can_rewind=iter(body) is not body)
        if isinstance(body, (list, tuple)):
            pieces.length = sum(map(len, body))
        return pieces
    raise TypeError(f"a body must be bytes, a file or an iterable of bytes, not {type(body).__name__}")
