# page: docs/checking.md
treadle demo --save models
treadle check models --baseline known.json --update-baseline
treadle check models --baseline known.json --fail-on advice
