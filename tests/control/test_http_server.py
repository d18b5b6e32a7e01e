"""Who may use the control interface, what a request has to look like, and errors as sentences."""

from __future__ import annotations

import json
import logging
import socket
from typing import Any

import pytest

from kafkalab.control import http_server
from kafkalab.control.of_lab import OPERATIONS
from kafkalab.control.operations import GET, Operation
from kafkalab.testing.kafka_lab import KafkaLab
from tests.control.conftest import JSON, Control, Serve

Asked = tuple[str, str, bytes | None]
HOLD: Asked = ("POST", "/hold", b'{"names": ["EndTxn"]}')
TRACE: Asked = ("GET", "/trace", None)
DESCRIPTION: Asked = ("GET", "/openapi.json", None)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:9080", "127.8.0.1", "[::1]:9080", "LOCALHOST:1"])
def test_a_local_host_is_let_through(control: Control, host: str) -> None:
    assert control.ask(*HOLD, {**JSON, "Host": host})[0] == 200
    assert control.ask("GET", "/held", None, {"Host": host})[0] == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:9080", "localhost.evil.example", "127.0.0.1.evil.example", "192.168.1.7", "", "[::1",
     "localhost@evil.example", "evil.example#localhost", "0.0.0.0"],
)  # fmt: skip
def test_another_host_is_refused_for_reading_and_pressing(control: Control, lab: KafkaLab, host: str) -> None:
    for asked in (HOLD, TRACE, DESCRIPTION):
        status, found = control.ask(*asked, {**JSON, "Host": host})
        assert (status, found["error"][:42]) == (403, "the Host header has to be one that is loca")
    assert lab.gate.names == ()


def test_two_hosts_and_none_are_refused(control: Control) -> None:
    for hosts in (b"", b"Host: localhost\r\nHost: evil.example\r\n"):
        assert exchange(control, b"GET /held HTTP/1.1\r\n" + hosts + b"\r\n").startswith("HTTP/1.1 403")


def test_beyond_loopback_addresses_and_the_advertised_name_are_let_through(serve: Serve) -> None:
    control = serve("0.0.0.0", "Broker")
    for host, status in {"10.1.2.3:9080": 200, "broker:9080": 200, "localhost": 200, "evil.example": 403}.items():
        assert control.ask("GET", "/held", None, {"Host": host})[0] == status, host


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:9080", ""])
def test_a_request_with_an_origin_is_refused(control: Control, lab: KafkaLab, origin: str) -> None:
    for asked in (HOLD, TRACE):
        status, found = control.ask(*asked, {**JSON, "Origin": origin})
        assert (status, found) == (403, {"error": "requests of web pages are refused: this one has an Origin header"})
    assert lab.gate.names == ()


def test_an_image_on_another_page_is_refused_and_a_typed_address_is_not(control: Control) -> None:
    for site, status in {"cross-site": 403, "same-site": 403, "none": 200, "same-origin": 200}.items():
        assert control.ask("GET", "/held", None, {"Sec-Fetch-Site": site})[0] == status, site


def test_no_answer_may_be_read_by_another_page(control: Control) -> None:
    text = exchange(control, b"OPTIONS /hold HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert text.startswith("HTTP/1.1 405")
    assert "Access-Control" not in text
    assert "nosniff" in text
    assert "Cross-Origin-Resource-Policy: same-origin" in text


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "",
                                  "text/plain; a=application/json", "application/jsonp"])  # fmt: skip
def test_another_content_type_is_refused(control: Control, lab: KafkaLab, kind: str | None) -> None:
    status, found = control.ask(*HOLD, {} if kind is None else {"Content-Type": kind})
    assert status == 415
    assert found["error"].startswith("the Content-Type has to be application/json, not ")
    assert lab.gate.names == ()
    assert control.ask("POST", "/step")[0] == 415  # also without a body


def test_a_charset_is_let_through(control: Control) -> None:
    assert control.ask(*HOLD, {"Content-Type": "Application/JSON; charset=utf-8"})[0] == 200


def test_a_large_body_is_refused_before_it_is_read(control: Control) -> None:
    head = b"POST /hold HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    text = exchange(control, head % (http_server.MOST_BODY + 1))
    assert text.startswith("HTTP/1.1 413")
    assert "the body has 65,537 bytes; the limit is 65,536" in text
    assert exchange(control, head % 10**30).startswith("HTTP/1.1 400")
    body = json.dumps({"names": ["x" * (http_server.MOST_BODY - 20)]}).encode()
    assert control.ask("POST", "/hold", body, JSON)[0] == 200


