"""Decisions that codegen follows: where values are stored, what is fused, what a nest costs."""
