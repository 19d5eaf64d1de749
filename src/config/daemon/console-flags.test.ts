import { expect, test } from 'vitest'
import { parsed } from '../testing/command-line.ts'
import { parseDaemonCommandLine } from './parse-daemon-command-line.ts'

const tls = ['--console-tls-cert-file=/c', '--console-tls-private-key-file=/k']
const token = '--console-token-file=/t'

test('there is no console unless somebody asks for one', () => {
  expect(parsed([]).options.console).toBeUndefined()
})

test.each([
  [['127.0.0.1:10257'], { ip: '127.0.0.1', port: 10257, tokenFile: '', tls: undefined, url: undefined }],
  [['[::1]:10257'], { ip: '::1' }],
  [['127.0.0.2:0', token], { port: 0, tokenFile: '/t' }],
  [['0.0.0.0:10257', token, ...tls], { ip: '0.0.0.0', tls: { certificate: '/c', key: '/k' } }],
  [['10.0.0.1:10257', token, '--console-url=https://Console.example/'], { url: 'https://console.example' }],
  [['127.0.0.1:1', '--console-url=https://console.example:8443'], { url: 'https://console.example:8443' }],
])('--console-bind-address=%s is accepted', ([address = '', ...others], settings) => {
  expect(parsed([`--console-bind-address=${address}`, ...others]).options.console).toMatchObject(settings)
})

test.each([
  [['localhost:10257'], '--console-bind-address=localhost:10257 is no address: write IP:PORT, such as 127.0.0.1:10257'],
  [['127.0.0.1'], 'is no address'],
  [[':10257'], 'is no address'],
  [['::1:10257'], 'is no address'],
  [['127.0.0.1:65536'], 'is no address'],
  [['127.0.0.1:x'], 'is no address'],
  [
    ['0.0.0.0:10257'],
    '--console-bind-address=0.0.0.0:10257 can be reached from other machines: add --console-token-file=FILE, or use 127.0.0.1',
  ],
  [['[::]:10257', ...tls], 'can be reached from other machines: add --console-token-file=FILE'],
  [['10.0.0.1:10257', '--console-url=https://x.example'], 'can be reached from other machines'],
  [
    ['10.0.0.1:10257', token],
    'would carry the token in clear text: add --console-tls-cert-file and --console-tls-private-key-file, or --console-url=https://NAME if a proxy in front of it does TLS',
  ],
  [['127.0.0.1:1', '--console-tls-cert-file=/c'], 'TLS needs both --console-tls-cert-file and'],
  [['127.0.0.1:1', '--console-tls-private-key-file=/k'], 'TLS needs both --console-tls-cert-file and'],
  [['127.0.0.1:1', '--console-url=http://x.example'], 'write https://NAME or https://NAME:PORT'],
  [['127.0.0.1:1', '--console-url=https://x.example/below'], 'write https://NAME or https://NAME:PORT'],
  [['127.0.0.1:1', '--console-url=https://me@x.example'], 'write https://NAME or https://NAME:PORT'],
  [['127.0.0.1:1', '--console-url=x.example'], 'write https://NAME or https://NAME:PORT'],
  [['', token], '--console-token-file needs a console: add --console-bind-address=127.0.0.1:10257, or remove the flag'],
  [['', '--console-url=https://x.example'], '--console-url needs a console'],
])('--console-bind-address=%s is refused', ([address = '', ...others], message) => {
  const read = parseDaemonCommandLine([`--console-bind-address=${address}`, ...others], 'linux')
  expect(read).toMatchObject({ kind: 'refused', message: expect.stringContaining(message) as string })
})
