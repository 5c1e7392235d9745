#!/usr/bin/env python3
"""Writes server/openapi.json, which the daemon serves: run it after changing a call or a schema.

The calls stand below; documents come from proto/schema, so that there is one description of each. A test compares the file
with what this script makes, its calls with the daemon's table, and its promises with what the daemon does.
"""
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMAS = os.path.join(HERE, "..", "proto", "schema")
JOB_ID = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
DIGEST = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
TIME = {"type": "string", "format": "date-time"}
COUNT = {"type": "integer", "minimum": 0}
STATES = ["queued", "running", "succeeded", "failed", "canceled", "expired"]
EXAMPLE = {
    "schema": "remat/graph/v1", "num_fwd_outputs": 1,
    "nodes": [
        {"name": "x", "op": "placeholder", "target": "primals_1", "val": {"dtype": "float32", "shape": [64]}},
        {"name": "t", "op": "placeholder", "target": "tangents_1", "val": {"dtype": "float32", "shape": [64]}},
        {"name": "y", "op": "call_function", "target": "aten.sin.default", "args": ["%x"],
         "val": {"dtype": "float32", "shape": [64]}},
        {"name": "c", "op": "call_function", "target": "aten.cos.default", "args": ["%x"],
         "val": {"dtype": "float32", "shape": [64]}},
        {"name": "g", "op": "call_function", "target": "aten.mul.Tensor", "args": ["%t", "%c"],
         "val": {"dtype": "float32", "shape": [64]}},
        {"name": "output", "op": "output", "target": "output", "args": ["%y", "%g"]}]}


def ref(name):
    return {"$ref": "#/components/schemas/" + name}


def relocate(schema, prefix):
    """A schema document as a component: its own references begin there."""
    if isinstance(schema, dict):
        return {key: "#/components/schemas/" + prefix + value[1:] if key == "$ref" and value.startswith("#/")
                else relocate(value, prefix) for key, value in schema.items() if key not in ("$schema", "$id")}
    if isinstance(schema, list):
        return [relocate(item, prefix) for item in schema]
    return schema


def document(file, name):
    with open(os.path.join(SCHEMAS, file), encoding="utf-8") as f:
        return relocate(json.load(f), name)


def json_content(schema, **more):
    return {"content": {"application/json": {"schema": schema, **more}}}


HEADERS = {"X-Request-Id": {"description": "The request in the log; the caller's own, if it sent one.", "schema": {"type": "string"}}}
RETRY = {"Retry-After": {"description": "Seconds.", "schema": COUNT}}


def problem(description, headers=None):
    return {"description": description, "headers": {**HEADERS, **(headers or {})},
            "content": {"application/problem+json": {"schema": ref("Problem")}}}


PROBLEMS = {
    "400": problem("Not HTTP as it should be, an unknown query parameter, or not JSON."),
    "401": problem("No token, or none that is known.", {"WWW-Authenticate": {"schema": {"type": "string"}}}),
    "403": problem("The token lacks the scope; or Host or Origin belongs to somebody else."),
    "404": problem("Nothing of the caller's has that name."),
    "406": problem("Neither JSON nor plain text is wanted."),
    "408": problem("The request did not arrive in time."),
    "409": problem("The job was cancelled, or the ranks of the group disagree."),
    "410": problem("The job was removed."),
    "411": problem("A body without Content-Length or Transfer-Encoding: chunked."),
    "413": problem("Too many bytes, nodes, levels or too much memory: says which, and the limit."),
    "415": problem("Not JSON, or a coding that is not known."),
    "422": problem("JSON, but not a valid request: names the place and what is allowed."),
    "429": problem("Too much for one token.", RETRY),
    "500": problem("A fault of the server's."),
    "501": problem("An option of a later version."),
    "503": problem("The queue is full, the server is shutting down, or the store fails.", RETRY),
    "504": problem("A deadline or the effort limit was reached, or a rank is missing."),
    "507": problem("The disk of the store is full."),
}


