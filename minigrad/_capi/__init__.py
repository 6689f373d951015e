"""What minigrad uses of CPython and NumPy beyond their documented interfaces. All of it is in the headers beside this file.

Each use is a group in these headers, with its reason and with a form that keeps to the documented interface. The plain form gives
the same results, only slower. ``make plain`` builds minigrad with the plain forms and runs the tests of the core, the kernels
and the modules. So a use that a new Python or NumPy breaks can be switched off alone, with ``MINIGRAD_PLAIN=`` and its name:

    counts      how many references an object has, to write into an array that nobody else can see
    slots       the slots of a class, set or copied after the class is ready
    classes     a class for each op's nodes, which differs only in its name
    memory      the next tensor or node is made of a dead one
    arrays      the fields of a dead array, to use the object again for the next view
    sizes       the digits of a small int
    calls       the C function that calls a function of Cython's

Nothing here runs: the headers are for the C compiler. Mirrors nothing in PyTorch, whose tensors are objects of C++.
"""
