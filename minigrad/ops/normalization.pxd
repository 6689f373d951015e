from minigrad._core.apply cimport call
from minigrad._core.state cimport State, current
