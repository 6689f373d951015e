"""All interleavings of two threads at one point: a scheduler for tests of interpreted code.

    first     . . . . . k             k+1 . . . end       Python calls us before each of its instructions
    second              . . . . end                       runs between two instructions of `first`

An `Interleaving` runs `first` up to its k-th instruction inside the watched functions. There `first` stops, and `second` runs in
another thread, to its end or until it needs a lock that `first` holds. Then `first` goes on. When `first` releases the lock,
`second` goes on before `first` executes another instruction. So only one thread runs at a time, and each k is one possible change
of threads. No clock decides, so every run does the same, with and without a GIL.

Two things are not covered: a change of threads inside one instruction, which a Python without a GIL permits; and further changes
of threads, except where `second` calls `pause`.

    Interleaving      one such run: it alone decides which thread runs
    ScheduledLock     a lock around the real lock: a thread that needs it tells the Interleaving, and does not block
    schedule_locks    puts a ScheduledLock in the place of each lock of minigrad
"""

import sys
import threading
from _thread import RLock
from contextlib import contextmanager, nullcontext

__all__ = ["Interleaving", "ScheduledLock", "schedule_locks"]

DEADLOCK = 10           # seconds: if a thread has done nothing for so long, the test fails
MONITORING = getattr(sys, "monitoring", None)       # since Python 3.12
TOOL = 3                # a number for us that no profiler, debugger or coverage tool has
UNSEEN = 0.05           # seconds that `first` gives `second` if `second` may wait for a lock of Python's


class Interleaving:
    """A run of `first` and `second`, two functions without arguments, with one change of threads.

    Args:
        k (int): `second` runs before the k-th instruction of `first` inside the watched functions. The first one is 1. With 0,
            `second` runs after `first`.
        watched (dict): end of a file's name -> names of functions in it, separated by spaces.
        codes (set): gets the code of the watched functions. Since Python 3.12, the run 0 must come first, to find them.
        patient (bool): `second` never waits for a lock of Python's. If False, `first` goes on after `UNSEEN` seconds.

    After `run`, `errors` has what the threads have raised. `reached` is False if `first` has fewer than k instructions. Then `second`
    has run after `first`.
    """

    current = None      # the run that goes on now

    def __init__(self, k, watched, codes, patient=True):
        self.left = k
        self.watched = {(file, name) for file, names in watched.items() for name in names.split()}
        self.codes = codes
        self.patient = patient
        self.reached = False
        self.waits = False          # whether `second` waits for a lock
        self.deadlock = False
        self.first_ended = False
        self.errors = []
        self.go, self.back = threading.Lock(), threading.Lock()     # locked until `second`, or `first`, may go on
        self.main = threading.current_thread()
        self.thread = None

    def run(self, first, second):
        """Run `first` in this thread and `second` in another, both to their ends. Returns self."""
        self.go.acquire()
        self.back.acquire()
        self.thread = threading.Thread(target=self.run_second, args=(second,), daemon=True)
        Interleaving.current = self
        with self.counted() if MONITORING is None or not self.codes else self.monitored():
            try:
                first()
            except BaseException as error:
                self.errors.append(error)
        self.first_ended = True
        if not self.reached:
            self.thread.start()
        elif self.thread.is_alive():
            self.go.release()       # `second` has paused
        self.thread.join(DEADLOCK)
        assert not self.thread.is_alive(), "the second thread waits forever"
        Interleaving.current = None
        return self

    def run_second(self, second):
        """What the second thread does."""
        try:
            second()
        except BaseException as error:
            self.errors.append(error)
        finally:
            self.back.release()

    @contextmanager
    def counted(self):
        """Let a trace function count the instructions, and find the code of the watched functions."""
        before = sys.gettrace()
        sys.settrace(self.watch)
        yield
        sys.settrace(before)

    @contextmanager
    def monitored(self):
        """Let Python 3.12 and later count the instructions. A trace function would miss those of the first traced call."""
        MONITORING.use_tool_id(TOOL, "interleaving")
        MONITORING.register_callback(TOOL, MONITORING.events.INSTRUCTION, self.step_monitored)
        for code in self.codes:
            MONITORING.set_local_events(TOOL, code, MONITORING.events.INSTRUCTION)
        yield
        for code in self.codes:
            MONITORING.set_local_events(TOOL, code, 0)
        MONITORING.free_tool_id(TOOL)

    def watch(self, frame, event, arg):
        """The trace function of the first thread: trace the watched functions."""
        code = frame.f_code
        if any([code.co_name == name and code.co_filename.endswith(file) for file, name in self.watched]):
            self.codes.add(code)
            if MONITORING is None:
                frame.f_trace_opcodes = True
                return self.step
        return None

    def step(self, frame, event, arg):
        """Called before each instruction, and for other events."""
        if event == "opcode":
            self.count()
        return self.step

    def step_monitored(self, code, offset):
        """Called before each instruction, in both threads."""
        if threading.current_thread() is self.main:
            self.count()

    def count(self):
        """Count an instruction of `first`, and change threads before the k-th."""
        if self.left:
            self.left -= 1
            if self.left == 0:
                self.reached = True
                self.thread.start()
                self.wait_for_second()

    def wait_for_second(self):
        """Called by `first`: wait until `second` ends, pauses or needs a lock."""
        if not self.back.acquire(timeout=DEADLOCK if self.patient else UNSEEN) and self.patient:
            raise AssertionError("the second thread waits for a lock that no ScheduledLock stands for")

    def change_to_first(self):
        """Called by `second`: let `first` run until it ends, or releases a lock for which `second` waits."""
        self.back.release()
        self.go.acquire()

    def pause(self):
        """A function for hooks: in the second thread, let `first` run to its end before `second` goes on."""
        if threading.current_thread() is self.thread and not self.first_ended:
            self.change_to_first()

    def wait_for_lock(self):
        """Called by a thread that needs a lock of the other: let the other run."""
        if threading.current_thread() is self.main:
            self.deadlock = True        # `second` has paused, or waits for a lock of ours: it cannot go on before us
            raise AssertionError("deadlock: each thread waits for a lock of the other")
        self.waits = True
        self.change_to_first()
        self.waits = False

    def lock_released(self):
        """Called by `first`, which has released a lock: if `second` waits for one, let it try again."""
        if self.waits and threading.current_thread() is self.main:
            self.go.release()
            self.wait_for_second()


class ScheduledLock:
    """The lock `lock`, for which a thread of an Interleaving waits without blocking the other."""

    def __init__(self, lock):
        self.lock = lock

    def __enter__(self):
        while not self.lock.acquire(False):
            if Interleaving.current.deadlock:
                raise AssertionError("deadlock: the other thread has given up")
            Interleaving.current.wait_for_lock()

    def __exit__(self, *exc_info):
        self.lock.release()
        if Interleaving.current is not None:
            Interleaving.current.lock_released()


def schedule_locks(monkeypatch, without=None):
    """Put a ScheduledLock in the place of each lock of minigrad's modules and classes. The lock `without` gets one that does nothing."""
    found = {without: nullcontext()}
    kinds = type(threading.Lock()), type(RLock())
    for module in [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == "minigrad"]:
        owners = [module, *[item for item in vars(module).values() if isinstance(item, type) and item.__module__ == module.__name__]]
        for owner in owners:
            for name, lock in list(vars(owner).items()):
                if isinstance(lock, kinds):
                    if lock not in found:
                        found[lock] = ScheduledLock(lock)
                    monkeypatch.setattr(owner, name, found[lock])
