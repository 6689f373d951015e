"""Who wants to know of a write: switches that are off in an ordinary run.

    mg.debug()                             note the file and line of every save and every write     minigrad/_debug.py
    anomaly mode                           the same, and whole tracebacks                           anomaly.py
    allow_mutation_on_saved_tensors()      keep a copy of what is about to be written to            autograd/graph.py
    mg.debug.record()                      take down what the engine does                           recorder.py
    mg.cuda.stream(s)                      note on which stream a node is to run                    streams.py

They are fields of one object, for all threads, so that what runs often asks for all of them at the price of one
load: a write reads `notes_writes`, the making of a node reads `notes_nodes`, and a backward reads, once, `recording`.

Mirrors nothing: PyTorch tells which tensor was overwritten, not where.
Read next: ``version.py``, where writes are counted.
"""

import os
import sys
import threading

import cython

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep
DEMO = os.path.join(PACKAGE, "demo") + os.sep       # written as users write


_counting = threading.Lock()


@cython.binding(False)
@cython.cclass
class Switches:
    """The switches. `recording`, `notes_locations`, `notes_nodes` and `notes_writes` follow from the others."""

    def __init__(self):
        self.debug = False
        self.anomaly = False
        self.keepers = 0        # how many threads are inside allow_mutation_on_saved_tensors()
        self.recorders = ()     # those that take down what the engine does: recorder.py
        self.streams = 0        # how many threads are inside a stream of a GPU that is not the default one
        self.streamed = False   # whether any has ever been
        self.recording = False  # whether there are any
        self.notes_locations = False     # whether the file and line of saves and writes are noted
        self.notes_nodes = False     # whether anybody wants to know of new nodes
        self.notes_writes = False     # whether anybody wants to know of writes

    def update_derived(self):
        """Bring the fields that follow from the others up to date."""
        self.recording = len(self.recorders) > 0
        self.notes_locations = self.debug or self.anomaly
        self.notes_nodes = self.notes_locations or self.recording or self.streams > 0
        self.notes_writes = self.notes_locations or self.recording or self.keepers > 0

    def stream_entered(self, more):
        """A thread has entered a stream that is not the default one (1), or left it (-1)."""
        with _counting:
            self.streams += more
            self.streamed = True
            self.update_derived()

    def keeper_entered(self, more):
        """A thread has entered allow_mutation_on_saved_tensors() (1), or left it (-1)."""
        with _counting:
            self.keepers += more
            self.update_derived()

    def note(self, kind, node, data):
        """Tell the recorders of an event. Returns what `add_to` wants. To be called only if `recording`."""
        return [(recorder, recorder.note(kind, node, data)) for recorder in self.recorders]

    def add_to(self, pending, data):
        """Add to an event what was not known when `note` was told of it."""
        for recorder, noted in pending:
            recorder.add_to(noted, data)


switches = Switches()


def user_location():
    """Where the user's program is now: (file, line) of the innermost frame outside of minigrad."""
    frame = sys._getframe()
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(PACKAGE) or name.startswith(DEMO):
            return name, frame.f_lineno
        frame = frame.f_back
    return "", 0
