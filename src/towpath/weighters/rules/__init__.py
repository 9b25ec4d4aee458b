"""Rules: weighters that decide one mini-batch at a time, one family per file.

    rule           what all rules share: `weights(batch, state)`, applied through a window
    uniform        equal weights, and random ones as a control
    exploration    more weight on hard tasks, or on easy ones (the paper's baselines)
    agreement      gradients alone: agreement, the least-norm point; the oracle of experiments
    robust         the hardest tail, the hardest group
    balancing      groups balanced by their pace or their noise
    selection      only the tasks of low loss
    chance         only the tasks that are classified better than by guessing
    evidence       only the tasks whose labels mean something
    schedule       equal weights first, then trusted tasks only
    influence      the effect of a task on the targets, to first order
    lookahead      the same after a trial step
    network        a weight learnt as a function of the loss
    matching       tasks whose inputs resemble the targets'
    scheduler      a recurrent network that draws tasks

    groups, clusters, trained       shared by several rules: kinds of tasks, a small Adam
    right_labels                    right and wrong labels told apart, over many tasks
    seen, minibatch, targets, site  the data that a rule gets

A user's rule derives from the same base class and is treated in the same way.
"""
