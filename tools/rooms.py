"""The rooms of the package and the arrows between them, drawn from the imports.

`python tools/rooms.py` writes docs/figures/rooms.svg. `tests/test_layers.py` checks that it is up
to date and that no import goes up.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "taupath"
PICTURE = ROOT / "docs" / "figures" / "rooms.svg"

# What each room is for, in the picture.
PURPOSE = {
    "cli": "the command taupath",
    "commands": "one file per subcommand",
    "report": "one HTML page",
    "display": "pictures",
    "reproduce": "the paper's tables again",
    "storage": "model files",
    "models": "raw columns in, decisions out",
    "outcomes": "rates and costs on labelled rows",
    "estimators": "scikit-learn's interface",
    "fitting": "the three functions",
    "cluster": "rows on Dask workers",
    "approximate": "nodes, bounds between them",
    "paths": "job + solutions + certificate",
    "engine": "the canonical problem, the walk",
    "_core": "compiled",
    "preparation": "columns to features",
    "tables": "files to columns",
}

# Width and height of a box, and the height of a floor, in pixels.
BOX, HEIGHT = (190, 44), 78


def module_name(file: Path, package: Path = PACKAGE) -> str:
    """Return the dotted name of a file of the package."""
    parts = [package.name, *file.relative_to(package).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(package: Path = PACKAGE) -> dict[str, set[str]]:
    """Return which modules of the package each of them imports, anywhere in its file."""
    files = {module_name(file, package): file for file in package.rglob("*.py")}
    return {
        name: {_existing(target, files) for target in _targets(file, name)} - {name}
        for name, file in files.items()
    }


def _targets(file: Path, name: str) -> Iterator[str]:
    """Yield what the import statements of a file name, wherever they stand."""
    package = name.split(".")[0]
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"{file}: a relative import, which is not followed")
            found = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            found = []
        yield from (each for each in found if each.split(".")[0] == package)


def _existing(target: str, files: dict[str, Path]) -> str:
    """Return the module that an imported name is in."""
    compiled = ".".join(target.split(".")[:2])
    while target not in files and target != compiled:
        target = target.rpartition(".")[0]
    return target if target in files else target.split(".")[0]


def room(module: str) -> str:
    """Return the room of a module, or its name if it is at the package's root."""
    return module.split(".")[1] if "." in module else module


def between_rooms(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return which rooms each room imports."""
    rooms: dict[str, set[str]] = {room(module): set() for module in graph}
    for module, targets in graph.items():
        rooms[room(module)] |= {room(target) for target in targets} - {room(module)}
    return rooms


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """Return a cycle, its first name again at the end; empty if there is none."""
    done: set[str] = set()

    def search(name: str, trail: list[str]) -> list[str]:
        if name in trail:
            return [*trail[trail.index(name) :], name]
        if name not in done:
            for target in sorted(graph.get(name, ())):
                if found := search(target, [*trail, name]):
                    return found
            done.add(name)
        return []

    return next((found for name in sorted(graph) if (found := search(name, []))), [])


def picture(graph: dict[str, set[str]]) -> str:
    """Return the rooms as SVG, with the arrows that do not follow from others."""
    everything = between_rooms(graph)
    rooms = {name: everything[name] & set(PURPOSE) for name in PURPOSE}
    below = {name: _reachable(rooms, name) for name in rooms}
    arrows = [
        (name, target)
        for name, targets in rooms.items()
        for target in targets
        if not any(target in below[other] for other in targets)
    ]
    depth = {name: _depth(rooms, name) for name in rooms}
    floor = {name: max(depth.values()) - own for name, own in depth.items()}
    place = _places(floor, arrows)
    width = max(x for x, _ in place.values()) + BOX[0] // 2 + 10
    height = (max(floor.values()) + 1) * HEIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        'font-family="sans-serif" text-anchor="middle">',
        "<title>The rooms of taupath; an arrow goes from a room to one that it imports</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8Z" fill="#889"/></marker></defs>',
    ]
    for arrow in sorted(arrows):
        half = BOX[1] // 2
        points = [
            (x, y + side)
            for x, y in (place[each] for each in _route(arrow, floor))
            for side in (-half, half)
        ]
        way = "L".join(f"{x} {y}" for x, y in points[1:-1])
        lines.append(f'<path d="M{way}" fill="none" stroke="#889" marker-end="url(#tip)"/>')
    for name in sorted(rooms, key=lambda each: (-floor[each], each)):
        x, y = place[name]
        lines += [
            f'<rect x="{x - BOX[0] // 2}" y="{y - BOX[1] // 2}" width="{BOX[0]}" '
            f'height="{BOX[1]}" rx="6" fill="#f4f6fa" stroke="#557"/>',
            f'<text x="{x}" y="{y - 3}" font-size="14" font-weight="bold" fill="#223">{name}'
            "</text>",
            f'<text x="{x}" y="{y + 14}" font-size="10.5" fill="#445">{PURPOSE[name]}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


def _reachable(rooms: dict[str, set[str]], name: str) -> set[str]:
    found = set(rooms[name])
    return found.union(*(_reachable(rooms, target) for target in rooms[name]))


def _depth(rooms: dict[str, set[str]], name: str) -> int:
    """Return the length of the longest way down to this room."""
    return max((1 + _depth(rooms, one) for one in rooms if name in rooms[one]), default=0)


def _route(arrow: tuple[str, str], floor: dict[str, int]) -> list[str]:
    """Return what an arrow passes: its room, a bend on each floor in between, its target."""
    begin, end = arrow
    bends = [f"{begin}>{end}@{k}" for k in range(floor[begin] - 1, floor[end], -1)]
    return [begin, *bends, end]


def _places(floor: dict[str, int], arrows: list[tuple[str, str]]) -> dict[str, tuple[int, int]]:
    """Return the centre of each room and of each bend; neighbours are put near one another."""
    top = max(floor.values())
    floors: list[list[str]] = [[] for _ in range(top + 1)]
    beside: dict[str, list[str]] = {}
    for name in sorted(floor):
        floors[floor[name]].append(name)
    for arrow in sorted(arrows):
        route = _route(arrow, floor)
        for k, bend in enumerate(route[1:-1], 1):
            floors[floor[arrow[0]] - k].append(bend)
        for one, other in itertools.pairwise(route):
            beside.setdefault(one, []).append(other)
            beside.setdefault(other, []).append(one)
    at: dict[str, float] = {name: k for names in floors for k, name in enumerate(names)}
    for _ in range(60):
        for names in floors:
            wish = {
                name: sum(at[other] for other in beside.get(name, [name]))
                / len(beside.get(name, [name]))
                for name in names
            }
            names.sort(key=lambda name: (wish[name], name))
            spread = _spread(names)
            middle = sum(wish.values()) / len(names) - (spread[-1] + spread[0]) / 2
            at.update({name: middle + x for name, x in zip(names, spread, strict=True)})
    left = min(at[name] for name in floor)
    unit = BOX[0] + 24
    return {
        name: (round(BOX[0] / 2 + 10 + unit * (at[name] - left)), (top - k) * HEIGHT + HEIGHT // 2)
        for k, names in enumerate(floors)
        for name in names
    }


def _spread(names: list[str]) -> list[float]:
    """Return where names of a floor stand side by side, in widths of a room; bends are thin."""
    places, x = [], 0.0
    for name in names:
        half = 0.1 if ">" in name else 0.5
        places.append(x + half)
        x += 2 * half
    return places


if __name__ == "__main__":
    PICTURE.write_text(picture(imports()), "utf-8")
    print(PICTURE.relative_to(ROOT))
