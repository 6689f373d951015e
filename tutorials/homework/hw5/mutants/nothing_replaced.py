# wrong: ignores what hooks return
class Hooks(Hooks):
    def run(self, grad):
        for function in list(self.functions.values()):
            function(grad)
        return grad
