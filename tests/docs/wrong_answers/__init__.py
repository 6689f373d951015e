"""Wrong answers to the exercises of the tutorials, as programs that have the names of a tutorial and of its solutions.

    WRONG["00"]["check_neuron"]     a list of programs; each binds `wrong`

The check refuses each answer, and says the sentence about the idea behind it. test_editions.py runs them. Wrong predictions are
the keys of `Check.wrong`, and need no program.
"""

from tests.docs.wrong_answers import (
         data_parallel,
         graphs_and_saved_tensors,
         hooks_and_functions,
         operators_and_modules,
         several_ranks,
)

WRONG = {**graphs_and_saved_tensors.WRONG, **hooks_and_functions.WRONG, **operators_and_modules.WRONG, **several_ranks.WRONG,
         **data_parallel.WRONG}
