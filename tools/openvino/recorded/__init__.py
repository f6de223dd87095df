"""The layers that make_operators.py asks OpenVINO about, by what they do. All of this needs it."""
