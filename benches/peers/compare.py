"""Runs the clients side by side and writes what it found. Called by `run`, which builds and starts things.

Timed scenarios run in interleaved rounds, so that noise meets all alike; a ratio is the median over the
rounds of client/ureq within the round. Counts are differences of a long run and a short one, so that the
start falls out. Everything lands in $OUT: results.json, tables.md, and the picture peers.svg.
"""
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import time

OUT = os.environ["OUT"]
BIN = OUT + "/bin/"
HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS = int(os.environ.get("ROUNDS", 7))
CA, BUNDLE = OUT + "/cert/ca.pem", OUT + "/cert/bundle.pem"
PLAIN, TLS, TLS_LOG, MANY = (
    "http://127.0.0.1:28080", "https://127.0.0.1:28443", "https://127.0.0.1:28444", "http://127.0.0.1:30000")
PYTHON = [OUT + "/venv/bin/python", HERE + "/py/peer.py"]

# Name -> command, arguments of its own. The order is that of the rows.
CLIENTS = {
    "floor": ([BIN + "floor"], []),
    "anyhost": ([BIN + "p_anyhost"], []),
    "anyhost, C": ([BIN + "c_anyhost"], []),
    "ureq": ([BIN + "p_ureq"], []),
    "ureq, timeouts": ([BIN + "p_ureq"], ["variant=timeouts"]),
    "libcurl": ([BIN + "c_curl"], []),
    "libcurl, timeouts": ([BIN + "c_curl"], ["variant=timeouts"]),
    "reqwest": ([BIN + "p_reqwest"], []),
    "attohttpc": ([BIN + "p_attohttpc"], []),
    "minreq": ([BIN + "p_minreq"], []),
    "Go": ([BIN + "go_nethttp"], []),
    "Python requests": (PYTHON, ["variant=requests"]),
    "Python httpx": (PYTHON, ["variant=httpx"]),
}
CLIENTS = {name: client for name, client in CLIENTS.items() if os.path.exists(client[0][0])}
if os.environ.get("CLIENTS"):
    CLIENTS = {name: CLIENTS[name] for name in os.environ["CLIENTS"].split(";")}
NO_REUSE = {"attohttpc", "minreq"}  # they open a connection for each request
NO_ROOTS = {"minreq"}  # cannot be told whom to trust
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
found = {}


def run(name, mode, *args, wrap=(), pin=True, timeout=120, env=None):
    """One run of one client: its output as a dictionary, with `error` where it failed."""
    command, own = CLIENTS[name]
    pinned = ["taskset", "-c", "0"] if pin else []
    try:
        done = subprocess.run(
            [*pinned, *wrap, *command, mode, *args, *own], capture_output=True, text=True,
            timeout=timeout, env={**ENVIRONMENT, **(env or {})})
    except subprocess.TimeoutExpired:
        return {"error": "no end"}
    result = {"stderr": done.stderr}
    for word in done.stdout.split():
        key, _, value = word.partition("=")
        try:
            result[key] = float(value)
        except ValueError:
            result[key] = value
    if done.returncode:
        result.setdefault("error", done.stderr[-200:])
    return result


def rounds(names, one, count=ROUNDS):
    """The results of each round, by name. Every second round goes the other way."""
    results = {name: [] for name in names}
    for number in range(count):
        for name in names if number % 2 == 0 else reversed(names):
            if not any("error" in result for result in results[name]):
                results[name].append(one(name))
    return results


def median(results, key):
    values = [result[key] for result in results if isinstance(result.get(key), float)]
    return statistics.median(values) if values else None


def ratio(results, name, key, base="ureq"):
    pairs = [(mine.get(key), theirs.get(key)) for mine, theirs in zip(results[name], results.get(base, []))]
    values = [mine / theirs for mine, theirs in pairs if isinstance(mine, float) and theirs]
    return statistics.median(values) if values else None


def shown(value, digits=1):
    return "-" if value is None else value if isinstance(value, str) else f"{value:,.{digits}f}"


