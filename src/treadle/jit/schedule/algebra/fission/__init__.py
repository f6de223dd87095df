"""Loop fission: a loop becomes two, where no iteration waits for a part of the one before it."""
