"""YAML from untrusted files: plain values of bounded size, every key once.

PyYAML alone silently takes the last of two equal keys, recurses as deep as a file nests, and
expands the few lines of an "alias bomb" to billions of values. All of that is a `yaml.YAMLError`
here, like any other malformed text.
"""

from typing import Any, NamedTuple

import yaml

from towpath.wording import quoted

DEEPEST = 40
"""most levels of lists and mappings; a recipe has four"""
MOST_VALUES = 100_000
"""most values, with every alias written out"""
LONGEST = 2**20
"""most characters of the text"""
_MOST_BITS = 1024


def load_yaml(text: str) -> Any:
    """Return the plain values of a text; raise yaml.YAMLError if it is malformed or too large."""
    if len(text) > LONGEST:
        raise yaml.YAMLError(f"it has {len(text):,} characters; at most {LONGEST:,} are read")
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _check_size(node)
        return loader.construct_document(node)
    except ValueError as error:  # a number of too many digits, a day that the month does not have
        raise yaml.YAMLError(str(error)) from error
    finally:
        loader.dispose()


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, which also refuses deep nesting and repeated keys."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Compose a node as PyYAML does, and refuse one that nests too deep."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise yaml.YAMLError(f"it nests more than {DEEPEST} levels deep")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def compose_mapping_node(self, anchor: dict[Any, yaml.Node]) -> yaml.MappingNode:
        """Compose a mapping as PyYAML does, and refuse a key that occurs twice."""
        node = super().compose_mapping_node(anchor)
        lines: dict[tuple[str, str], int] = {}
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                own, line = (key.tag, key.value), key.start_mark.line + 1
                if own in lines:
                    raise yaml.YAMLError(
                        f"the key {quoted(key.value)} stands twice, in lines {lines[own]} and "
                        f"{line}"
                    )
                lines[own] = line
        return node

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        """Construct an integer as PyYAML does, and refuse one of too many digits."""
        value = int(super().construct_yaml_int(node))
        if value.bit_length() > _MOST_BITS:
            raise yaml.YAMLError(f"line {node.start_mark.line + 1} has a number beyond all use")
        return value


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)


def _check_size(root: yaml.Node) -> None:
    """Raise YAMLError if a value contains itself, or is too large with aliases written out."""
    known: dict[int, _Size] = {}
    within: set[int] = set()

    def size(node: yaml.Node) -> _Size:
        """Return the size of a node with its aliases written out."""
        if id(node) in within:
            line = node.start_mark.line + 1
            raise yaml.YAMLError(f"the value that begins in line {line} holds itself by an alias")
        if id(node) not in known:
            within.add(id(node))
            parts = [size(child) for child in _children(node)]
            within.discard(id(node))
            deepest = max((part.depth for part in parts), default=0)
            known[id(node)] = _Size(1 + sum(part.values for part in parts), 1 + deepest)
        return known[id(node)]

    whole = size(root)
    if whole.depth > DEEPEST:
        raise yaml.YAMLError(f"its aliases nest more than {DEEPEST} levels deep")
    if whole.values > MOST_VALUES:
        raise yaml.YAMLError(f"its aliases stand for more than {MOST_VALUES:,} values")


class _Size(NamedTuple):
    """The size of a value with its aliases written out."""

    values: int
    depth: int


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        return list(node.value)
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return []
