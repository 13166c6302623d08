"""A check of values by a JSON schema: the keywords that our schema uses, and an error for any other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}
SAYS_NOTHING = {"$schema", "$defs", "title", "description"}
CHECKED = {"$ref", "anyOf", "const", "enum", "type", "minimum", "maximum"}
CHECKED |= {"properties", "required", "additionalProperties", "items", "minItems", "maxItems"}


def errors(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any] | None = None, at: str = "$") -> list[str]:
    """What is wrong with a value by a schema, each with the place; empty if nothing is."""
    root = schema if root is None else root
    if unknown := set(schema) - SAYS_NOTHING - CHECKED:
        raise ValueError(f"this check does not know {unknown}")
    found = []
    if "$ref" in schema:
        found += errors(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, at)
    if "anyOf" in schema and all(errors(value, one, root, at) for one in schema["anyOf"]):
        found.append(f"{at} is none of {len(schema['anyOf'])} kinds: {errors(value, schema['anyOf'][0], root, at)}")
    if "const" in schema and value != schema["const"]:
        found.append(f"{at} is {value!r}, not {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{at} is {value!r}, not one of {schema['enum']}")
    if "type" in schema and not is_of(value, schema["type"]):
        return [*found, f"{at} is {value!r}, not {schema['type']}"]
    if is_of(value, "number"):
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            found.append(f"{at} is {value}, out of range")
    elif isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            found.append(f"{at} has {len(value)} items")
        for number, one in enumerate(value):
            found += errors(one, schema.get("items", {}), root, f"{at}[{number}]")
    elif isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        found += [f"{at} lacks {name!r}" for name in schema.get("required", ()) if name not in value]
        for name, one in value.items():
            if name not in known and others is False:
                found.append(f"{at} has {name!r}, which is not known")
            else:
                found += errors(one, known.get(name, others if isinstance(others, dict) else {}), root, f"{at}.{name}")
    return found


def is_of(value: Any, kind: str | list[str]) -> bool:
    """Whether a value is of a type, or of one of several; True and False are no numbers."""
    if isinstance(kind, list):
        return any(is_of(value, one) for one in kind)
    return isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
