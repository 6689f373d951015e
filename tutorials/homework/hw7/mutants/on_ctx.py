# wrong: keeps the arguments as attributes, so nobody notices a write to them
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, function, *args):
        ctx.function, ctx.args, ctx.state = function, args, mg.get_rng_state()
        return function(*args)

    @staticmethod
    def backward(ctx, *grads):
        args = [arg.detach().requires_grad_(need) if isinstance(arg, mg.Tensor) else arg
                for arg, need in zip(ctx.args, ctx.needs_input_grad[1:])]
        state = mg.get_rng_state()
        mg.set_rng_state(ctx.state)
        with mg.enable_grad():
            results = ctx.function(*args)
        mg.set_rng_state(state)
        pairs = [(result, grad) for result, grad in zip(results if isinstance(results, tuple) else (results,), grads)
                 if result.requires_grad]
        mg.autograd.backward(*zip(*pairs))
        return None, *[arg.grad if isinstance(arg, mg.Tensor) else None for arg in args]
