"""The compiled core: data rows, factorisation, deadlines, the walk, recovery."""
