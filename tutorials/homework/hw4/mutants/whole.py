# wrong: keeps all digits, and so all of the memory
class Half(Saved):
    pass
