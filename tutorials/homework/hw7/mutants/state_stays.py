# wrong: after the second run, the program outside repeats random numbers
class Checkpoint(Checkpoint):
    @staticmethod
    def backward(ctx, *grads):
        mg.set_rng_state(ctx.state)
        return solution.Checkpoint.backward(ctx, *grads)
