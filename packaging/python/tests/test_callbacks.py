"""What the caller is told and asked during a call."""

import threading
import unittest

import anyhost
from anyhost import Client, EventType, Reason, Retry, Verdict

from .server import Server, refusing


class Callbacks(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.__exit__)

    def test_events(self):
        seen, threads = [], set()

        def on_event(event):
            seen.append(event)
            threads.add(threading.get_ident())

        with Client([refusing(), self.server.url], on_event=on_event) as client:
            client.get("/")
            client.get("/")
            other = threading.Thread(target=client.get, args=("/",))
            other.start()
            other.join()
        self.assertEqual(threads, {threading.get_ident(), other.ident})
        kinds = [event.kind for event in seen]
        self.assertEqual(kinds[:2], [EventType.ATTEMPT_STARTED, EventType.ATTEMPT_ENDED])
        self.assertEqual(kinds.count(EventType.FAILOVER), 1)
        failover = seen[kinds.index(EventType.FAILOVER)]
        self.assertRegex(str(failover), r"^127\.0\.0\.1:\d+ not answering, using 127\.0\.0\.1:\d+$")
        self.assertEqual(failover.endpoint, self.server.url.split("//")[1])
        self.assertIs(failover.attempt.reason, Reason.REFUSED)
        self.assertEqual({event.call_id for event in seen}, {1, 2, 3})

    def test_events_of_what_is_no_call(self):
        seen = []
        with Client([refusing(), self.server.url], on_event=seen.append) as client:
            client.disable(self.server.url, "for a test")
            client.enable(self.server.url)
        self.assertIn(EventType.STATE_CHANGED, [event.kind for event in seen])

    def test_a_judge(self):
        other = Server()
        self.addCleanup(other.__exit__)
        asked = []

        def judge(response):
            asked.append((response.status, response.body))
            return {404: Verdict.FAULT, 503: Verdict.ACCEPT, 400: Verdict.CALLER}.get(response.status)

        with Client([self.server.url, other.url], on_judge=judge) as client:
            for path, count in [("/status/404", 2), ("/status/400", 1)]:
                with self.assertRaises(anyhost.RejectedError) as caught:
                    client.get(path)
                self.assertEqual(len(caught.exception.attempts), count)
                self.assertIs(caught.exception.reason, Reason.PREDICATE)
            self.assertEqual(len(client.get("/status/503").attempts), 1)
            self.assertEqual(client.get("/").status, 200)
        self.assertEqual(asked[0], (404, b"no such"))

    def test_advice_on_a_retry(self):
        asked = []

        def on_retry(attempt):
            asked.append(attempt.reason)
            return Retry.STOP

        with Client([refusing(), self.server.url], on_retry=on_retry) as client:
            with self.assertRaises(anyhost.AttemptsSpentError):
                client.get("/")
        self.assertEqual((asked, self.server.requests), ([Reason.REFUSED], []))

    def test_progress(self):
        told, threads = [], set()

        def progress(sent, received, total):
            told.append((sent, received, total))
            threads.add(threading.get_ident())
            return len(told) == 3

        with Client(self.server.url) as client, self.assertRaises(anyhost.CancelledError):
            client.post("/holds", b"0123", progress=progress)
        self.assertEqual((len(told), threads), (3, {threading.get_ident()}))
        self.assertEqual(told[-1][0], 4)
        self.assertEqual(told[-1][1:], (0, None))

    def test_progress_of_a_stream(self):
        told = []

        def progress(sent, received, total):
            told.append((received, total))
            return len(told) == 20

        with Client(self.server.url) as client:
            with client.stream("GET", "/stalls", progress=progress) as stream:
                self.assertEqual(stream.read1(10), b"0123")
                with self.assertRaises(anyhost.CancelledError):
                    stream.read()
        self.assertEqual(told[-1], (4, 10))

    def test_a_callback_that_raises(self):
        raised = []

        def on_event(event):
            raised.append(event.kind)
            raise RuntimeError("planted " + str(len(raised)))

        with Client(self.server.url, on_event=on_event) as client:
            with self.assertRaisesRegex(RuntimeError, "^planted 1$"):
                client.get("/first")
            self.assertIs(raised[-1], EventType.CALL_ENDED, "the call went on to its end")
            count = len(raised)
            with self.assertRaisesRegex(RuntimeError, f"^planted {count + 1}$"):
                client.get("/again")
            # On a thread that is not the main one, too.
            found = []

            def ask():
                try:
                    client.get("/aside")
                except RuntimeError as error:
                    found.append(error)

            thread = threading.Thread(target=ask)
            thread.start()
            thread.join()
            self.assertEqual(len(found), 1)
        self.assertEqual(self.server.seen(), ["GET /first", "GET /again", "GET /aside"])

    def test_others_that_raise(self):
        def raises(*_):
            raise RuntimeError("planted")

        with Client(self.server.url, on_judge=raises) as client:
            self.assertRaisesRegex(RuntimeError, "planted", client.get, "/")
        with Client(refusing(), on_retry=raises) as client:
            self.assertRaisesRegex(RuntimeError, "planted", client.get, "/")
        with Client(self.server.url) as client:
            with self.assertRaisesRegex(RuntimeError, "planted"):
                client.get("/holds", progress=raises)
        with Client(self.server.url, on_judge=lambda response: "good") as client:
            self.assertRaises(ValueError, client.get, "/")

    def test_what_a_callback_may_do(self):
        done = []

        def on_event(event):
            if event.kind is EventType.ATTEMPT_STARTED:
                done.append(len(client.snapshot()))
                client.disable("spare")
                client.enable("spare")

        spare = anyhost.Endpoint(refusing(), label="spare")
        with Client([anyhost.Endpoint(self.server.url), spare], on_event=on_event) as client:
            self.assertEqual(client.get("/").status, 200)
        self.assertEqual(done, [2])

    def test_no_call_from_a_callback(self):
        for aside in (False, True):
            with self.subTest(aside=aside):
                found = []

                def on_event(event):
                    client.get("/nested")

                def ask():
                    try:
                        client.get("/outer")
                    except anyhost.ReentryError as error:
                        found.append(error)

                with Client(self.server.url, on_event=on_event) as client:
                    if aside:
                        thread = threading.Thread(target=ask)
                        thread.start()
                        thread.join()
                    else:
                        ask()
                self.assertEqual(len(found), 1)
        self.assertEqual(self.server.seen(), ["GET /outer"] * 2)
