"""`python -m treadle`: the command line, where no script is installed."""

from treadle.cli import main

if __name__ == "__main__":
    main(prog_name="treadle")
