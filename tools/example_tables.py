"""The examples on their page: what each shows, what it needs, and the end of its output."""

from __future__ import annotations

from tools.run_examples import examples, recorded

LINES = 5
"""How many of the last lines of an output the page shows."""


def example_list() -> list[dict[str, str]]:
    """The examples, what each needs, and its CPU-seconds."""
    rows = []
    for example in examples():
        record = recorded(example) or {"CPU-s": ""}
        rows.append(
            {
                "example": f"[{example.name}](../examples/{example.name}.py)",
                "shows": example.title.rstrip("."),
                "needs": ", ".join(f"`{one}`" for one in example.dependencies),
                "CPU-s": str(record["CPU-s"]),
            }
        )
    return rows


def example_outputs() -> str:
    """The last lines that each example prints, as Markdown."""
    parts = []
    for example in examples():
        if record := recorded(example):
            versions = ", ".join(f"{package} {version}" for package, version in record["versions"].items())
            output = record["output"]
            shown = ["...", *output[-LINES:]] if len(output) > LINES else output
            parts.append(f"### {example.name}\n\nWith {versions}:\n")
            parts.append("\n".join(["```text", *shown, "```"]) + "\n")
    return "\n".join(parts).rstrip()