def problems(*statuses):
    return {status: PROBLEMS[status] for status in statuses}


WAIT = {"name": "Prefer", "in": "header", "description": "`wait=N`: seconds, at most 60. `respond-async`: 202 at once.",
        "schema": {"type": "string", "pattern": "^(respond-async|wait=[0-9]{1,2})$"},
        "examples": {"wait": {"value": "wait=5"}, "async": {"value": "respond-async"}}}
WAIT_LONG = {**WAIT, "description": "`wait=N`: seconds, 60 without it, at most `--run-timeout`.",
             "schema": {"type": "string", "pattern": "^wait=[0-9]{1,3}$"}, "examples": {"wait": {"value": "wait=300"}}}
IF_NONE_MATCH = {"name": "If-None-Match", "in": "header", "schema": {"type": "string"}}
PRIORITY = {"name": "Priority", "in": "header", "description": "RFC 9218: `u=4` to `u=7` go behind interactive jobs.",
            "schema": {"type": "string", "pattern": "^u=[0-7]$"}}
ETAG = {"ETag": {"description": "The digest and the explain level.", "schema": {"type": "string"}}}
APPLIED = {"Preference-Applied": {"schema": {"type": "string"}}}
JOB_LINKS = {
    "job": {"operationId": "getJob", "parameters": {"id": "$response.body#/id"}},
    "plan": {"operationId": "getJobPlan", "parameters": {"id": "$response.body#/id"}},
    "graph": {"operationId": "getJobGraph", "parameters": {"id": "$response.body#/id"}},
    "events": {"operationId": "getJobEvents", "parameters": {"id": "$response.body#/id"}},
    "report": {"operationId": "getJobReport", "parameters": {"id": "$response.body#/id"}},
    "node": {"operationId": "getJobNode", "parameters": {"id": "$response.body#/id", "name": "c"}},
    "export": {"operationId": "getJobExport", "parameters": {"id": "$response.body#/id", "as": "dot"}},
    "whatIf": {"operationId": "postWhatIf", "parameters": {"id": "$response.body#/id"}},
    "cancel": {"operationId": "deleteJob", "parameters": {"id": "$response.body#/id"}}}
ACCEPTED = {"description": "The job is on disk and goes on.",
            "headers": {**HEADERS, **APPLIED, "Location": {"schema": {"type": "string"}}}, **json_content(ref("Job")),
            "links": JOB_LINKS}
SUBMIT_PROBLEMS = problems("400", "401", "403", "408", "409", "411", "413", "415", "422", "429", "500", "501", "503", "504", "507")
TEXT = {"text/plain": {"schema": {"type": "string"}}}


def job_parameter():
    return {"name": "id", "in": "path", "required": True, "schema": JOB_ID}


def submit(operation, summary, schema, links=None):
    answer = {"description": "The answer, also when it is that there is no plan.", "headers": {**HEADERS, **ETAG, **APPLIED},
              "content": {"application/json": {"schema": schema}, **TEXT}}
    if links:
        answer["links"] = links
    return {"operationId": operation, "summary": summary, "parameters": [WAIT, PRIORITY],
            "requestBody": {"required": True, "content": {"application/json": {
                "schema": ref("Request"), "examples": {"graph": {"value": EXAMPLE}}}}},
            "responses": {"200": answer, "202": ACCEPTED, **SUBMIT_PROBLEMS, **problems("406")}}


def get(operation, summary, response, *statuses, parameters=()):
    return {"operationId": operation, "summary": summary, "parameters": list(parameters),
            "responses": {"200": response, **problems("400", "401", "403", "429", *statuses)}}


