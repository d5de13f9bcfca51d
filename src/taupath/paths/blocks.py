"""Long arrays in blocks, to bound the memory that intermediate results take."""


def slices(length: int, step: int) -> list[slice]:
    """Return slices of `step` entries, but at least one, that together cover `length`."""
    step = max(step, 1)
    return [slice(first, min(first + step, length)) for first in range(0, length, step)]
