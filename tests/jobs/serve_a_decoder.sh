# page: docs/deploying.md
# needs: fastapi, uvicorn
pip install fastapi uvicorn
treadle demo --save models
uvicorn --app-dir examples --port 8017 serve_decoder:app &
curl --retry 20 --retry-delay 1 --retry-connrefused 'localhost:8017/decode?first_token=5&limit=20'
kill %1