def about(operation, summary, content, *parameters):
    """A call that works something out about the document of a job."""
    response = {"description": "The answer, also when it is that there is no plan.", "headers": {**HEADERS, **ETAG, **APPLIED},
                "content": content}
    call = get(operation, summary, response, "404", "410", "413", "422", "500", "501", "503", "504",
               parameters=[job_parameter(), *parameters, WAIT_LONG, IF_NONE_MATCH])
    call["responses"]["304"] = {"description": "The caller has it.", "headers": {**HEADERS, **ETAG}}
    return call


def query(name, schema, description, required=False, example=None):
    said = {"name": name, "in": "query", "required": required, "schema": schema, "description": description}
    return said if example is None else {**said, "examples": {"one": {"value": example}}}


def calls_about_jobs():
    html = {"text/html": {"schema": {"type": "string"}}}
    name = {"type": "string", "minLength": 1, "maxLength": 170}
    node = about("getJobNode", "One node: why it is where it is, and what the other choices would cost.",
                 {"application/json": {"schema": ref("Node")}, **TEXT}, query("name", name, "Which one.", True, "c"))
    node["responses"].update(problems("406"))
    what_if = submit("postWhatIf", "The same request with other tags and options, and what that moves: a job of its own.", ref("WhatIf"))
    what_if["parameters"].insert(0, job_parameter())
    what_if["requestBody"]["content"]["application/json"] = {
        "schema": ref("Change"), "examples": {"save": {"value": {"tags": {"c": "must_save"}}}, "budget": {
            "value": {"options": {"activation_memory_budget": 0.5}}}}}
    what_if["responses"].update(problems("404", "410"))
    reports = submit("postReport", "A report of a graph, or of PyTorch's min_cut_information, as one HTML file.", {})
    reports["requestBody"]["content"]["application/json"]["schema"] = {"anyOf": [ref("Request"), {"type": "object"}]}
    reports["responses"]["200"]["content"] = html
    return {
        "/v1/jobs/{id}/node": {"get": node},
        "/v1/jobs/{id}/report": {"get": about("getJobReport", "The report of a job as one HTML file that asks nothing of any server.",
                                              html, query("style", {"enum": ["file", "fragment"]}, "The whole file, or its main part alone."))},
        "/v1/jobs/{id}/export": {"get": about(
            "getJobExport", "The flow network for other tools, or PyTorch's min_cut_information.",
            {"application/json": {"schema": {}}, "text/vnd.graphviz": {"schema": {"type": "string"}}, **TEXT},
            query("as", {"enum": ["min-cut-information", "dot", "dimacs"]}, "The format.", True, "dot"),
            query("around", name, "The neighbourhood of a node; not with min-cut-information."),
            query("depth", {"type": "integer", "minimum": 0, "maximum": 999999999}, "How far from that node."))},
        "/v1/jobs/{id}/what-if": {"post": what_if},
        "/v1/reports": {"post": reports}}


def table(**members):
    """An object that has these members, and may get more."""
    return {"type": "object", "required": list(members), "properties": members}


COUNT = {"type": "integer", "minimum": 0}
MILLISECONDS = {"type": "number", "minimum": 0}
OPS = table(
    engine={"type": "string"}, time={"type": "string", "format": "date-time"}, uptime_ms=MILLISECONDS,
    phase={"enum": ["serving", "draining", "stopping"]}, ready={"type": "boolean"},
    failed={"type": "array", "items": {"type": "string"}}, workers=table(all=COUNT, busy=COUNT),
    queue=table(interactive=COUNT, batch=COUNT, limit=COUNT, oldest_ms=MILLISECONDS),
    running={"type": "array", "items": table(
        owner={"type": "string"}, call={"type": "string"}, phase={"type": "string"}, queued_ms=COUNT, running_ms=COUNT)},
    principals={"type": "array", "items": table(
        name={"type": "string"}, queued=COUNT, running=COUNT, rate_limit=COUNT, queue_limit=COUNT, running_limit=COUNT)},
    cache=table(bytes=COUNT, limit_bytes=COUNT, plans=COUNT, hits=COUNT, store_hits=COUNT, mapped=COUNT, merged=COUNT, misses=COUNT),
    store=table(up={"type": "boolean"}, jobs=COUNT, unfinished_jobs=COUNT, answers=COUNT, bytes=COUNT, limit_bytes=COUNT,
                free_disk_bytes=COUNT, waiting_writes=COUNT, failed_writes=COUNT, dropped_answers=COUNT, swept=COUNT),
    connections=table(open=COUNT, limit=COUNT, requests=COUNT, requests_ever=COUNT),
    body_memory=table(bytes=COUNT, limit_bytes=COUNT),
    process=table(pid=COUNT, resident_bytes=COUNT, open_files=COUNT, most_open_files=COUNT, threads=COUNT, cpu_ms=MILLISECONDS),
    config={"type": "object", "additionalProperties": table(value={"type": "string"}, **{"from": {"type": "string"}})})


