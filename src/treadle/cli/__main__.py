"""`python -m treadle.cli`, the same as `treadle`."""

from treadle.cli.main import main

if __name__ == "__main__":
    main(prog_name="treadle")
