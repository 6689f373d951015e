"""Switches: flags for all threads that are off in an ordinary run.

    mg.debug()                             note the file and line of every save and every write     minigrad/_debug/
    anomaly mode                           the same, and whole tracebacks                           anomaly.py
    allow_mutation_on_saved_tensors()      copy a saved tensor before a write to its memory         autograd/graph.py
    mg.debug.record()                      record the steps of the engine                           observe/recorder.py
    mg.grading.swap(...)                   run the engine with one part replaced                    observe/swapped_task.py
    mg.cuda.stream(s)                      note the stream on which a node will run                 streams.py

They are fields of one object. Four derived fields combine them, so frequent code checks them all with one load:
a write reads `notes_writes`, a new node reads `notes_nodes`, and a backward reads `watched` once.

Mirrors nothing: PyTorch tells which tensor was overwritten, not where.
Read next: ``version.py``, where writes are counted.
"""

import os
import sys

import cython

from minigrad._core.graph.locks import new_lock

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep
DEMO = os.path.join(PACKAGE, "demo") + os.sep       # counts as the user's code
_counting = new_lock()


@cython.binding(False)
@cython.cclass
class Switches:
    """The switches. `recording`, `watched`, `notes_locations`, `notes_nodes` and `notes_writes` are derived from the others.

    Locked: the counts and the derived fields, so that the last thread to change a switch has seen the others (`_counting`).
    """

    def __init__(self):
        self.debug = False
        self.anomaly = False
        self.keepers = 0        # how many threads are inside allow_mutation_on_saved_tensors()
        self.recorders = ()     # the active recorders: recorder.py
        self.swapped = False    # whether a part of the engine is the user's: swapped_task.py
        self.streams = 0        # how many threads are inside a GPU stream that is not the default one
        self.streamed = False   # whether a thread has ever been inside such a stream
        self.recording = False  # whether a recorder is active
        self.watched = False    # whether a backward needs a task of the folder observe/
        self.notes_locations = False    # whether to note the file and line of saves and writes
        self.notes_nodes = False        # whether to call `note_creation` for new nodes
        self.notes_writes = False       # whether to call `announce` for writes

    def update_derived(self):
        """Update the derived fields."""
        with _counting:
            self.recording = len(self.recorders) > 0
            self.watched = self.recording or self.swapped
            self.notes_locations = self.debug or self.anomaly
            self.notes_nodes = self.notes_locations or self.recording or self.streams > 0
            self.notes_writes = self.notes_locations or self.recording or self.keepers > 0

    def stream_entered(self, more):
        """Count a thread that has entered a stream other than the default one (`more` is 1), or left it (-1)."""
        with _counting:
            self.streams += more
            self.streamed = True
            self.update_derived()

    def keeper_entered(self, more):
        """Count a thread that has entered allow_mutation_on_saved_tensors() (`more` is 1), or left it (-1)."""
        with _counting:
            self.keepers += more
            self.update_derived()

    def note(self, kind, node, data):
        """Note an event in all recorders. Call it only if `recording`. Returns the first argument for `add_to`."""
        return [(recorder, recorder.note(kind, node, data)) for recorder in self.recorders]

    def add_to(self, pending, data):
        """Add to a noted event data that were not known before."""
        for recorder, noted in pending:
            recorder.add_to(noted, data)


switches = Switches()


def user_location():
    """The place where the user's program is now: (file, line) of the innermost frame outside minigrad."""
    frame = sys._getframe()
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(PACKAGE) or name.startswith(DEMO):
            return name, frame.f_lineno
        frame = frame.f_back
    return "", 0
