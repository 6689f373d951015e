"""The base of all kernels of a GPU: the driver, memory, streams, compiling and starting kernels. Begin with ``launch.py``."""
