"""What every family of ops stands on: the rule and its decorator, writing in place, ``out=``, precision. Begin with ``rule.py``."""
