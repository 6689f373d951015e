"""How minigrad runs: compiled or interpreted, with which libraries, on how many threads. Imports nothing of the rest."""
