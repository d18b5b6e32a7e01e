"""Take secrets out of a line before anything else reads it: passwords, tokens, JAAS configurations, keys."""

from __future__ import annotations

import re

REDACTED = "[redacted]"
WORDS = (
    *("passw", "passphrase", "pwd", "secret", "token", "jaas", "api", "access", "private", "ssl.key", "keystore"),
    *("truststore", "credential", "authorization", "user.info", "bearer", "basic", "://", "eyj", "-----begin"),
)
"""A line without any of these, in lower case, holds no secret that is known here."""
_NAME = (
    r"password|passwd|passphrase|pwd|secret|token|jaas\.config|api[._-]?key|access[._-]?key(?:[._-]?id)?|credentials?|"
    r"private[._-]?key|ssl\.key|keystore\.key|keystore\.certificate\.chain|truststore\.certificates|"
    r"user\.info|authorization"
)
_SETTING = re.compile(rf"(?i)((?:{_NAME})(?:\.value)?[\"']?\s*(?:=>?|:)\s*)(?!null\b|\[hidden\]|None\b)\S.*")
_OPTION = re.compile(rf"(?i)((?<![\w.-])-[\w.-]{{0,80}}(?:{_NAME})\s{{1,9}})\S+")
_SCHEME = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}")
_ADDRESS = re.compile(r"(://)[^\s/@:]*:[^\s/@]+@")
_WEB_TOKEN = re.compile(r"\beyJ[\w-]{5,}\.[\w-]+\.[\w-]*")
_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z ]*(?:PRIVATE KEY|CERTIFICATE)-----")
_KEY_ENDS = re.compile(r"-----END [A-Z ]*(?:PRIVATE KEY|CERTIFICATE)-----")


class Redactor:
    """Redacts the lines of one file, in their order: the lines of a PEM key belong together."""

    def __init__(self) -> None:
        self._in_key = False

    def redact(self, line: str) -> str:
        """Return the line without its secrets. What follows the name of a secret setting goes, to the line's end."""
        if self._in_key:
            end = _KEY_ENDS.search(line)
            if end is None:
                return REDACTED
            self._in_key = False
            return REDACTED + self.redact(line[end.end() :])
        low = line.lower()
        for word in WORDS:
            if word in low:
                return self._redact(line)
        return line

    def _redact(self, line: str) -> str:
        begin = _KEY_BEGINS.search(line)
        if begin is not None:
            self._in_key = _KEY_ENDS.search(line, begin.end()) is None
            line = line[: begin.start()] + REDACTED
        line = _SETTING.sub(rf"\1{REDACTED}", line)
        line = _OPTION.sub(rf"\1{REDACTED}", line)
        line = _SCHEME.sub(rf"\1 {REDACTED}", line)
        line = _ADDRESS.sub(rf"\1{REDACTED}@", line)
        return _WEB_TOKEN.sub(REDACTED, line)
