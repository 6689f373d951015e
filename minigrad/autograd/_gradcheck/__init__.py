"""The work of gradcheck, imported by the first check. Begin with ``run.py``; the public functions are in ``../gradcheck.py``."""
