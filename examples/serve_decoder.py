"""A decoder behind HTTP: one session for all requests, warmed up, and bounded.

pip install fastapi uvicorn
treadle demo --save models
uvicorn examples.serve_decoder:app
curl 'localhost:8000/decode?first_token=5&limit=20'
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
from fastapi import FastAPI, HTTPException, Query

import treadle

MODEL = os.environ.get("DECODER", "models/decoder.onnx")
BOUNDS = treadle.RunOptions(max_seconds=2.0)
state: dict[str, treadle.InferenceSession] = {}


@asynccontextmanager
async def ready(app: FastAPI) -> AsyncIterator[None]:
    """Load the model and compile its loop before the first request."""
    session = treadle.InferenceSession(MODEL)
    session.warm_up({"first_token": np.array(1), "limit": np.array(4)})
    state["session"] = session
    yield
    state.clear()


app = FastAPI(lifespan=ready)


@app.get("/decode")
def decode(
    first_token: int = Query(ge=0, lt=64), limit: int = Query(default=50, ge=0, le=1000)
) -> dict[str, Any]:
    """The tokens after the first one. FastAPI runs this in a thread; native code needs no GIL."""
    feeds = {"first_token": np.array(first_token), "limit": np.array(limit)}
    try:
        (tokens,) = state["session"].run(["tokens"], feeds, BOUNDS)
    except treadle.LimitExceeded as error:
        raise HTTPException(503, str(error)) from error
    except treadle.RunError as error:
        raise HTTPException(422, str(error)) from error
    return {"tokens": tokens.tolist()}
