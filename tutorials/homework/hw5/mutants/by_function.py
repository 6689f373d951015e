# wrong: a table by function, so the same function is in it once
class Hooks:
    def __init__(self):
        self.functions = {}

    def register(self, function):
        self.functions[function] = function
        return lambda: self.functions.pop(function, None)

    def run(self, grad):
        for function in list(self.functions):
            replaced = function(grad)
            grad = grad if replaced is None else replaced
        return grad
