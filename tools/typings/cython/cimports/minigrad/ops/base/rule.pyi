from minigrad.ops.base.rule import *
