import { expect, test } from 'vitest'
import { parseApiTarget } from '../client/api-target.ts'
import { isPrivate, parseBindSpec } from './bind-spec.ts'

test.each([
  ['tcp://:12090', { kind: 'tcp', host: '', port: 12090 }, false],
  ['tcp://127.0.0.1:0', { kind: 'tcp', host: '127.0.0.1', port: 0 }, true],
  ['tcp://[::1]:12090', { kind: 'tcp', host: '::1', port: 12090 }, true],
  ['tcp://[::]:12090', { kind: 'tcp', host: '::', port: 12090 }, false],
  ['tcp://10.0.0.1:12090', { kind: 'tcp', host: '10.0.0.1', port: 12090 }, false],
  ['unix:///run/fairlead.sock', { kind: 'unix', path: '/run/fairlead.sock' }, true],
] as const)('a server can listen on %s', (text, spec, isLocalOnly) => {
  expect(parseBindSpec(text)).toEqual(spec)
  expect(isPrivate(spec)).toBe(isLocalOnly)
})

test.each(['127.0.0.1:12090', 'unix://run/x', 'tcp://127.0.0.1', 'tcp://x:70000', 'http://x:1', ''])(
  'a server cannot listen on "%s"',
  (text) => expect(() => parseBindSpec(text)).toThrow(/tcp:\/\/127\.0\.0\.1:12090/),
)

test.each([
  ['127.0.0.1:12090', '127.0.0.1:12090'],
  ['unix:///run/fairlead.sock', 'unix:///run/fairlead.sock'],
  ['dns:///brain.example:12090', 'dns:///brain.example:12090'],
  ['tcp://127.0.0.1:12090', '127.0.0.1:12090'],
])('a client can follow %s', (text, target) => expect(parseApiTarget(text)).toBe(target))

test.each(['brain', 'unix://run/x', 'http://brain:1', ''])('a client cannot follow "%s"', (text) =>
  expect(() => parseApiTarget(text)).toThrow(/names no KPNG server/),
)
