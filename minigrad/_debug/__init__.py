"""`mg.debug` shows the invisible parts of a graph: saved tensors, writes, holders, and every step of the engine.

    with mg.debug():                    note the file and line of every save and every write    context.py
        y = x * w; w.mul_(2)
        y.sum().backward()              the error names both lines

    mg.debug.versions(w)                the writes to a tensor's memory                         reports.py
    mg.debug.saved(y)                   the tensors that the graph of y has saved
    mg.debug.holders(y)                 the objects that keep this graph alive                  holders.py
    mg.debug.record()                   every step of the engine, and the reason for it         record.py, events.py

Read next: ``context.py``; then ``_core/graph/switches.py``, which says what is noted inside the context.
"""

from minigrad._debug.context import debug
from minigrad._debug.events import Event
from minigrad._debug.holders import Holder
from minigrad._debug.record import Record
from minigrad._debug.reports import Holders, SavedTensors, SavedValue, Versions, Write

__all__ = ["Event", "Holder", "Holders", "Record", "SavedTensors", "SavedValue", "Versions", "Write", "debug"]
