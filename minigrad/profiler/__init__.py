"""The time that each op takes, in chosen steps of a training loop. Mirrors ``torch.profiler``."""

from minigrad.autograd.profiler import record_function
from minigrad.profiler.profiler import (ProfilerAction, ProfilerActivity, profile, schedule, supported_activities,
                                        tensorboard_trace_handler)

__all__ = ["ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule", "supported_activities",
           "tensorboard_trace_handler"]
