"""Tools of the developers, which no user needs."""
