"""Many runs: in this process, in jobs of this machine, or on Ray."""
