"""Runs a function of the library: callbacks on the caller's thread, and Ctrl-C at any time.

Python runs signal handlers on the main thread, between two of its own instructions, and there are none
while that thread is inside C. A callback that C makes now and then does not help enough: the handler
may run, and raise, before the callback's own `try` is entered, and ctypes prints such an exception and
forgets it. So on the main thread the function is handed to a thread of its own, and the main thread waits
for it in Python, where a signal handler runs at once. It also runs the callbacks meanwhile: they see the
thread they were written for, and what they raise is raised in ordinary Python. A handler that raises,
as that of Ctrl-C does, cancels the call, which then ends within milliseconds wherever it is.

On other threads no handler runs, and the function is called as it is.
"""

from __future__ import annotations

import _thread
import queue
import threading
from typing import Any, Callable, TypeVar

from ._cancel import Cancel, CancelHandle
from ._contract import Status
from ._errors import error_of

_T = TypeVar("_T")

#: The call that this thread is inside of, or runs for.
_here = threading.local()

#: The wait is cut into pieces of so many seconds: a signal that arrives just before a thread falls asleep
#: does not wake it, and on Windows none does.
_SLICE = 0.05


class Call:
    """One call, from its request to the last byte of its answer.

    What a callback raises first is kept, and raised when the library has come back: nothing may leave
    a callback of C. An Exception changes nothing until then, as if the callback had no opinion.
    Anything else, as KeyboardInterrupt, ends the call.
    """

    def __init__(self, cancel: Cancel | None = None) -> None:
        self.handle = CancelHandle()
        self.raised: BaseException | None = None
        self.is_over = False
        self._cancel = cancel
        if cancel is not None:
            cancel.link(self.handle)

    def __enter__(self) -> Call:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing more will be done for it."""
        self.is_over = True
        if self._cancel is None:
            self.handle.free()
        else:
            # Another thread may be about to trigger it. It goes when that has let go of it.
            self._cancel.unlink(self.handle)

    def run(self, function: Callable[..., int], *arguments: object) -> int:
        """Calls a function that does not block. It may be called from inside a callback."""
        outer, _here.call = getattr(_here, "call", None), self
        try:
            return function(*arguments)
        finally:
            _here.call = outer
            self._raise()

    def block(self, function: Callable[..., int], *arguments: object) -> int:
        """Calls a function that blocks."""
        outer: Call | None = getattr(_here, "call", None)
        # One that is over was left here by a signal that came while it ended.
        if outer is not None and not outer.is_over:
            raise error_of(Status.REENTRY)
        if threading.get_ident() != threading.main_thread().ident:
            return self.run(function, *arguments)
        try:
            return _Aside(self, function, arguments).wait()
        finally:
            self._raise()

    def ask(self, callback: Callable[..., _T], arguments: tuple[Any, ...], instead: _T) -> _T:
        """Runs a callback; what it answers, or `instead` where it raised."""
        if self.is_ended():
            return instead
        outer, _here.call = getattr(_here, "call", None), self
        try:
            return callback(*arguments)
        except BaseException as raised:
            self.fail(raised)
            return instead
        finally:
            _here.call = outer

    def fail(self, raised: BaseException) -> None:
        if self.raised is None or not isinstance(raised, Exception):
            self.raised = raised
        if self.is_ended():
            self.handle.trigger()

    def is_ended(self) -> bool:
        """Whether something was raised that is not for the end of the call."""
        return self.raised is not None and not isinstance(self.raised, Exception)

    def _raise(self) -> None:
        if self.raised is not None:
            try:
                raise self.raised
            finally:
                self.raised = None  # Its traceback leads here, and nobody wants a circle.


def relay(kind: Any, callback: Callable[..., _T], instead: _T) -> Any:
    """A callback of C, `kind`, that runs one of Python's where the call was made."""

    def run(_user: int | None, *arguments: Any) -> _T:
        inside: Call | _Aside = getattr(_here, "aside", None) or _here.call
        return inside.ask(callback, arguments, instead)

    return kind(run)


class _Aside:
    """A function on a thread of its own, and the main thread that waits for it.

    The rules that make it safe against a signal handler that raises between any two instructions of
    `wait`: whether the function was begun is decided by a lock that one side gets, whether it is over
    by a flag that is never taken back, and a question that was lost on the way is answered as soon as
    the wait is given up.
    """

    def __init__(self, call: Call, function: Callable[..., int], arguments: tuple[object, ...]) -> None:
        self._call = call
        self._function = function
        self._arguments = arguments
        self._begun = threading.Lock()
        self._over = False
        self._status = 0
        self._given_up = False
        self._questions: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def wait(self) -> int:
        try:
            try:
                # Not a Thread, whose birth and death have more steps that a signal could disturb.
                _thread.start_new_thread(self._work, ())
            except RuntimeError:  # There is none to be had, as when the interpreter shuts down.
                if self._begun.acquire(blocking=False):
                    try:
                        return self._call.run(self._function, *self._arguments)
                    finally:
                        self._over = True
            while not self._over:
                try:
                    question = self._questions.get(timeout=_SLICE)
                except queue.Empty:
                    continue
                if question is not None:
                    self._answers.put(self._call.ask(*question))
        except BaseException as raised:
            self._give_up(raised)
        return self._status

    def _give_up(self, raised: BaseException) -> None:
        """The library must have come back before what it works on goes. It does so in milliseconds."""
        while True:
            try:
                self._given_up = True
                self._call.fail(raised)
                self._call.handle.trigger()
                self._answers.put(None)
                if self._begun.acquire(blocking=False):
                    return  # Not begun, and it never will.
                while not self._over:
                    try:
                        self._questions.get(timeout=_SLICE)
                    except queue.Empty:
                        pass
                return
            except BaseException:
                continue  # One more signal. The first one counts.

    # On the other thread:

    def _work(self) -> None:
        if not self._begun.acquire(blocking=False):
            return
        _here.aside = self
        try:
            self._status = self._function(*self._arguments)
        except BaseException as raised:  # Wrong types of arguments.
            self._call.fail(raised)
        self._over = True
        self._questions.put(None)

    def ask(self, callback: Callable[..., _T], arguments: tuple[Any, ...], instead: _T) -> _T:
        if self._given_up:
            return instead
        self._questions.put((callback, arguments, instead))
        answer: _T = self._answers.get()
        return instead if self._given_up else answer
