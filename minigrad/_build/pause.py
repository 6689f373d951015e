"""No garbage collection while minigrad is imported: all that an import makes stays, and the collector would visit it 20 times."""

import gc

__all__ = ["Pause"]


class Pause:
    """Switches the collector off, and on again when the object is freed: also if the import fails, which frees its module."""

    def __init__(self):
        self.was_on = gc.isenabled()
        gc.disable()

    def __del__(self):
        if self.was_on:
            gc.enable()
