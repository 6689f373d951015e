# wrong: keeps addresses, which other tensors get again
def count_saved(program):
    saved = set()
    with saved_tensors_hooks(lambda tensor: saved.add(tensor.untyped_storage().data_ptr()), lambda packed: None):
        result = program()
    return result, len(saved)
