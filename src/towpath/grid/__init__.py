"""Many runs at once: in this process, in processes of this machine, or on Ray."""
