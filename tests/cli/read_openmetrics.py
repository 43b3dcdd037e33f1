"""Reads OpenMetrics 1.0 text strictly: read_openmetrics.py FILE. Prints how many points it has."""
import re
import sys

POINT = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')


def labels_of(text):
    found, at = [], 0
    while at < len(text):
        match = LABEL.match(text, at)
        assert match, f"labels: {text[at:]!r}"
        assert match[1] not in dict(found), f"label {match[1]} twice"
        found.append((match[1], match[2]))
        at = match.end()
        assert match[3] == ',' or at == len(text), text
    assert not text.endswith(','), text
    return tuple(sorted(found))


def main():
    with open(sys.argv[1], encoding='utf-8', newline='') as file:
        text = file.read()
    assert text.endswith('# EOF\n'), 'the last line is not "# EOF"'
    assert '\r' not in text
    families, seen, family, points = {}, set(), None, 0
    for line in text.split('\n')[:-2]:
        if line.startswith('# '):
            kind, name, rest = line[2:].split(' ', 2)
            assert kind in ('TYPE', 'UNIT', 'HELP'), line
            if name != family:
                assert name not in families, f'{name} is interleaved'
                assert kind == 'TYPE', line
                family, families[name] = name, {}
            assert kind not in families[name] and 'points' not in families[name], line
            families[name][kind] = rest
            if kind == 'TYPE':
                assert rest == 'gauge', line
            if kind == 'UNIT':
                assert name.endswith('_' + rest), line
            continue
        match = POINT.fullmatch(line)
        assert match, line
        assert match[1] == family, f'{match[1]} outside of its family'
        families[family]['points'] = True
        key = (match[1], labels_of(match[2] or ''))
        assert key not in seen, f'twice: {line}'
        seen.add(key)
        float(match[3])
        points += 1
    print(points)


main()
