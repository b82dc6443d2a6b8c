"""A client's settings from a file: TOML or JSON, with the keys that the library's own reader has."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Mapping

from ._contract import Status
from ._endpoint import Endpoint, Secret
from ._errors import OptionError

_ENDPOINT = {"url", "label", "weight", "priority", "server_name", "headers", "secret_headers"}


def settings_of(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a file says, as the arguments of `Client`."""
    shown, folder = os.fspath(path), os.path.dirname(os.fspath(path))
    try:
        with open(path, encoding="utf-8") as file:
            told = _parse(shown, file.read())
    except (OSError, UnicodeDecodeError) as why:
        raise _wrong(shown, "config_file", str(why)) from why
    settings: dict[str, Any] = {}
    files: dict[str, bytes] = {}
    for name, value in told.items():
        if name == "endpoints":
            settings["endpoints"] = [_endpoint(shown, it) for it in _list(shown, name, value)]
        elif name in ("headers", "secret_headers"):
            settings.setdefault("headers", {}).update(_headers(shown, name, value))
        elif name == "root_pem_files":
            pem = [_read(shown, name, folder, it) for it in _list(shown, name, value)]
            settings["root_pem"] = b"\n".join(pem)
        elif name in ("client_cert_file", "client_key_file"):
            files[name] = _read(shown, name, folder, value)
        else:
            settings[name] = _option(shown, name, value)
    if len(files) == 1:
        raise _wrong(shown, next(iter(files)), "client_cert_file and client_key_file go together")
    if files:
        settings["client_cert_pem"] = files["client_cert_file"], files["client_key_file"]
    return settings


def _parse(shown: str, content: str) -> Mapping[str, Any]:
    if content.lstrip().startswith("{"):
        try:
            told = json.loads(content)
        except ValueError as why:
            raise _wrong(shown, "config_file", str(why)) from why
        return told if isinstance(told, dict) else {}
    if sys.version_info >= (3, 11):
        import tomllib

        try:
            return tomllib.loads(content)
        except ValueError as why:
            raise _wrong(shown, "config_file", str(why)) from why
    raise _wrong(shown, "config_file", "Python reads TOML from 3.11 on; write it as JSON")


def _endpoint(shown: str, table: Any) -> Endpoint:
    if not isinstance(table, dict) or "url" not in table:
        raise _wrong(shown, "endpoints", "an endpoint is a table with a url")
    for name in table.keys() - _ENDPOINT:
        raise _wrong(shown, name, "an endpoint has no such key")
    more = {name: value for name, value in table.items() if not name.endswith("headers")}
    headers: dict[str, Any] = {}
    for name in ("headers", "secret_headers"):
        headers.update(_headers(shown, name, table.get(name, {})))
    return Endpoint(headers=headers, **more)


def _headers(shown: str, name: str, table: Any) -> Mapping[str, str]:
    if not isinstance(table, dict) or not all(isinstance(it, str) for it in table.values()):
        raise _wrong(shown, name, "it has to be a table of texts")
    return {key: Secret(value) if name == "secret_headers" else value for key, value in table.items()}


def _option(shown: str, name: str, value: Any) -> Any:
    if isinstance(value, list):
        return ",".join(str(it) for it in value)
    if not isinstance(value, (str, int)):
        raise _wrong(shown, name, "it has to be a text, a whole number, a flag or a list")
    return value


def _list(shown: str, name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(shown, name, "it has to be a list")
    return value


def _read(shown: str, name: str, folder: str, file: Any) -> bytes:
    if not isinstance(file, str):
        raise _wrong(shown, name, "it has to be the path of a file")
    try:
        with open(os.path.join(folder, file), "rb") as content:
            return content.read()
    except OSError as why:
        raise _wrong(shown, name, str(why)) from why


def _wrong(shown: str, name: str, why: str) -> OptionError:
    return OptionError(status=Status.OPTION, message=f"{shown}: {name}: {why}", option=name)
