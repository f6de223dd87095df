"""`python -m treadle.cli` does what `treadle` does."""

from treadle.cli.main import main

if __name__ == "__main__":
    main(prog_name="treadle")
