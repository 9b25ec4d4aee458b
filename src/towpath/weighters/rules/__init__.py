"""Rules: weighters that look at one mini-batch at a time, one family a file.

    rule           what all rules share: `weights(batch, state)`, stepped through a window
    uniform        equal weights, and random ones as a control
    exploration    more weight on hard tasks, or on easy ones (the paper's baselines)
    agreement      gradients alone: agreement, the least-norm point; the oracle of experiments
    robust         the hardest tail, the hardest group
    balancing      groups balanced by their pace or their noise
    selection      only the tasks of low loss
    schedule       equal weights first, then trusted tasks only
    influence      what a task does for the targets, to first order
    lookahead      the same after a step that was tried
    network        a weight learnt as a function of the loss
    matching       tasks whose inputs look like the targets'
    scheduler      a recurrent network that draws tasks

    groups, clusters, trained       what several of them share: kinds of tasks, a small Adam
    minibatch, targets, site        what a rule sees

A rule of a user's derives from the same base class and is treated as ours are.
"""
