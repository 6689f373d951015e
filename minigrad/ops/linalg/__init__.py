"""Linear algebra: products, norms, decompositions, systems of equations. Read first: ``matrix.py``."""
