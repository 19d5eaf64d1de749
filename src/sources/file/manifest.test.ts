import { describe, expect, test } from 'vitest'
import { parseManifest } from './manifest.ts'

const names = (text: string, file = 'app.yaml') =>
  parseManifest(text, file).map(
    ({ object: { kind, metadata } }) => `${String(kind)} ${(metadata as { name: string }).name}`,
  )

describe('a manifest', () => {
  test('may hold several documents, some of them empty', () => {
    const text = '---\nkind: Service\nmetadata: {name: a}\n---\n# nothing\n---\nkind: Node\nmetadata: {name: n}\n'
    expect(names(text)).toEqual(['Service a', 'Node n'])
  })

  test('may be a List, or a list of one kind whose items do not repeat it', () => {
    expect(names('{"kind":"List","items":[{"kind":"Node","metadata":{"name":"n"}}]}', 'a.json')).toEqual(['Node n'])
    expect(names('apiVersion: v1\nkind: ServiceList\nitems:\n- metadata: {name: a}\n')).toEqual(['Service a'])
  })

  test('may be empty', () => {
    expect(names('')).toEqual([])
    expect(names('# only a comment\n')).toEqual([])
  })

  test.each([
    ['a tab', 'kind: Service\nmetadata:\n\tname: a\n', 'app.yaml:3:1: '],
    ['a repeated key', 'kind: Service\nkind: Node\n', 'app.yaml:2:1: Map keys must be unique'],
    ['no kind', 'kind: Node\n---\nname: a\n', 'app.yaml:3:1: expected an object with "apiVersion" and "kind"'],
    ['a bare word', 'hello\n', 'app.yaml:1:1: expected an object'],
  ])('with %s is refused with file, line and column', (_, text, message) => {
    expect(() => parseManifest(text, 'app.yaml')).toThrow(message)
  })

  test.each([
    ['app.yaml', 'kind: Node\nmetadata: {name: n}\n---\n# a comment\nkind: Service\nmetadata: {name: a}\n', [1, 5]],
    [
      'app.yaml',
      'kind: List\nitems:\n- kind: Node\n  metadata: {name: n}\n- kind: Node\n  metadata: {name: m}\n',
      [3, 5],
    ],
    ['a.json', '{"kind": "List", "items": [\n {"kind": "Node"},\n {"kind": "Node"}\n]}', [2, 3]],
  ])('in %s knows the line of each object', (file, text, lines) => {
    expect(parseManifest(text, file).map(({ place }) => place)).toEqual(lines.map((line) => `${file}:${line}`))
  })

  test.each([
    ['app.yaml', 'kind: Service\nspec:\n  ports:\n  - port: 80\n    prtocol: UDP\n', 'app.yaml:5'],
    ['a.json', '{"kind": "Service",\n "spec": {"ports": [\n  {"port": 80,\n   "prtocol": "UDP"}]}}', 'a.json:4'],
  ])('in %s knows the line of an unknown field, and what was meant', (file, text, place) => {
    expect(parseManifest(text, file)[0]?.unknownFields).toEqual([
      { place, field: 'spec.ports[0].prtocol', nearest: 'protocol' },
    ])
  })

  test('with an error about a megabyte is refused in a line', () => {
    expect(() => parseManifest(`a: *${'x'.repeat(1 << 20)}`, 'app.yaml')).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^.{1,700}$/) }),
    )
  })

  test('in JSON is refused with its line too', () => {
    expect(() => parseManifest('{\n "kind": "Service",\n "metadata": {"name" "a"}\n}', 'a.json')).toThrow(
      /^a\.json:3:\d+: /,
    )
  })
})
