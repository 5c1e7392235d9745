"""What schemathesis has to be told: how lines of JSON are written, and that a job takes its document before it reads it."""
import json

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def ndjson(_context, value):
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()
