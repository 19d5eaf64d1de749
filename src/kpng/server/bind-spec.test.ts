import { expect, test } from 'vitest'
import { parseApiTarget, addressOf } from '../client/api-target.ts'
import { isPrivate } from '../plaintext.ts'
import { parseBindSpec } from './bind-spec.ts'

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
  ['127.0.0.1:12090', '127.0.0.1:12090', true],
  ['[::1]:12090', '[::1]:12090', true],
  ['localhost:12090', 'localhost:12090', true],
  ['unix:///run/fairlead.sock', 'unix:///run/fairlead.sock', true],
  ['tcp://127.0.0.1:12090', '127.0.0.1:12090', true],
  ['dns:///localhost:12090', 'dns:///localhost:12090', true],
  ['dns:///brain.example:12090', 'dns:///brain.example:12090', false],
  ['dns:///brain.example', 'dns:///brain.example', false],
  ['localhost.example:12090', 'localhost.example:12090', false],
  ['127.0.0.1.example:12090', '127.0.0.1.example:12090', false],
  ['[fd00::1]:12090', '[fd00::1]:12090', false],
])('a client can follow %s', (text, target, isLocalOnly) => {
  expect(parseApiTarget(text)).toBe(target)
  expect(isPrivate(addressOf(target))).toBe(isLocalOnly)
})

// gRPC reads the last ones differently than they look: other schemes, or a DNS server.
test.each(['brain', 'unix://run/x', 'http://brain:1', '', 'unix:x:1', 'ipv4:127.0.0.1:1', 'dns://9.9.9.9/localhost:1'])(
  'a client cannot follow "%s"',
  (text) => expect(() => parseApiTarget(text)).toThrow(/names no KPNG server/),
)
