"""Random and recorded IR beside OpenVINO itself, which answers in a process of its own."""
