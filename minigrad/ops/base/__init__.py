"""The base of all families of ops: the rule and its decorator, in-place writes, ``out=``, precision. Read first: ``rule.py``."""