def probe(operation, summary):
    response = {"description": "Yes.", "headers": HEADERS, "content": {
        "application/json": {"schema": {"type": "object"}}, **TEXT}}
    return {"operationId": operation, "summary": summary, "responses": {"200": response, **problems("400", "403", "503")}}


def page_problem(status):
    return {"description": PROBLEMS[status]["description"] + " As a page.",
            "headers": PROBLEMS[status]["headers"], "content": {"text/html": {"schema": {"type": "string"}}}}


def page(operation, summary, *statuses, parameters=()):
    """For people. What went wrong is a page too."""
    return {"operationId": operation, "summary": summary, "parameters": list(parameters), "responses": {
        "200": {"description": "The page.", "headers": HEADERS, "content": {"text/html": {"schema": {"type": "string"}}}},
        **{status: page_problem(status) for status in ("400", "401", "403", "429", "503", *statuses)}}}


def asset():
    file = {"description": "The file; for ever the same when `v` is its ETag.", "headers": {**HEADERS, **ETAG}, "content": {
        type_: {"schema": {"type": "string"}} for type_ in ("text/css", "text/javascript", "image/svg+xml")}}
    call = {"operationId": "getAsset", "summary": "A file that the pages load.", "parameters": [
        {"name": "name", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[a-z]+[.][a-z]+$"}, "example": "site.css"},
        {"name": "v", "in": "query", "schema": {"type": "string"}}, IF_NONE_MATCH],
            "responses": {"200": file, "304": {"description": "The caller has it.", "headers": {**HEADERS, **ETAG}},
                          **problems("400", "403", "404")}}
    return {"get": call}


def paths():
    plan = {"description": "The plan.", "headers": {**HEADERS, **ETAG}, "content": {"application/json": {"schema": ref("Plan")}}}
    not_modified = {"304": {"description": "The caller has it.", "headers": {**HEADERS, **ETAG}}}
    by_digest = get("getPlan", "A plan made before, by its digest.", plan, "404", "503", parameters=[
        {"name": "digest", "in": "path", "required": True, "schema": DIGEST},
        {"name": "explain", "in": "query", "schema": {"enum": ["none", "summary", "full"]}}, IF_NONE_MATCH])
    by_digest["responses"].update(not_modified)
    job_plan = get("getJobPlan", "The answer of a job.", {
        "description": "The answer.", "headers": {**HEADERS, **ETAG},
        "content": {"application/json": {"schema": {"anyOf": [ref("Plan"), ref("Frontier"), ref("WhatIf")]}}, **TEXT, "text/html": {"schema": {"type": "string"}},
                    "application/x-ndjson": {"schema": {"type": "string"}}}},
        "404", "409", "410", "413", "422", "500", "501", "503", "504", parameters=[job_parameter(), WAIT, IF_NONE_MATCH])
    job_plan["responses"].update(not_modified)
    delete = {"operationId": "deleteJob", "summary": "Cancels a job; removes one that is over.", "parameters": [job_parameter()],
              "responses": {"200": {"description": "Cancelled.", "headers": HEADERS, **json_content(ref("Job"))},
                            "204": {"description": "Removed, now or before.", "headers": HEADERS},
                            **problems("400", "401", "403", "404", "429", "503", "507")}}
    batch = {"operationId": "postBatch", "summary": "Many graphs, one a line; a bad line fails alone.",
             "parameters": [WAIT, PRIORITY],
             "requestBody": {"required": True, "content": {"application/x-ndjson": {
                 "schema": {"type": "string"}, "examples": {"one": {"value": json.dumps(EXAMPLE) + "\n"}}}}},
             "responses": {"200": {"description": "A line for each line: the plan, or its problem.", "headers": {**HEADERS, **APPLIED},
                                   "content": {"application/x-ndjson": {"schema": {"type": "string"}}}},
                           "202": ACCEPTED, **SUBMIT_PROBLEMS}}
    events = get("getJobEvents", "State, phase and progress as server-sent events; resumes after Last-Event-ID.",
                 {"description": "The stream, to the end of the job.", "headers": HEADERS,
                  "content": {"text/event-stream": {"schema": {}}}},
                 "404", "410", "503", parameters=[job_parameter(), {"name": "Last-Event-ID", "in": "header", "schema": {"type": "string"}}])
    events["responses"]["204"] = {"description": "There will be no more.", "headers": HEADERS}
    group = submit("postGroupPlan", "One decision for all ranks of a job; waits for the other ranks.", ref("Plan"))
    group["parameters"].insert(0, {"name": "key", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1, "maxLength": 128}})
    group["requestBody"]["content"]["application/json"] = {
        "schema": {"allOf": [ref("Request"), {"type": "object", "required": ["rank", "world_size"], "properties": {
            "rank": COUNT, "world_size": {"type": "integer", "minimum": 1, "maximum": 65536}}}]},
        "examples": {"alone": {"value": {**EXAMPLE, "rank": 0, "world_size": 1}}}}
    group["responses"]["200"]["content"] = {"application/json": {"schema": ref("Plan")}}
    return {
        **calls_about_jobs(),
        "/v1/groups/{key}/plans": {"post": group},
        "/v1/plans": {"post": submit("postPlan", "Which values to save, and which to compute again.", ref("Plan"), {
            "byDigest": {"operationId": "getPlan", "parameters": {"digest": "$response.body#/digest"}}})},
        "/v1/frontier": {"post": submit("postFrontier", "The trade of saved bytes against recomputed work.", ref("Frontier"))},
        "/v1/plans:batch": {"post": batch},
        "/v1/plans/{digest}": {"get": by_digest},
        "/v1/jobs": {"get": get("listJobs", "The caller's jobs, newest first.",
                                {"description": "A page.", "headers": HEADERS, **json_content(ref("JobList"))}, "503", parameters=[
                                    {"name": "state", "in": "query", "schema": {"enum": STATES}},
                                    {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 500}},
                                    {"name": "cursor", "in": "query", "schema": {"type": "string"}}])},
        "/v1/jobs/{id}": {
            "get": get("getJob", "State, times, links.", {"description": "The job.", "headers": {**HEADERS, **APPLIED}, **json_content(ref("Job"))},
                       "404", "410", "503", parameters=[job_parameter(), WAIT]),
            "delete": delete},
        "/v1/jobs/{id}/plan": {"get": job_plan},
        "/v1/jobs/{id}/graph": {"get": get("getJobGraph", "The document as it was sent.", {
            "description": "The document.", "headers": HEADERS, "content": {
                "application/json": {"schema": {}}, "application/x-ndjson": {"schema": {"type": "string"}}}},
            "404", "410", "503", parameters=[job_parameter()])},
        "/v1/jobs/{id}/events": {"get": events},
        "/v1/ops": {"get": get("getOps", "What the daemon is doing, for its operator.", {
            "description": "The table.", "headers": HEADERS, **json_content(OPS)}, "503")},
        "/livez": {"get": probe("getLivez", "Whether the process works.")},
        "/readyz": {"get": probe("getReadyz", "Whether to send it work.")},
        "/metrics": {"get": get("getMetrics", "Counters for Prometheus.", {
            "description": "Text format 0.0.4.", "headers": HEADERS, "content": {"text/plain": {"schema": {"type": "string"}}}}, "503")},
        "/version": {"get": probe("getVersion", "Engine, schemas, and the PyTorch whose rules it follows.")},
        "/openapi.json": {"get": probe("getOpenapi", "This document.")},
        "/": {"get": page("getHome", "A page to submit a graph and to see one's jobs.")},
        "/jobs/{id}": {"get": page("getJobPage", "A job as a page: how it stands, then its report. As JSON: /v1/jobs/{id}.",
                                   "404", "410", "500", "504", parameters=[job_parameter()])},
        "/assets/{name}": asset(),
    }


