"""Commands for looking into a model: `report` and `profile`."""
