"""Ctrl-C: at once, wherever the call is, and nothing is lost or left behind."""

import os
import random
import signal
import threading
import time
import unittest

from anyhost import Cancel, CancelledError, Client, EventType

from .server import Server, refusing, swallowing

#: What is still "at once" on a machine with better things to do. It takes a few milliseconds.
AT_ONCE = 1.0


@unittest.skipIf(os.name == "nt", "signals are sent with kill")
class Interrupts(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.__exit__)
        self.pressed = None
        previous = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, previous)

    def press_when(self, ready):
        """Ctrl-C, pressed by another thread once something is the case."""

        def press():
            ready()
            self.pressed = time.monotonic()
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=press)
        self.addCleanup(thread.join)
        thread.start()

    def interrupted(self, call):
        with self.assertRaises(KeyboardInterrupt):
            call()
        self.assertLess(time.monotonic() - self.pressed, AT_ONCE)

    def test_while_waiting_for_the_head(self):
        with Client(self.server.url) as client:
            self.press_when(lambda: self.server.wait_for(1))
            self.interrupted(lambda: client.get("/holds", attempt_timeout="off"))
            self.assertEqual(client.get("/").status, 200, "the client is as good as ever")

    def test_while_connecting(self):
        started = threading.Event()
        with swallowing() as url:
            with Client(url, connect_timeout_last="off", on_event=lambda _: started.set()) as client:
                self.press_when(started.wait)
                self.interrupted(lambda: client.get("/"))

    def test_while_reading_a_stream(self):
        with Client(self.server.url) as client, client.stream("GET", "/stalls") as stream:
            self.assertEqual(stream.read1(10), b"0123")
            begun, call = threading.Event(), stream.raw._call
            block = call.block
            call.block = lambda *arguments: (begun.set(), block(*arguments))[1]
            self.press_when(begun.wait)
            self.interrupted(stream.read)

    def test_while_waiting_between_attempts(self):
        waiting = threading.Event()
        client = Client(
            refusing(), attempts_per_endpoint=2, backoff_base="1h", backoff_max="1h", seed=1,
            on_event=lambda event: event.kind is EventType.WAITING and waiting.set(),
        )
        with client:
            self.press_when(waiting.wait)
            self.interrupted(lambda: client.get("/"))

    def test_while_sending(self):
        with Client(self.server.url) as client:
            self.press_when(lambda: self.server.wait_for(1))
            self.interrupted(lambda: client.put("/unread", bytes(64 << 20), attempt_timeout="off"))

    def test_inside_a_body_of_the_caller(self):
        asked = threading.Event()

        def slow():
            asked.set()
            for _ in range(1000):
                time.sleep(0.01)
            yield b""

        with Client(self.server.url) as client:
            self.press_when(asked.wait)
            self.interrupted(lambda: client.post("/", slow()))

    def test_inside_a_callback(self):
        def on_event(_):
            raise KeyboardInterrupt

        with Client([refusing(), self.server.url], on_event=on_event) as client:
            self.assertRaises(KeyboardInterrupt, client.get, "/")
        self.assertEqual(self.server.requests, [])

    def test_a_handler_that_raises_something_else(self):
        def expire(*_):
            raise TimeoutError("planted")

        previous = signal.signal(signal.SIGALRM, expire)
        self.addCleanup(signal.signal, signal.SIGALRM, previous)
        with Client(self.server.url) as client:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            self.pressed = time.monotonic()
            with self.assertRaisesRegex(TimeoutError, "planted"):
                client.get("/holds", attempt_timeout="off")
            self.assertLess(time.monotonic() - self.pressed, AT_ONCE)

    def test_other_signals_run_their_handlers_and_do_not_end_the_call(self):
        ran = threading.Event()
        previous = signal.signal(signal.SIGUSR1, lambda *_: ran.set())
        self.addCleanup(signal.signal, signal.SIGUSR1, previous)

        def press():
            self.server.wait_for(1)
            os.kill(os.getpid(), signal.SIGUSR1)
            self.assertTrue(ran.wait(5), "its handler runs during the call")
            cancelled.trigger()

        cancelled = Cancel()
        thread = threading.Thread(target=press)
        thread.start()
        with Client(self.server.url) as client:
            self.assertRaises(CancelledError, client.get, "/holds", cancel=cancelled)
        thread.join()

    def test_at_any_moment(self):
        """Nothing hangs, and every call ends as an answer or as the interrupt."""
        previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGALRM, previous)
        choose, ends = random.Random(7), {"answer": 0, "interrupt": 0}
        with Client(self.server.url) as client:
            client.get("/")
            for _ in range(300):
                try:
                    try:
                        signal.setitimer(signal.ITIMER_REAL, choose.random() * 2e-3 + 1e-6)
                        client.get("/")
                        ends["answer"] += 1
                    finally:
                        signal.setitimer(signal.ITIMER_REAL, 0)
                except KeyboardInterrupt:
                    ends["interrupt"] += 1
            self.assertEqual(client.get("/").text, "GET / ")
        self.assertGreater(ends["interrupt"], 0)
        self.assertGreaterEqual(sum(ends.values()), 300)
