"""Checks record files against results/schema.json: validate_records.py SCHEMA FILE...

Files that end in .jsonl hold a head and then one record per line. With the jsonschema module the
whole schema is checked; without it, that the JSON is strict and the required names are there.
"""
import json
import sys

try:
    import jsonschema
except ImportError:
    jsonschema = None


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def parse(text):
    return json.loads(text, parse_constant=refuse_constant)


def check(schema, part, value):
    if jsonschema is not None:
        whole = dict(schema)
        if part is not None:
            whole = {"$defs": schema["$defs"], "$ref": f"#/$defs/{part}"}
        jsonschema.Draft202012Validator(whole).validate(value)
        return
    required = (schema if part is None else schema["$defs"][part])["required"]
    missing = [name for name in required if name not in value]
    assert not missing, f"{part}: {missing} missing"
    for record in value.get("records", []):
        check(schema, "record", record)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = parse(file.read())
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if not path.endswith(".jsonl"):
            check(schema, None, parse(text))
            continue
        head, *records = text.splitlines()
        check(schema, "head", parse(head))
        for record in records:
            check(schema, "record", parse(record))


main()
