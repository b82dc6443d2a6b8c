"""A long answer into a file, with a bar by tqdm: streamed, so that its size does not matter.

    pip install tqdm
    python3 download.py https://a.example,https://b.example /big.iso big.iso
"""

import sys

from anyhost import CallError, Client
from tqdm import tqdm


def main() -> int:
    if len(sys.argv) != 4:
        print("give base URLs, separated by commas, a path, and a file to write to", file=sys.stderr)
        return 2
    urls, path, name = sys.argv[1:]
    with tqdm(unit="B", unit_scale=True, unit_divisor=1024) as bar:

        def draw(sent, received, total):
            bar.total = total
            bar.update(received - bar.n)

        try:
            # A long body may take as long as it likes, if it keeps coming: stall_timeout is what ends it.
            with Client(urls, attempt_timeout="off", require_success=True) as client, open(name, "wb") as file:
                with client.stream("GET", path, progress=draw) as answer:
                    while piece := answer.read(64 * 1024):
                        file.write(piece)
                bar.update(file.tell() - bar.n)
                bar.close()
                print(f"{file.tell()} bytes from {answer.head.endpoint}")
        except CallError as error:
            print(error.explain(), file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
