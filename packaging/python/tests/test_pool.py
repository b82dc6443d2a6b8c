"""Endpoints and what is known of them; the breaker by itself."""

import json
import unittest
from datetime import timedelta

import anyhost
from anyhost import Breaker, Client, Endpoint, Reason, State

from .server import Server, refusing


class Pool(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.__exit__)

    def test_snapshot(self):
        endpoints = [Endpoint(refusing(), label="dead"), Endpoint(self.server.url, weight=500, label="live")]
        with Client(endpoints) as client:
            client.get("/")
            snapshot = client.snapshot()
        self.assertEqual([member.label for member in snapshot], ["dead", "live"])
        dead, live = snapshot["dead"], snapshot[self.server.url]
        self.assertEqual((dead.attempts, dead.failures, dead.failures_in_a_row), (1, 1, 1))
        self.assertEqual((live.attempts, live.successes, live.in_flight), (1, 1, 0))
        self.assertEqual((live.state, live.max_weight, live.is_proxy), (State.ELIGIBLE, 500, False))
        told = json.loads(snapshot.json)["members"]
        self.assertEqual(told[0]["reasons"], {"refused": 1})
        self.assertRaises(KeyError, snapshot.__getitem__, "none")

    def test_snapshot_for_people_and_prometheus(self):
        endpoints = [Endpoint(refusing(), label="dead"), Endpoint(self.server.url, label="live")]
        with Client(endpoints) as client:
            client.get("/")
            snapshot = client.snapshot()
        head, dead, live = str(snapshot).splitlines()
        self.assertEqual(head.split()[:4], ["member", "state", "for", "weight"])
        self.assertEqual(dead.split()[:2], ["dead", "eligible"])
        self.assertTrue(dead.endswith("last failed: refused"), dead)
        self.assertRegex(live, r"^live .* preferred for (5 min 0|4 min 5\d) s$")
        page = anyhost.prometheus({"shop": snapshot, "bank": snapshot}).splitlines()
        failed = 'anyhost_member_failures_total{client="shop",kind="endpoint",member="dead",reason="refused"} 1'
        self.assertEqual(page.count(failed), 1)
        self.assertIn('anyhost_member_successes_total{client="bank",kind="endpoint",member="live"} 1', page)
        self.assertEqual(page.count("# TYPE anyhost_member_weight gauge"), 1)
        self.assertNotIn("client=", anyhost.prometheus({}))
        self.assertRaises(ValueError, anyhost.prometheus, {"a\0b": snapshot})

    def test_disabled_and_enabled(self):
        with Client([Endpoint(self.server.url, label="a")]) as client:
            client.disable("a", "in repair")
            member = client.snapshot()["a"]
            self.assertEqual((member.state, member.detail), (State.DISABLED, "in repair"))
            self.assertIs(member.reason, Reason.OPERATOR)
            with self.assertRaises(anyhost.NoEndpointError):
                client.get("/")
            client.enable("a")
            self.assertEqual(client.get("/").status, 200)
            with self.assertRaises(anyhost.NotFoundError):
                client.disable("b")

    def test_weights(self):
        with Client([Endpoint(self.server.url, label="a")], selection="weighted") as client:
            client.set_weight("a", 7)
            member = client.snapshot()["a"]
            self.assertEqual((member.weight, member.max_weight), (7, 7))
            self.assertRaises(anyhost.RangeError, client.set_weight, "a", 1001)

    def test_probe(self):
        other = Server()
        self.addCleanup(other.__exit__)
        with Client([Endpoint(self.server.url, label="a"), Endpoint(other.url, label="b")]) as client:
            self.assertEqual(client.probe("b", "GET", "/health").text, "GET /health ")
            self.assertRaises(anyhost.NotFoundError, client.probe, "c")
        self.assertEqual((self.server.requests, len(other.requests)), ([], 1))

    def test_apply(self):
        with Client(refusing()) as client:
            client.apply([Endpoint(self.server.url, label="new", headers={"X-New": "1"})])
            self.assertEqual(client.get("/").endpoint, "new")
            with self.assertRaises(anyhost.UrlError):
                client.apply(["http://[broken"])
            with self.assertRaises(anyhost.DuplicateError):
                client.apply([self.server.url, self.server.url])
            self.assertEqual([member.label for member in client.snapshot()], ["new"])
        self.assertEqual(self.server.requests[0].headers["x-new"], "1")

    def test_idle_connections_are_dropped(self):
        with Client(self.server.url) as client:
            client.get("/")
            client.get("/")
            client.drop_idle()
            client.get("/")
        self.assertEqual(self.server.connections, 2)


class Breakers(unittest.TestCase):
    def test_breaker(self):
        breaker = Breaker(threshold=2, base_delay=timedelta(minutes=1), max_delay=timedelta(hours=1))
        self.assertEqual(breaker.allow("a"), 0)
        breaker.record_failure("a")
        self.assertEqual(breaker.allow("a"), 0)
        self.assertGreaterEqual(breaker.record_failure("a"), 60)
        self.assertGreater(breaker.allow("a"), 60)
        self.assertEqual(breaker.allow("b"), 0)
        breaker.record_success("a")
        self.assertEqual(breaker.allow("a"), 0)
        with self.assertRaises(anyhost.RangeError):
            Breaker(base_delay=timedelta(hours=2), max_delay=timedelta(hours=1))
