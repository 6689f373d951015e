# wrong: a copy starts at the version of the original
class Array(Array):
    def copy(self):
        found = super().copy()
        found.counter = [self.counter[0]]
        return found
