"""What all kernels of a GPU stand on: the driver, memory, streams, compiling and starting kernels. Begin with ``launch.py``."""
