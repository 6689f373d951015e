from minigrad._core.graph.capi import *
