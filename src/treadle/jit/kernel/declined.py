"""Why a region, or a step of it, has no native code: an exception that holds the reason."""


class Declined(Exception):
    """The region, or a step of it, has no native code; holds the reason."""


class Unprofitable(Declined):
    """Native code is possible, and another engine is expected to be faster."""

    def __init__(self, engine: str, why: str) -> None:
        super().__init__(f"{engine} is expected to be faster: {why}")
        self.engine, self.why = engine, why
