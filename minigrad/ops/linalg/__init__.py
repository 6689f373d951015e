"""Linear algebra: products, norms, decompositions, systems of equations. Begin with ``matrix.py``."""
