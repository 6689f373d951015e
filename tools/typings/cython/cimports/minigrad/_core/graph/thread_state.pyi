from minigrad._core.graph.thread_state import *
