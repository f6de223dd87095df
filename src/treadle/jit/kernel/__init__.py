"""The kernel IR: its grammar, builder, printer and fingerprint."""
