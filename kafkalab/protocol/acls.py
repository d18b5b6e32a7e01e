"""Denials of access: an authoriser that allows everything but a scenario's denials (Kafka: `StandardAuthorizer`).

As with `allow.everyone.if.no.acl.found`, what nobody forbids is allowed, so only DENY entries are needed. A principal
is the name of a client node; brokers are super users.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kafkalab.limits import quote, whole_number

READ, WRITE, CREATE, DELETE, DESCRIBE = "READ", "WRITE", "CREATE", "DELETE", "DESCRIBE"
ALTER, CLUSTER_ACTION, IDEMPOTENT_WRITE, ALL = "ALTER", "CLUSTER_ACTION", "IDEMPOTENT_WRITE", "ALL"
TWO_PHASE_COMMIT, DESCRIBE_CONFIGS, ALTER_CONFIGS = "TWO_PHASE_COMMIT", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"
OPERATIONS = (
    READ, WRITE, CREATE, DELETE, DESCRIBE, ALTER, CLUSTER_ACTION, IDEMPOTENT_WRITE, TWO_PHASE_COMMIT, DESCRIBE_CONFIGS,
    ALTER_CONFIGS, ALL,
)  # fmt: skip

TOPIC, GROUP, TRANSACTIONAL_ID, CLUSTER = "Topic", "Group", "TransactionalId", "Cluster"
NAMED_TYPES = (TOPIC, GROUP, TRANSACTIONAL_ID)
ANYTHING = "*"


@dataclass(frozen=True, slots=True)
class Deny:
    """`Deny("app", "WRITE", "TransactionalId:payments")`: this client may not do this with that.

    The principal may be "*" (every client), the operation ALL. A resource is "Cluster", or one of Topic, Group and
    TransactionalId with a name; a name that ends in "*" stands for all that begin so. ValueError for anything else.
    """

    principal: str
    operation: str
    resource: str

    def __post_init__(self) -> None:
        if not isinstance(self.principal, str) or not self.principal or is_server(self.principal):
            raise ValueError(f"only a client can be denied something, or all by '*', not {quote(self.principal)}")
        if self.operation not in OPERATIONS:
            raise ValueError(f"no operation {quote(self.operation)}; there are {', '.join(OPERATIONS)}")
        kind, _, name = self.resource.partition(":") if isinstance(self.resource, str) else ("", "", "")
        if self.resource != CLUSTER and (kind not in NAMED_TYPES or not name):
            wanted = f'"Cluster", or like "Topic:out" ({NAMED_TYPES})'
            raise ValueError(f"no resource {quote(self.resource)}; write {wanted}")

    def __repr__(self) -> str:
        return f"Deny({self.principal!r}, {self.operation!r}, {self.resource!r})"

    def concerns(self, principal: str, operation: str) -> bool:
        """Return True if it is about this principal and this operation. (Only what is *allowed* implies DESCRIBE.)"""
        return self.principal in (ANYTHING, principal) and self.operation in (ALL, operation)


def is_server(node: str) -> bool:
    """Brokers ("b1") and the controller are super users."""
    return node == "controller" or (node[:1] == "b" and whole_number(node[1:]) >= 0)


def is_denied(denials: Iterable[Deny], principal: str, operation: str, resource: str) -> bool:
    """`is_denied(acls, "app", "WRITE", "Topic:out")`: some denial is about exactly this."""
    if is_server(principal):
        return False
    return any(d.concerns(principal, operation) and _covers(d.resource, resource) for d in denials)


def _covers(pattern: str, resource: str) -> bool:
    if pattern.endswith(ANYTHING):
        return resource.startswith(pattern.removesuffix(ANYTHING))
    return pattern == resource


def is_denied_everywhere(denials: Iterable[Deny], principal: str, operation: str, kind: str) -> bool:
    """No resource of this kind is left on which it is allowed (`Authorizer.authorizeByResourceType`)."""
    if is_server(principal):
        return False
    return any(d.concerns(principal, operation) and d.resource == f"{kind}:{ANYTHING}" for d in denials)
