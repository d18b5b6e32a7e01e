"""Secrets are taken out on reading: no output has them, whatever the line is otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.judge import judge
from kafkalab.diagnose.page import page_of
from kafkalab.diagnose.reading import read_files
from kafkalab.diagnose.redact import REDACTED, Redactor
from kafkalab.diagnose.report import as_json, as_text

SECRET = "hunter2Zq"
LINES = [
    f"\tssl.key.password = {SECRET}",
    f"sasl.password={SECRET}",
    f'"sasl.password": "{SECRET}", "group.id": "g"',
    f"\tsasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required password={SECRET};",
    f"\tsasl.jaas.config = KafkaClient {{ token='x' user {SECRET} }};",
    f"KAFKA_SASL_PASSWORD={SECRET}",
    f"--password {SECRET} --topic t",
    f"Authorization: Bearer {SECRET}{SECRET}",
    f"proxy is http://user:{SECRET}@proxy.example/",
    f"oauth token: {SECRET}",
    f"client_secret => {SECRET}",
    f"api-key: {SECRET}",
    f"\tssl.keystore.key = {SECRET}",
    f"\tssl.truststore.certificates = {SECRET}",
    f"\tbasic.auth.user.info = me:{SECRET}",
    f"ERROR transactionalId=t ProducerFencedException password: {SECRET}",
    f"baseOffset: 0 lastOffset: 0 password={SECRET}",
    f"| offset: 0 CreateTime: 1 keySize: 1 payload: password={SECRET}",
    f"-----BEGIN PRIVATE KEY-----{SECRET}-----END PRIVATE KEY-----",
]


@pytest.mark.parametrize("line", LINES)
def test_a_secret_goes(line: str) -> None:
    shown = Redactor().redact(line)
    assert SECRET not in shown
    assert REDACTED in shown


@pytest.mark.parametrize(
    "line",
    [
        "\tssl.key.password = null",
        "\tsasl.jaas.config = [hidden]",
        "baseOffset: 12 lastOffset: 12 count: 1 baseSequence: 2 lastSequence: 2 producerId: 1",
        "| offset: 11 CreateTime: 1 keySize: 4 valueSize: 6 sequence: -1 headerKeys: [] endTxnMarker: ABORT",
        "[Producer clientId=p, transactionalId=token-service-0] ProducerId set to 4 with epoch 0",
        "Out of order sequence number for producer 0 at offset 4 in partition token-events-0: 9 (incoming seq. number)",
        "org.apache.kafka.common.errors.TransactionalIdAuthorizationException: Transactional Id authorization failed.",
    ],
)
def test_what_is_no_secret_stays(line: str) -> None:
    assert Redactor().redact(line) == line


def test_the_lines_of_a_key_go() -> None:
    redactor = Redactor()
    lines = ["-----BEGIN RSA PRIVATE KEY-----", SECRET, f"x{SECRET}", "-----END RSA PRIVATE KEY----- after", "later"]
    assert [redactor.redact(line) for line in lines] == [REDACTED, REDACTED, REDACTED, f"{REDACTED} after", "later"]


def test_no_output_has_a_secret(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text("\n".join(["what is this", *LINES, "transactional.id = t", "error PRODUCER_FENCED"]))
    evidence = read_files([path], Evidence())
    findings = judge(evidence)
    assert findings
    for shown in (as_text(evidence, findings), as_json(evidence, findings), page_of(evidence, findings)):
        assert SECRET not in shown
    assert SECRET not in repr(evidence)
