"""Not the engine: that is ``minigrad/_core/engine``. This file only says that another project has overwritten minigrad.

The ``__init__.py`` of the other project that PyPI calls ``minigrad`` imports ``minigrad.engine``. Where it has overwritten ours,
that import finds this package first, and the check raises. See Note [The name on PyPI] in ``minigrad/_build/__init__.py``.
"""

import minigrad._build  # its check raises
