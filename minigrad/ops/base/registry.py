"""The registry of ops: name -> `Primitive`.

`minigrad.ops.base.rule.op` adds each op. The gradient checks, the device parity tests and the table of ops in the docs go
through all of them. A lower file that cannot import an op finds it here by its name.
"""

REGISTRY = {}
