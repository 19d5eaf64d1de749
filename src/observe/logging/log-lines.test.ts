/** The expected lines were written by klog v2.140.0 and component-base v0.36.4 for the same calls. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { renderJsonLine } from './json-line.ts'
import { renderKlogLine } from './klog-line.ts'
import type { LogRecord } from './log-record.ts'

beforeEach(() => {
  vi.stubEnv('TZ', 'UTC')
})
afterEach(() => {
  vi.unstubAllEnvs()
})

const textCases: Readonly<Record<string, { readonly record: LogRecord; readonly line: string }>> = {
  'a message alone': {
    record: record({ line: 25, micros: 784300, message: 'plain' }),
    line: 'I1115 14:15:45.784300    9943 main.go:25] "plain"',
  },
  'a message with quotes, newlines and characters that do not print': {
    record: record({ line: 26, micros: 784423, message: 'with "quotes"\nand\tmore é \u2028 \x07 \u200b 😀' }),
    line: String.raw`I1115 14:15:45.784423    9943 main.go:26] "with \"quotes\"\nand\tmore é \u2028 \a \u200b 😀"`,
  },
  strings: {
    record: record({
      line: 27,
      micros: 784432,
      message: 'strings',
      fields: {
        s: 'value',
        empty: '',
        quote: 'a"b\\c',
        tab: 'a\tb',
        uni: 'é😀',
        ctl: '\x00\x1b\x7f',
        html: '<&>',
        space: 'a b',
      },
    }),
    line: String.raw`I1115 14:15:45.784432    9943 main.go:27] "strings" s="value" empty="" quote="a\"b\\c" tab="a\tb" uni="é😀" ctl="\x00\x1b\x7f" html="<&>" space="a b"`,
  },
  numbers: {
    record: record({
      line: 29,
      micros: 784504,
      message: 'numbers',
      fields: { i: 5, neg: -3, f: 1.5, whole: 2, big: 1e21, small: 1e-7, mid: 123456789.125, u: 18446744073709551615n },
    }),
    line: 'I1115 14:15:45.784504    9943 main.go:29] "numbers" i=5 neg=-3 f=1.5 whole=2 big=1e+21 small=1e-7 mid=123456789.125 u=18446744073709551615',
  },
  'booleans and null': {
    record: record({ line: 30, micros: 784514, message: 'bools', fields: { t: true, f: false, nil: null } }),
    line: 'I1115 14:15:45.784514    9943 main.go:30] "bools" t=true f=false nil=null',
  },
  'references to API objects': {
    record: record({
      line: 31,
      micros: 784521,
      message: 'objects',
      fields: { service: { namespace: 'ns', name: 'name' }, node: { name: 'node1' }, services: [] },
    }),
    line: 'I1115 14:15:45.784521    9943 main.go:31] "objects" service="ns/name" node="node1" services=[]',
  },
  'structured values': {
    record: record({
      line: 32,
      micros: 784593,
      message: 'structured',
      fields: {
        st: { name: 'a', port: 1 },
        map: new Map(Object.entries({ a: 2, b: 1 })),
        list: ['a', 'b c'],
        ints: new Set([1, 2]),
        mixed: [1, 'a', null, true],
        nested: { s: '<é\n>', x: ['y'] },
      },
    }),
    line: String.raw`I1115 14:15:45.784593    9943 main.go:32] "structured" st={"name":"a","port":1} map={"a":2,"b":1} list=["a","b c"] ints=[1,2] mixed=[1,"a",null,true] nested={"s":"\u003cé\n\u003e","x":["y"]}`,
  },
  'an error before the other fields': {
    record: record({
      severity: 'error',
      line: 41,
      micros: 784676,
      message: 'child error',
      bound: { part: 'sync' },
      fields: { b: 'c', err: new Error('x') },
    }),
    line: 'E1115 14:15:45.784676    9943 main.go:41] "child error" err="x" part="sync" b="c"',
  },
  'an error line without an error': {
    record: record({
      severity: 'error',
      line: 37,
      micros: 784636,
      message: 'failed without error',
      fields: { a: 1, err: undefined },
    }),
    line: 'E1115 14:15:45.784636    9943 main.go:37] "failed without error" a=1',
  },
  'the fields of a child, which the call overrides': {
    record: record({
      line: 40,
      micros: 784648,
      message: 'child',
      bound: { part: 'sync', n: 1 },
      fields: { n: 2, b: 'c' },
    }),
    line: 'I1115 14:15:45.784648    9943 main.go:40] "child" part="sync" n=2 b="c"',
  },
}

for (const [name, { record, line }] of Object.entries(textCases)) {
  test(`text prints ${name} as klog does`, () => {
    expect(renderKlogLine(record, 9943)).toBe(`${line}\n`)
  })
}

const jsonCases: Readonly<Record<string, { readonly record: LogRecord; readonly line: string }>> = {
  'a message alone': {
    record: record({ line: 25, micros: 634303, message: 'plain' }),
    line: '{"ts":1794752145634.303,"caller":"klogref/main.go:25","msg":"plain","v":0}',
  },
  strings: {
    record: record({
      line: 27,
      micros: 634361,
      message: 'strings',
      fields: { s: 'value', empty: '', quote: 'a"b\\c', tab: 'a\tb', uni: 'é😀', ctl: '\x00\x1b\x7f', html: '<&>' },
    }),
    line: String.raw`{"ts":1794752145634.361,"caller":"klogref/main.go:27","msg":"strings","v":0,"s":"value","empty":"","quote":"a\"b\\c","tab":"a\tb","uni":"é😀","ctl":"\u0000\u001b${'\x7f'}","html":"<&>"}`,
  },
  'references, lists and objects': {
    record: record({
      line: 31,
      micros: 634392,
      message: 'objects',
      fields: {
        service: { namespace: 'ns', name: 'name' },
        node: { name: 'node1' },
        list: ['a', 'b c'],
        nested: { s: '<é\n>', x: ['y'] },
      },
    }),
    line: String.raw`{"ts":1794752145634.392,"caller":"klogref/main.go:31","msg":"objects","v":0,"service":{"name":"name","namespace":"ns"},"node":{"name":"node1"},"list":["a","b c"],"nested":{"s":"<é\n>","x":["y"]}}`,
  },
  'an error last and without v': {
    record: record({
      severity: 'error',
      line: 41,
      micros: 634591,
      message: 'child error',
      bound: { part: 'sync' },
      fields: { err: new Error('x'), b: 'c' },
    }),
    line: '{"ts":1794752145634.591,"caller":"klogref/main.go:41","msg":"child error","part":"sync","b":"c","err":"x"}',
  },
  'an error line without an error': {
    record: record({
      severity: 'error',
      line: 37,
      micros: 634563,
      message: 'failed without error',
      fields: { a: 1 },
    }),
    line: '{"ts":1794752145634.563,"caller":"klogref/main.go:37","msg":"failed without error","a":1}',
  },
  'the verbosity of a debug line': {
    record: record({ level: 2, line: 39, micros: 634572, message: 'verbose two', fields: { a: 1 } }),
    line: '{"ts":1794752145634.572,"caller":"klogref/main.go:39","msg":"verbose two","v":2,"a":1}',
  },
}

for (const [name, { record, line }] of Object.entries(jsonCases)) {
  test(`json prints ${name} as Kubernetes does`, () => {
    expect(renderJsonLine(record)).toBe(`${line}\n`)
  })
}

test('json names a key once even if the logger and the call both set it', () => {
  const line = renderJsonLine(record({ message: 'child', bound: { part: 'sync', n: 1 }, fields: { n: 2 } }))
  expect(line).toContain('"msg":"child","part":"sync","v":0,"n":2}')
})

const awkward: readonly (readonly [string, unknown, string, string])[] = [
  ['text of several lines', 'one\ntwo', String.raw`"one\ntwo"`, String.raw`"one\ntwo"`],
  ['a number that is none', Number.NaN, '"NaN"', '"NaN"'],
  ['a time', new Date(Date.UTC(2026, 10, 15, 9)), '"2026-11-15T09:00:00.000Z"', '"2026-11-15T09:00:00.000Z"'],
  ['an invalid time', new Date(Number.NaN), 'null', 'null'],
  ['a symbol', Symbol('s'), '"Symbol(s)"', '"Symbol(s)"'],
  ['a large integer inside an object', { n: 1n }, '{"n":"1"}', '{"n":"1"}'],
  ['an error inside a list', [new Error('inner')], '["inner"]', '["inner"]'],
]
for (const [name, value, text, json] of awkward) {
  test(`${name} is one value on one line`, () => {
    expect(renderKlogLine(record({ message: 'm', fields: { x: value } }), 1)).toMatch(endsWith(`] "m" x=${text}\n`))
    expect(renderJsonLine(record({ message: 'm', fields: { x: value } }))).toMatch(endsWith(`"v":0,"x":${json}}\n`))
  })
}

test('a value that refers to itself does not break the line', () => {
  const loop: Record<string, unknown> = {}
  loop.self = loop
  expect(renderKlogLine(record({ message: 'm', fields: { loop, after: 1 } }), 1)).toMatch(
    /"m" loop="<not printable: .*>" after=1\n$/,
  )
})

test('an error tells its causes, but none twice', () => {
  const refused = new AggregateError([new Error('connect ECONNREFUSED ::1:6443'), new Error('connect EHOSTDOWN')])
  const list = new Error('cannot list services', { cause: refused })
  const outer = new Error('first list failed: cannot list services', { cause: new Error('cannot list services') })
  const fields = { list, outer, nameless: new TypeError() }
  expect(renderKlogLine(record({ message: 'm', fields }), 1)).toMatch(
    endsWith(
      '"m" list="cannot list services: [connect ECONNREFUSED ::1:6443, connect EHOSTDOWN]" outer="first list failed: cannot list services" nameless="TypeError"\n',
    ),
  )
})

test('an error whose cause adds a little to the cause below says each thing once', () => {
  const root = new Error('EROFS: read-only file system')
  const file = new Error('cannot set nf_conntrack_max', { cause: root })
  const explained = new Error('cannot set nf_conntrack_max; or leave it alone', { cause: file })
  const err = new Error('could not start: cannot set nf_conntrack_max; or leave it alone', { cause: explained })
  expect(renderKlogLine(record({ message: 'failed', fields: { err } }), 1)).toContain(
    'err="could not start: cannot set nf_conntrack_max; or leave it alone: EROFS: read-only file system"',
  )
})

function endsWith(text: string): RegExp {
  return new RegExp(`${text.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)}$`)
}

function record({
  line = 1,
  micros = 0,
  ...rest
}: Partial<LogRecord> & { message: string; line?: number; micros?: number }): LogRecord {
  return {
    severity: 'info',
    level: 0,
    bound: {},
    fields: {},
    atMs: Date.UTC(2026, 10, 15, 14, 15, 45) + micros / 1000,
    caller: { file: 'file:///tmp/klogref/main.go', line },
    ...rest,
  }
}