def table(title, heads, rows):
    found[title] = {"heads": heads, "rows": rows}
    lines = [f"\n## {title}\n", "| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    print("\n".join(lines), flush=True)
    with open(OUT + "/tables.md", "a") as out:
        out.write("\n".join(lines) + "\n")


def names(*, reuse=False, tls=False, drop=()):
    return [name for name in CLIENTS if name not in drop
            and not (reuse and name in NO_REUSE) and not (tls and name in NO_ROOTS)]


def slow(name):
    return name.startswith("Python")


def timed(title, who, mode, calls, *args):
    """CPU, latency and their ratios."""
    results = rounds(who, lambda name: run(name, mode, f"n={calls // 6 if slow(name) else calls}", *args))
    rows = []
    for name in who:
        got = results[name]
        rows.append([name, shown(median(got, "cpu_us")), shown(ratio(results, name, "cpu_us"), 2),
                     shown(median(got, "p50_us")), shown(median(got, "p99_us")), shown(median(got, "rps"), 0)])
    table(title, ["client", "CPU µs a call", "× ureq", "p50 µs", "p99 µs", "calls/s"], rows)


def keep_alive():
    timed("Keep-alive, plain: GET of 1 KiB", names(reuse=True), "get", 5000, f"url={PLAIN}/b/1024")
    timed("Keep-alive, TLS 1.3: GET of 1 KiB", names(reuse=True, tls=True), "get", 3000,
          f"url={TLS}/b/1024", f"ca={CA}")


def connections():
    timed("A new connection each, plain", names(), "get", 1500, f"url={PLAIN}/b/1024", "fresh=1")
    timed("A new connection each, TLS 1.3", names(tls=True), "get", 300, f"url={TLS}/b/1024", f"ca={CA}",
          "fresh=1")
    log, rows = OUT + "/run/resumed.log", []
    for name in names(tls=True):
        start = os.path.getsize(log)
        run(name, "get", f"url={TLS_LOG}/b/1024", f"ca={CA}", "fresh=1", "n=20", "warm=1")
        time.sleep(0.2)
        with open(log) as text:
            text.seek(start)
            words = text.read().split()
        rows.append([name, f"{words.count('r')} of {len(words)}"])
    table("TLS sessions resumed, of 21 connections", ["client", "resumed"], rows)


def bodies():
    size = 10 << 20
    for title, mode, args, tls in (
            ("10 MiB down, plain", "stream", [f"url={PLAIN}/b/{size}"], False),
            ("10 MiB down, TLS", "stream", [f"url={TLS}/b/{size}", f"ca={CA}"], True),
            ("10 MiB up, plain", "upload", [f"url={PLAIN}/b/0", f"bytes={size}"], False)):
        who = names(tls=tls)
        results = rounds(who, lambda name: run(name, mode, "n=20", *args))
        mib = lambda name, key: (median(results[name], key) or 0) / 1024
        rows = [[name, shown(median(results[name], "mbps"), 0), shown(ratio(results, name, "mbps"), 2),
                 shown(ratio(results, name, "cpu_us"), 2), shown(mib(name, "hwm_kb"))] for name in who]
        table(title, ["client", "MB/s", "× ureq", "CPU × ureq", "peak RSS MiB"], rows)


def threads():
    who = names(reuse=True, drop=("ureq, timeouts", "libcurl", "libcurl, timeouts"))
    one = lambda share: rounds(who, lambda name: run(
        name, "get", f"url={PLAIN}/b/1024", "threads=8", f"share={share}",
        f"n={200 if slow(name) else 1500}", "warm=20", pin=False))
    shared, own = one(1), one(0)
    rows = []
    for name in who:
        pick = lambda key: [a[key] / b[key] for a, b in zip(shared[name], own[name])
                            if isinstance(a.get(key), float) and isinstance(b.get(key), float)]
        quotient = lambda key: statistics.median(pick(key)) if pick(key) else None
        rows.append([name, shown(median(shared[name], "rps"), 0), shown(quotient("rps"), 2),
                     shown(quotient("cpu_us"), 2)])
    table("8 threads on one client, of 8 threads with one each", ["client", "calls/s", "calls/s ×", "CPU ×"], rows)


def first():
    rows = []
    who = names(tls=True)
    plain = rounds(who, lambda name: run(name, "first", f"url={PLAIN}/b/1024"), 15)
    secure = rounds(who, lambda name: run(name, "first", f"url={TLS}/b/1024", f"ca={BUNDLE}"), 15)
    for name in who:
        ms = lambda results: (median(results[name], "first_us") or 0) / 1000
        rows.append([name, shown(ms(plain), 2), shown(ms(secure), 2), shown(ratio(secure, name, "first_us"), 2),
                     shown((median(secure[name], "rss_kb") or 0) / 1024)])
    with open(BUNDLE) as text:
        roots = text.read().count("BEGIN CERT")
    table(f"From main() to the first answer, ms ({roots} roots with TLS)",
          ["client", "plain", "TLS", "TLS × ureq", "RSS MiB"], rows)


def failover():
    """A naive loop over two URLs; anyhost does it by itself."""
    hole, shut, held = socket.socket(), socket.socket(), []
    hole.bind(("127.0.0.1", 0))
    hole.listen(0)
    swallowing = hole.getsockname()[1]
    for _ in range(4):  # with a full backlog the kernel drops every further SYN
        held.append(socket.socket())
        held[-1].setblocking(False)
        held[-1].connect_ex(("127.0.0.1", swallowing))
    time.sleep(0.1)
    shut.bind(("127.0.0.1", 0))  # never listened at: refused
    refusing = shut.getsockname()[1]
    who, good = names(), f"url2={PLAIN}/b/1024"
    loop = lambda name, port, n: run(
        name, "failover", f"url=http://127.0.0.1:{port}/b/1024", good, f"n={n}", "ct=250")
    refused = rounds(who, lambda name: loop(name, refusing, 1))
    swallowed = rounds(who, lambda name: loop(name, swallowing, 5), 3)
    rows = [[name, shown(median(refused[name], "first_us")), shown(ratio(refused, name, "first_us"), 2),
             shown((median(swallowed[name], "first_us") or 0) / 1000),
             shown((median(swallowed[name], "p50_us") or 0) / 1000, 2)] for name in who]
    table("Failover to the second of two, connect limit 250 ms",
          ["client", "first refuses, first call µs", "× ureq", "SYN swallowed, first call ms", "each later ms"], rows)


def many():
    who = [name for name in ("floor", "anyhost", "anyhost, C", "ureq", "libcurl", "reqwest", "Go") if name in CLIENTS]
    counts, rows = (1, 10, 256, 1000), []
    for name in who:
        one = lambda ports: [run(name, "get", f"url={MANY}/b/1024", f"ports={ports}", f"n={1000}", f"warm={ports}")
                             for _ in range(1 if name == "ureq" and ports > 100 else 3)]
        results = [one(ports) for ports in counts]
        cpu = [median(result, "cpu_us") for result in results]
        rss = [median(results[i], "rss_kb") or 0 for i in (0, -1)]
        rows.append([name, *map(shown, cpu), shown(cpu[-1] / cpu[0] if cpu[0] and cpu[-1] else None, 2),
                     shown((rss[1] - rss[0]) / (counts[-1] - 1))])
    table("Many endpoints, each with an idle connection: CPU µs a call",
          ["client", *[f"{n:,}" for n in counts], "1,000 × 1", "KiB RSS an endpoint"], rows)


def counted(name, args, few, more):
    query = lambda n: [f"n={n}", "warm=5", *args]

    def instructions(n):
        result = run(name, "get", *query(n), timeout=300,
                     wrap=["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"])
        total = re.search(r"Collected : (\d+)", result.get("stderr", ""))
        return int(total[1]) if total and "error" not in result else None

    def allocations(n):
        path = OUT + "/run/alloc"
        if os.path.exists(path):
            os.unlink(path)
        env = {"LD_PRELOAD": BIN + "alloccount.so", "ALLOCCOUNT": path, "PYTHONMALLOC": "malloc"}
        run(name, "get", *query(n), env=env)
        return int(open(path).read().split()[0]) if os.path.exists(path) else None

    def system_calls(n):
        path = OUT + "/run/strace"
        run(name, "get", *query(n), wrap=["strace", "-f", "-qq", "-c", "-o", path])
        lines = [line.split() for line in open(path)]
        return sum(int(w[3]) for w in lines if len(w) >= 5 and w[0][0].isdigit() and w[-1] != "total")

    def difference(one):
        a, b = one(few), one(more)
        return None if a is None or b is None else (b - a) / (more - few)

    if name == "Go":  # has its own allocator, and threads that valgrind slows down
        return None, run(name, "get", *query(2000)).get("allocs"), difference(system_calls)
    return difference(instructions), difference(allocations), difference(system_calls)


def counts():
    for title, args, few, more, who in (
            ("Counts: keep-alive GET of 1 KiB, plain", [f"url={PLAIN}/b/1024"], 100, 600, names(reuse=True)),
            ("Counts: the same over TLS", [f"url={TLS}/b/1024", f"ca={CA}"], 50, 250, names(reuse=True, tls=True)),
            ("Counts: the same by name", [f"url={PLAIN.replace('127.0.0.1', 'localhost')}/b/1024"], 100, 300,
             names(reuse=True, drop=("Python requests", "Python httpx"))),
            ("Counts: a new connection each, plain", [f"url={PLAIN}/b/1024", "fresh=1"], 50, 150,
             names(drop=("Python requests", "Python httpx")))):
        got = {name: counted(name, args, *((10, 40) if slow(name) else (few, more))) for name in who}
        base = got.get("ureq", (None,))[0]
        rows = [[name, shown(i, 0), shown(i / base if i and base else None, 3), shown(a), shown(s)]
                for name, (i, a, s) in got.items()]
        table(title, ["client", "instructions", "× ureq", "allocations", "system calls"], rows)


def picture():
    """CPU of a call as bars, of bare ureq: one panel for kept connections, one for new ones."""
    panels = [("GET of 1 KiB on a kept connection", "Keep-alive, plain: GET of 1 KiB"),
              ("GET of 1 KiB on a new connection", "A new connection each, plain")]
    panels = [(head, [(row[0], float(row[2])) for row in found[title]["rows"] if row[2] != "-"])
              for head, title in panels if title in found]
    if not panels:
        return
    left, width, step, longest = 150, 400, 24, 2.5
    body, y = [], 22
    for head, rows in panels:
        body.append(f'<text x="12" y="{y}" font-weight="bold">CPU of one {head} (bare ureq = 1)</text>')
        for number, (name, value) in enumerate(rows):
            top = y + 12 + step * number
            colour = "#2563a8" if name.startswith("anyhost") else "#b8bec6"
            bar = width * min(value, longest) / longest
            # A bar that would not fit ends with a gap; its number says how long it is.
            gap = f'<rect x="{left + bar - 14:.0f}" y="{top}" width="4" height="17" fill="#ffffff"/>'
            body.append(f'<text x="{left - 8}" y="{top + 13}" text-anchor="end">{name}</text>')
            body.append(f'<rect x="{left}" y="{top}" width="{bar:.0f}" height="17" fill="{colour}"/>')
            body.append(gap if value > longest else "")
            body.append(f'<text x="{left + bar + 6:.0f}" y="{top + 13}">{value:.2f}</text>')
        y += 12 + step * len(rows) + 34
    head = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 {y - 30}"'
    svg = [f'<svg {head} font-family="sans-serif" font-size="13">',
           f'<rect width="640" height="{y - 30}" fill="#ffffff"/>', *filter(None, body), "</svg>"]
    with open(OUT + "/peers.svg", "w") as out:
        out.write("\n".join(svg) + "\n")


SCENARIOS = {"counts": counts, "keep_alive": keep_alive, "connections": connections, "threads": threads,
             "bodies": bodies, "first": first, "failover": failover, "many": many}

open(OUT + "/tables.md", "w").close()
for scenario in sys.argv[1:] or SCENARIOS:
    SCENARIOS[scenario]()
picture()
with open(OUT + "/results.json", "w") as out:
    json.dump(found, out, indent=1, ensure_ascii=False)
