"""Compares random and recorded IR with OpenVINO, which runs in its own process."""
