"""Rules: weighters that look at one mini-batch at a time, one family a file.

    rule           what all rules share: `weights(batch, state)`, stepped through a window
    uniform        equal weights, and random ones as a control
    exploration    more weight on hard tasks, or on easy ones (the paper's baselines)
    agreement      agreement of gradients; the oracle of experiments with wrong labels
    robust         the hardest tail, the hardest group
    selection      only the tasks of low loss
    influence      what a task does for the targets, one step ahead

A rule of a user's derives from the same base class and is treated as ours are.
"""
