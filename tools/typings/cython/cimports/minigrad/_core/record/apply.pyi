from minigrad._core.record.apply import *
