"""Cycles in a graph of transactions: its strongly connected components, without recursion."""

from __future__ import annotations

from collections.abc import Iterator

Graph = dict[str, dict[str, tuple[int, ...]]]
"""Node -> node -> the steps that prove the edge."""


def add_edge(graph: Graph, start: str, end: str, steps: tuple[int, ...]) -> None:
    """One edge more; the first proof of an edge stays."""
    graph.setdefault(start, {}).setdefault(end, steps)
    graph.setdefault(end, {})


def cycles(graph: Graph) -> Iterator[list[str]]:
    """The components of two nodes or more, each sorted: every node of one lies on a cycle (Tarjan)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: dict[str, bool] = {}
    for root in graph:
        if root in number:
            continue
        work = [(root, iter(graph[root]))]
        number[root] = low[root] = len(number)
        stack.append(root)
        on_stack[root] = True
        while work:
            node, following = work[-1]
            for other in following:
                if other not in number:
                    number[other] = low[other] = len(number)
                    stack.append(other)
                    on_stack[other] = True
                    work.append((other, iter(graph[other])))
                    break
                if on_stack.get(other):
                    low[node] = min(low[node], number[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    component: list[str] = []
                    while not component or component[-1] != node:
                        component.append(stack.pop())
                        on_stack[component[-1]] = False
                    if len(component) > 1:
                        yield sorted(component)


def proof(graph: Graph, members: list[str]) -> list[int]:
    """The steps of all edges inside a component."""
    inside = dict.fromkeys(members)
    return [step for node in members for other, steps in graph[node].items() if other in inside for step in steps]
