# wrong: runs over a list that hooks change meanwhile
class Hooks:
    def __init__(self):
        self.functions = []

    def register(self, function):
        entry = [function]
        self.functions.append(entry)
        return lambda: self.functions.remove(entry) if entry in self.functions else None

    def run(self, grad):
        for entry in self.functions:
            replaced = entry[0](grad)
            grad = grad if replaced is None else replaced
        return grad
