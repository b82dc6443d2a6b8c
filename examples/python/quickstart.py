"""One call, any host that can answer: what each attempt came to.

    python3 quickstart.py https://a.example,https://b.example /path
"""

import sys

from anyhost import Client, Error

COLUMNS = "  {:>2} {:28} {:8} {:16} {:13} {:>6}  {}"


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print("give base URLs, separated by commas, and a path", file=sys.stderr)
        return 2
    urls, path = sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else "/"
    try:
        with Client(urls) as client:
            answer = client.get(path)
        end, attempts = f"{answer.status} from {answer.endpoint}", answer.attempts
    except Error as error:
        answer, end, attempts = None, f"error: {error}", error.attempts
    print(f"GET {path}: {end}\n")
    print(COLUMNS.format("#", "endpoint", "phase", "reason", "delivery", "ms", "status"))
    for it in attempts:
        ms = f"{it.elapsed * 1000:.0f}"
        status = it.http_status or ""
        print(COLUMNS.format(it.number, it.endpoint, it.phase, it.reason, it.delivery, ms, status))
    if answer:
        print("\n" + answer.text)
    return 0 if answer else 1


if __name__ == "__main__":
    sys.exit(main())
