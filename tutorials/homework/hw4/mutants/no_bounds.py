# wrong: negative and large indices write beside the window
class Array(Array):
    def write(self, i, number):
        self.counter[0] += 1
        self.memory[self.start + i] = number
