"""No garbage collection while minigrad is imported: what an import makes stays, and the collector would visit it 20 times.

That takes 5% of the import. When we switch the collector on again, it would first visit all new objects, which takes as long. So we
move them to its oldest generation, where it looks rarely: `gc.freeze` moves all objects out of its sight, and `gc.unfreeze` from
there to the oldest generation. Neither visits an object.

A Python without a GIL leaves it on: if an import fails there, only the collector frees the module, and with it our `Pause`.
"""

import gc
import sys

__all__ = ["Pause"]


class Pause:
    """Switches the collector off, and on again when the object is freed: also if the import fails, which frees its module."""

    def __init__(self):
        self.was_on = gc.isenabled() and "free-threading" not in sys.version
        if self.was_on:
            gc.disable()

    def __del__(self):
        if self.was_on:
            if hasattr(gc, "freeze") and not gc.get_freeze_count():     # unless somebody else has frozen objects
                gc.freeze()
                gc.unfreeze()
            gc.enable()
