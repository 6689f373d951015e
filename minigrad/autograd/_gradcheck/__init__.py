"""The checks of gradcheck and gradgradcheck. Begin with ``run.py``; the public functions are in ``../gradcheck.py``."""