def test_a_length_that_is_missing_wrong_or_given_twice_is_refused_and_nothing_smuggled(control: Control) -> None:
    head = b"POST /step HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    inner = b"POST /hold HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n"
    for lengths, status in {
        b"": 411, b"Transfer-Encoding: chunked\r\n": 411, b"Content-Length: 2\r\nContent-Length: 3\r\n": 411,
        b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n": 411, b"Content-Length: -1\r\n": 400,
    }.items():  # fmt: skip
        text = exchange(control, head + lengths + b"\r\n" + inner)
        assert text.startswith(f"HTTP/1.1 {status}"), lengths
        assert text.count("HTTP/1.1") == 1, lengths


def test_a_get_with_a_body_is_refused(control: Control) -> None:
    inner = b"GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n"
    text = exchange(
        control, b"GET /held HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(inner) + inner
    )
    assert text.startswith("HTTP/1.1 400")
    assert text.count("HTTP/1.1") == 1


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"{", "the body is not JSON: "),
        (b"\xff\xfe", "the body is not JSON: "),
        (b"[" * 60_000, "the body is not JSON: "),
        (b"[1]", "the body is an object of parameters, not [1]"),
        (b'{"names": "EndTxn"}', "names is an array of strings, not 'EndTxn'"),
        (b'{"names": [1]}', "names is an array of strings, not [1]"),
        (b'{"name": ["EndTxn"]}', "/hold has no parameter 'name'; it takes names; did you mean names?"),
    ],
)
def test_a_wrong_body_is_a_sentence(control: Control, body: bytes, sentence: str) -> None:
    status, found = control.ask("POST", "/hold", body, JSON)
    assert status == 400
    assert found["error"].startswith(sentence)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-1", "61", '"1"', "true", "null", "1e999"])
def test_a_wait_has_bounds(control: Control, value: str) -> None:
    status, found = control.ask("POST", "/step", f'{{"timeout_s": {value}}}'.encode(), JSON)
    assert status == 400
    assert found["error"].startswith("timeout_s is ")


def test_unknown_paths_and_wrong_methods_say_what_there_is(control: Control) -> None:
    assert control.refusal("GET", "/hell") == (
        "404 no path '/hell'; did you mean /held?; GET /openapi.json describes them all"
    )
    assert control.refusal("GET", "/../etc/passwd").startswith("404 ")
    assert control.refusal("POST", "/held") == "405 /held takes GET, not POST"
    assert control.refusal("PUT", "/topics") == "405 /topics takes GET, POST, not PUT"
    assert "Allow: POST" in exchange(control, b"GET /crash HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert exchange(control, b"BREW /held HTTP/1.1\r\nHost: localhost\r\n\r\n").startswith("HTTP/1.1 405")
    assert control.ask("HEAD", "/held")[0] == 405


def test_what_is_no_http_is_refused_as_json(control: Control) -> None:
    text = exchange(control, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n")
    assert '{"error": ' in text
    assert "<html" not in text
    assert '"error"' in exchange(control, b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")


def test_a_query_is_checked(control: Control) -> None:
    for path, sentence in {
        "/frames?count=x": "400 count is an integer, not 'x'",
        "/frames?count=0": "400 count is from 1 to 10000, not 0",
        "/frames?count=1&count=2": "400 count is given 2 times",
        "/offsets": "400 /offsets needs group: a consumer group's id",
        "/held?x=1": "400 /held has no parameter 'x'; it takes no parameters",
    }.items():
        assert control.refusal("GET", path) == sentence
    assert control.refusal("POST", "/hold?names=EndTxn").startswith("400 the parameters of a POST are fields")


def test_a_mistake_of_ours_is_an_error_and_the_server_goes_on(
    control: Control, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(source: Any) -> None:
        raise KeyError("secret")

    broken = Operation(method=GET, path="/broken", about="Fail", answer=fail)
    monkeypatch.setattr(control.server, "table", (*OPERATIONS, broken))
    with caplog.at_level(logging.CRITICAL):
        assert control.refusal("GET", "/broken") == "500 a mistake of kafkalab: KeyError"
    assert control.get("/held") == {"held": []}


def test_connections_beyond_the_limit_are_closed(control: Control) -> None:
    kept = [socket.create_connection(("127.0.0.1", control.port)) for _ in range(http_server.MOST_CONNECTIONS)]
    try:
        for connection in kept:
            connection.sendall(b"GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(12) == b"HTTP/1.1 200"
        with socket.create_connection(("127.0.0.1", control.port), timeout=5) as one_more:
            assert one_more.recv(1) == b""
    finally:
        for connection in kept:
            connection.close()


def test_one_connection_asks_twice(control: Control) -> None:
    asked = b"GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert exchange(control, asked + asked).count("HTTP/1.1 200") == 2


def exchange(control: Control, data: bytes) -> str:
    """Send raw bytes, and return all that comes back."""
    with socket.create_connection(("127.0.0.1", control.port), timeout=10) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        found = b""
        while part := _receive(connection):
            found += part
    return found.decode(errors="replace")


def _receive(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65_536)
    except ConnectionResetError:  # what has not been read is gone
        return b""
