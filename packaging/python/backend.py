"""Builds the wheel: the package, and the shared library beside its modules.

    pip wheel packaging/python                       # builds the library with cargo
    ANYHOST_LIBRARY=libanyhost.so pip wheel packaging/python
    python3 packaging/python/backend.py FOLDER       # the same without pip

A backend of PEP 517 that needs nothing but Python. There is no code for any one Python in the wheel, so
it is `py3-none`; its platform is that of the library, which says itself how old a glibc will do.
"""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ABI = 0
LIBRARY_NAMES = {"darwin": f"libanyhost.{ABI}.dylib", "win32": "anyhost.dll"}

METADATA = """\
Metadata-Version: 2.4
Name: anyhost
Version: {version}
Summary: A blocking HTTP client for services that live under more than one host
License-Expression: MIT OR Apache-2.0
License-File: LICENSE-MIT
License-File: LICENSE-APACHE
Requires-Python: >=3.9
Keywords: http,client,failover,retry
Classifier: Programming Language :: Python :: 3
Classifier: Programming Language :: Rust
Classifier: Topic :: Internet :: WWW/HTTP
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

{readme}"""

WHEEL = """\
Wheel-Version: 1.0
Generator: anyhost
Root-Is-Purelib: false
Tag: {tag}
"""


class UnsupportedOperation(Exception):
    """What PEP 517 calls it."""


def version():
    """That of the library."""
    return re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]


def metadata():
    readme = (HERE / "README.md").read_text(encoding="utf-8")
    return METADATA.format(version=version(), readme=readme).encode()


def platform_tag(library):
    """Where a library with these bytes can be loaded."""
    machine = re.sub(r"\W", "_", sysconfig.get_platform())
    # The versions of its symbols that it needs from the C library.
    needed = [int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)", library)]
    if machine.startswith("linux_") and needed:
        # 2.17 is the oldest that installers still know as a platform.
        return machine.replace("linux_", f"manylinux_2_{max(17, *needed)}_", 1)
    return machine


def build_library():
    """The file of the shared library: ANYHOST_LIBRARY, or what cargo makes of the tree."""
    if "ANYHOST_LIBRARY" in os.environ:
        return Path(os.environ["ANYHOST_LIBRARY"])
    # The texts of panics have the paths of sources, which are not to be those of this machine.
    cargo_home = os.environ.get("CARGO_HOME") or Path.home() / ".cargo"
    remap = [f"--remap-path-prefix={cargo_home}=/cargo", f"--remap-path-prefix={ROOT}=/anyhost"]
    command = [
        "cargo", "rustc", "--locked", "--release", "--lib", "--crate-type", "cdylib",
        "--config", f"build.rustflags={json.dumps(remap)}", "--message-format", "json-render-diagnostics",
    ]
    said = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    for message in map(json.loads, said.splitlines()):
        if message.get("target", {}).get("name") == "anyhost":
            for name in message.get("filenames", ()):
                if name.endswith((".so", ".dylib", ".dll")):
                    return Path(name)
    raise FileNotFoundError("cargo built no shared library")


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """So that nothing has to be compiled to be asked for a name and a version."""
    info = Path(metadata_directory) / f"anyhost-{version()}.dist-info"
    info.mkdir()
    (info / "METADATA").write_bytes(metadata())
    return info.name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    library = build_library().read_bytes()
    tag = f"py3-none-{platform_tag(library)}"
    info = f"anyhost-{version()}.dist-info"
    files = {f"anyhost/{it.name}": it.read_bytes() for it in sorted((HERE / "src/anyhost").glob("*.py"))}
    files["anyhost/py.typed"] = b""
    files["anyhost/" + LIBRARY_NAMES.get(sys.platform, f"libanyhost.so.{ABI}")] = library
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        files[f"{info}/licenses/{name}"] = (ROOT / name).read_bytes()
    files[f"{info}/METADATA"] = metadata()
    files[f"{info}/WHEEL"] = WHEEL.format(tag=tag).encode()
    name = f"anyhost-{version()}-{tag}.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        record = []
        for path, content in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(content)}\n")
            _write(wheel, path, content)
        record.append(f"{info}/RECORD,,\n")
        _write(wheel, f"{info}/RECORD", "".join(record).encode())
    return name


def _write(wheel, path, content):
    """With no time and no owner, so that the same sources make the same wheel."""
    entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
    entry.external_attr = 0o100644 << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    wheel.writestr(entry, content)


def build_sdist(sdist_directory, config_settings=None):
    raise UnsupportedOperation("the sources are the whole tree: build the wheel from a checkout")


if __name__ == "__main__":
    print(build_wheel(sys.argv[1]))
