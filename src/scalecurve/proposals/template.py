"""The proposal file that `scalecurve assess --init` writes: every part, what it means, optional ones commented out."""

TEMPLATE = """\
# A scaling proposal.  Fill in what you know and leave the rest commented out: what is missing is said to be missing.
# Then: scalecurve assess proposal.toml

title = "Our cluster, from 256 to 512 GPUs"
workers = 512                   # the proposed K
workers_today = 256             # what there is now (default: the baseline of the evidence)
k_unit = "gpus"
regime = "strong"               # strong (total work fixed), weak (work per worker fixed), mixed or unknown
floor = 0.7                     # the efficiency below which money is wasted
# bend_below = 0.7              # where the curve is said to bend (default: the floor)
# least_gain = 0.02             # a gain in speed smaller than this does not count
# buys_faster_network = true    # the proposal also buys a network: is it worth it?
# time_at_baseline = "10h"      # T(K0), so that dollars can be told

# [claim]                       # what the seller says
# workers = 512
# speedup = 400                 # or efficiency = 0.78
# source = "slide 7"

# [serial]                      # question 1
# share = 0.05
# low = 0.03
# high = 0.08
# source = "profile of one training step"

# [strong]                      # measured or stated efficiencies with the total work fixed
# study = "study.json"          # or a plain CSV, or points instead:
# baseline = 1                  # K0 of the points
# source = "our benchmark"
# points = [
#   { k = 64, efficiency = 0.87, low = 0.85, high = 0.89 },
#   { k = 128, below = 0.85 },  # or at_least, speedup, relative_speedup (over the baseline)
# ]

# [weak]                        # the same with the work per worker fixed
# points = [ { k = 256, at_least = 0.9 } ]

# [batch]                       # for training jobs
# size = 1024                   # global batch, in samples or tokens
# critical = "8Mi"              # beyond it more examples per step stop helping

# [kernel]                      # question 3
# flop_per_byte = 60
# accelerator = "h100"           # a named one, or peak_flops = "989T" and bandwidth = "3.35TB/s"

# [collective]                  # question 4: per step
# operation = "allreduce"
# bytes = "350MB"
# network = "nvlink+ib400"       # a named network, or latency = "10us" and bandwidth = "400Gb/s"
# workers_per_node = 8
# step_time = "8s"              # the step's work on one worker
# hidden = 0.5                  # share of the exchange that runs behind the work
# algorithm = "ring"            # default: the fastest

# [stragglers]                  # question 5
# spread = 0.05                 # standard deviation of the logarithm of a worker's step time
# slow_chance = 0.001           # chance that one worker is slow in a step

# [price]                       # question 6
# per_worker_hour = "2.50 USD"  # or of = "h100@lambda" from the dated catalog
# jobs = 1000
# deadline = "30d"
# budget = "600000 USD"
# setup = "5min"
# minimum = "1h"

# [scale_up]                    # question 7
# times_faster = 4              # than one worker
# per_hour = "20 USD"
"""
