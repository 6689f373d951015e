"""Kernels that move numbers: layouts, views, copies. Begin with ``layout.py``."""
