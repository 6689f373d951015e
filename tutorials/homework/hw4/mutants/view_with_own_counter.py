# wrong: a view has a counter of its own
class Array(Array):
    def view(self, start, stop):
        found = super().view(start, stop)
        found.counter = [self.counter[0]]
        return found