def components():
    graph = document("graph-v1.schema.json", "Graph")
    what_if = document("what-if-v1.schema.json", "WhatIf")
    what_if["properties"]["plan"] = ref("Plan")
    job = {"type": "object", "required": ["id", "state", "call", "priority", "created", "attempts", "links"], "properties": {
        "id": JOB_ID, "state": {"enum": STATES}, "call": {"enum": ["plan", "frontier", "batch", "group", "what-if", "report"]},
        "priority": {"enum": ["interactive", "batch"]}, "created": TIME, "started": TIME, "finished": TIME, "attempts": COUNT,
        "queue_position": COUNT, "progress": {"type": "object", "required": ["phase", "done", "total"]},
        "timings_ms": {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}},
        "digest": DIGEST, "outcome": {"enum": ["plan", "infinite_flow", "invalid_output"]}, "problem": ref("Problem"),
        "links": {"type": "object", "additionalProperties": {"type": "string"}}}}
    return {
        "schemas": {
            "Graph": graph,
            "Request": {"description": "A graph document, optionally with options and passes beside its fields; or these three as members.",
                        "anyOf": [ref("Graph"), {"type": "object", "required": ["graph"], "properties": {
                            "graph": ref("Graph"), "options": {"type": "object"}, "passes": {"type": "array"}}}]},
            "Plan": document("plan-v1.schema.json", "Plan"),
            "Frontier": document("frontier-v1.schema.json", "Frontier"),
            "Change": {"description": "What is to be different: tags by node (a policy, null for none, or [policy, region]), and options.",
                       "type": "object", "properties": {"tags": {"type": "object"}, "options": {"type": "object"}}},
            "WhatIf": what_if,
            "Node": document("node-v1.schema.json", "Node"),
            "Job": job,
            "JobList": {"type": "object", "required": ["jobs"], "properties": {
                "jobs": {"type": "array", "items": ref("Job")}, "cursor": {"type": "string"}}},
            "Problem": {"type": "object", "required": ["type", "title", "status", "code", "detail"], "properties": {
                "type": {"type": "string"}, "title": {"type": "string"}, "status": {"type": "integer", "minimum": 400, "maximum": 599},
                "code": {"type": "string", "pattern": "^[a-z-]+$"}, "detail": {"type": "string"}, "request_id": {"type": "string"},
                "errors": {"type": "array", "items": {"type": "object", "required": ["pointer", "detail"]}}}}},
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}}


def make():
    return {"openapi": "3.1.0",
            "info": {"title": "rematd", "version": "0.3.0", "license": {"name": "BSD-3-Clause", "identifier": "BSD-3-Clause"},
                     "description": "Which values of a training step's joint graph the forward saves for the backward."},
            "paths": paths(), "components": components(), "security": [{}, {"token": []}]}


def text():
    return json.dumps(make(), indent=1) + "\n"


if __name__ == "__main__":
    with open(os.path.join(HERE, "openapi.json"), "w", encoding="utf-8") as out:
        out.write(text())
