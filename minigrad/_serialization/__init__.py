"""The formats of saved files.

    pickler.py              any object -> a pickle and the storages of its tensors      writes PyTorch's pickles
    unpickler.py            a pickle -> the object; runs none of its code               reads PyTorch's pickles
    archive.py              the zip file around both, and PyTorch's older files
    storages.py             storages of a file as arrays, and tensors on them
    safetensors_format.py   files of the format safetensors, which have no pickle

Read first: ``minigrad/serialization.py``.
"""
