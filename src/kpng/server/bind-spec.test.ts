import { expect, test } from 'vitest'
import { addressOf, channelTarget, parseApiTarget } from '../client/api-target.ts'
import { addressText, isPrivate } from '../plaintext.ts'
import { parseBindSpec } from './bind-spec.ts'
import { listenError } from './listening.ts'

test.each([
  ['tcp://:12090', { kind: 'tcp', host: '', port: 12090 }, false],
  ['tcp://127.0.0.1:0', { kind: 'tcp', host: '127.0.0.1', port: 0 }, true],
  ['tcp://[::1]:12090', { kind: 'tcp', host: '::1', port: 12090 }, true],
  ['tcp://[::]:12090', { kind: 'tcp', host: '::', port: 12090 }, false],
  ['tcp://10.0.0.1:12090', { kind: 'tcp', host: '10.0.0.1', port: 12090 }, false],
  ['unix:///run/fairlead.sock', { kind: 'unix', path: '/run/fairlead.sock' }, true],
] as const)('a server can listen on %s', (text, spec, isLocalOnly) => {
  expect(parseBindSpec(text, 'linux')).toEqual(spec)
  expect(isPrivate(spec)).toBe(isLocalOnly)
})

test.each(['127.0.0.1:12090', 'unix://run/x', 'tcp://127.0.0.1', 'tcp://x:70000', 'http://x:1', ''])(
  'a server cannot listen on "%s"',
  (text) => expect(() => parseBindSpec(text, 'linux')).toThrow(/tcp:\/\/127\.0\.0\.1:12090/),
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
  expect(parseApiTarget(text, 'linux')).toBe(target)
  expect(isPrivate(addressOf(target))).toBe(isLocalOnly)
})

// gRPC reads the last ones differently than they look: other schemes, or a DNS server.
test.each(['brain', 'unix://run/x', 'http://brain:1', '', 'unix:x:1', 'ipv4:127.0.0.1:1', 'dns://9.9.9.9/localhost:1'])(
  'a client cannot follow "%s"',
  (text) => expect(() => parseApiTarget(text, 'linux')).toThrow(/names no KPNG server/),
)

const pipe = { kind: 'pipe', path: '\\\\.\\pipe\\fairlead' } as const

test.each([
  ['npipe:////./pipe/fairlead', pipe],
  ['npipe://./pipe/fairlead', pipe],
  ['NPIPE:////./PIPE/fairlead', pipe],
  ['\\\\.\\pipe\\fairlead', pipe],
  ['//./pipe/fairlead', pipe],
  [
    'npipe:////./pipe/ProtectedPrefix/Administrators/fairlead',
    { kind: 'pipe', path: '\\\\.\\pipe\\ProtectedPrefix\\Administrators\\fairlead' },
  ],
] as const)('on Windows a server can listen on the pipe %s, and a client can follow it', (text, address) => {
  expect(parseBindSpec(text, 'win32')).toEqual(address)
  expect(addressOf(parseApiTarget(text, 'win32'))).toEqual(address)
  expect(addressOf(addressText(address))).toEqual(address)
  expect(channelTarget(text)).toBe(`unix:${address.path}`)
  expect(isPrivate(address)).toBe(true)
})

test.each(['npipe:////./pipe/', '\\\\other\\pipe\\fairlead', 'npipe:////./pipe/a//b', 'npipe:////./pipe/a\nb'])(
  '%j is no pipe of this machine',
  (text) => {
    expect(() => parseBindSpec(text, 'win32')).toThrow(/write tcp.* or npipe:\/\/\/\/\.\/pipe\/fairlead/)
    expect(() => parseApiTarget(text, 'win32')).toThrow(/names no KPNG server/)
  },
)

test('a pipe beyond Windows, or a unix socket there, is refused with what to write instead', () => {
  for (const parse of [parseBindSpec, parseApiTarget]) {
    expect(() => parse('npipe:////./pipe/fairlead', 'linux')).toThrow(
      /on Windows only, write unix:\/\/\/run\/fairlead.sock/,
    )
    expect(() => parse('unix:///run/fairlead.sock', 'win32')).toThrow(/no unix sockets on Windows, write npipe:/)
  }
})

test('what to do about a refused address depends on the system', () => {
  const refused = Object.assign(new Error('listen EACCES'), { code: 'EACCES' })
  const tcp = { kind: 'tcp', host: '127.0.0.1', port: 12090 } as const
  expect(listenError(tcp, refused, 'linux').message).toMatch(/run as root/)
  expect(listenError(tcp, refused, 'win32').message).toMatch(/excludedportrange/)
  expect(listenError(pipe, refused, 'win32').message).toMatch(/npipe:\/\/\/\/\.\/pipe\/fairlead.*administrator/)
})
