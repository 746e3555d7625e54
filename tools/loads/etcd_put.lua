wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '{"key": "Zm9v", "value": "YmFy"}'
